#!/usr/bin/env bash
# Builds the collection's tarball, installs it into an empty folder and asks Ansible
# for the playbook by its collection name there, as a user of the tarball would.
#
# usage: install-check.sh [--build-only]
set -euo pipefail
cd "$(dirname "$0")/.."

# From a copy, or everything that lies around in this clone would be in the tarball.
tests/stage.sh build/package
# What is built goes along: neither a controller nor a node needs a compiler.
install -m 755 files/paged/paged build/package/files/paged/paged
ansible-galaxy collection build --force --output-path build build/package
[ "${1:-}" != --build-only ] || exit 0

version=$(sed -n 's/^version: *//p' galaxy.yml)
tarball=$PWD/build/kup-fleet-$version.tar.gz
installed=$PWD/build/install-check
rm -rf "$installed"
mkdir -p "$installed"

# Neither this clone's settings nor its tree: only what was installed may be found.
: >"$installed/ansible.cfg"
export ANSIBLE_CONFIG=$installed/ansible.cfg ANSIBLE_COLLECTIONS_PATH=$installed
cd /
ansible-galaxy collection install "$tarball" --collections-path "$installed" --offline
ansible-playbook --syntax-check --inventory localhost, kup.fleet.kup_update
# With the program that the nodes get.
test -x "$installed/ansible_collections/kup/fleet/files/paged/paged"
# Every module's documentation can be read.
ansible-doc --list kup.fleet
