#!/usr/bin/env bash
# Tries the ways in which a user gets the collection: a checkout, the tarball of `make collection`, and the one that
# ansible-galaxy builds alone.
#
# usage: install-check.sh [--build-only]
set -euo pipefail
cd "$(dirname "$0")/.."

# The sources alone: everything that lies around in this clone would be in the tarball, too.
tests/stage.sh build/package
version=$(sed -n 's/^version: *//p' galaxy.yml)
tarball=kup-fleet-$version.tar.gz
arguments=(--inventory "node1," --extra-vars '{"kup_kernel": "7.2", "kup_units": ["memcached.service"]}' --check)

# A checkout in which nothing has been made.
if [ "${1:-}" != --build-only ]; then
    (
        cd build/package
        ANSIBLE_CONFIG=$PWD/ansible.cfg ansible-playbook --syntax-check "${arguments[@]}" playbooks/kup-update.yml
    )
    ansible-galaxy collection build --force --output-path build/bare build/package
fi

# What is built goes along: neither a controller nor a node needs a compiler.
for program in paged environment fingerprint; do
    install -m 755 files/$program/$program build/package/files/$program/$program
done
for library in ends/kup_pairs.so sums/kup_sums.so; do
    install -m 755 files/$library build/package/files/$library
done
ansible-galaxy collection build --force --output-path build build/package
[ "${1:-}" != --build-only ] || exit 0

# install_into DIR TARBALL: from here on only what is installed there may be found, and none of this clone's settings.
install_into() {
    mkdir -p "$1"
    : >"$1/ansible.cfg"
    export ANSIBLE_CONFIG=$1/ansible.cfg ANSIBLE_COLLECTIONS_PATH=$1
    ansible-galaxy collection install "$2" --collections-path "$1" --offline
}
sources=$PWD/build/package built=$PWD/build/$tarball bare=$PWD/build/bare/$tarball work=$PWD/build/install-check
rm -rf "$work"
cd /

# With the programs that the nodes get, found by its name, every module's documentation readable.
install_into "$work/built" "$built"
for program in paged environment fingerprint; do
    test -x "$work/built/ansible_collections/kup/fleet/files/$program/$program"
done
for library in ends/kup_pairs.so sums/kup_sums.so; do
    test -x "$work/built/ansible_collections/kup/fleet/files/$library"
done
ansible-playbook --syntax-check "${arguments[@]}" kup.fleet.kup_update
ansible-doc --list kup.fleet

# Without the programs: a controller that has no compiler says so before it looks for the node, and one that has builds it.
install_into "$work/bare" "$bare"
programs=$work/bare/ansible_collections/kup/fleet/files
test ! -e "$programs/paged/paged"
mkdir "$work/tools"
for tool in ansible-playbook python3 env sh locale; do ln -s "$(command -v "$tool")" "$work/tools/"; done
if PATH=$work/tools ANSIBLE_NOCOLOR=1 ansible-playbook "${arguments[@]}" kup.fleet.kup_update >"$work/refusal" 2>&1; then
    echo "install-check: a controller without a compiler was accepted, expected a refusal; see $work/refusal" >&2
    exit 1
fi
grep -q 'The collection has no program paged .* lacks make and gcc to build it; ' "$work/refusal"
if grep -q 'cannot be reached' "$work/refusal"; then
    echo "install-check: a node was looked for before the refusal; see $work/refusal" >&2
    exit 1
fi
ansible localhost --module-name kup.fleet.kup_programs
for program in paged environment fingerprint; do
    test -x "$programs/$program/$program"
done
for library in ends/kup_pairs.so sums/kup_sums.so; do
    test -x "$programs/$library"
done

# Galaxy's own checks of a tarball, but for the linters, which `make lint` runs. They ask for an address of the repository, which
# there is not yet.
echo "repository: https://example.org/kup.fleet" >>"$sources/galaxy.yml"
ansible-galaxy collection build --force --output-path "$work/importer" "$sources"
cat >"$work/importer/galaxy-importer.cfg" <<'SETTINGS'
[galaxy-importer]
CHECK_CHANGELOG = True
RUN_ANSIBLE_DOC = True
RUN_ANSIBLE_LINT = False
RUN_ANSIBLE_TEST = False
RUN_FLAKE8 = False
SETTINGS
cd "$work/importer" # where it writes its result
GALAXY_IMPORTER_CONFIG=$work/importer/galaxy-importer.cfg python -m galaxy_importer.main "$tarball"
