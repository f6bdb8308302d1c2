#!/usr/bin/env bash
# Installs what the make targets need; a second run finds it all and returns at once.
#
#   tests/bootstrap.sh apt LIST...   Debian packages named in the list files, one a line
#   tests/bootstrap.sh quiet LIST... the same for packages whose services are not to run
#   tests/bootstrap.sh venv DIR      Python tools of tests/requirements.txt in a venv
#   tests/bootstrap.sh awx DIR       the collection awx.awx in DIR, out of the Python package ansible
#   tests/bootstrap.sh tree          build/collections, where Ansible finds this clone by its name
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "bootstrap: $*" >&2
    exit 1
}

missing_packages() {
    local wanted package
    wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u)
    for package in $wanted; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" -eq 0 ] || fail "these Debian packages are missing, install them as root: ${missing[*]}"

    echo "bootstrap: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # A fresh machine may still be running its first unattended upgrade: wait for its lock.
    local apt=(apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# A package's service is started by its installation unless a policy forbids it, and by the next boot unless it is disabled.
install_quietly() {
    local policy=/usr/sbin/policy-rc.d missing package
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ ! -e "$policy" ] && [ -w "$(dirname "$policy")" ]; then
        # shellcheck disable=SC2064 # the path as it is now
        trap "rm -f '$policy'" EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    install_packages "$@"
    for package in "${missing[@]}"; do
        # Some have no service; its name need not be the package's. Without a running systemd this changes links only.
        dpkg -L "$package" | sed -nE 's#^(/usr)?/lib/systemd/system/([^/@]+\.(service|socket))$#\2#p' |
            xargs --no-run-if-empty systemctl --quiet disable 2>/dev/null || true
    done
}

# Not pyenv's or another python of PATH: the tests are to run on the release's own.
system_python=/usr/bin/python3

make_venv() {
    local venv=$1 wanted
    # Each clone that shares a venv (KUP_VENV) adds what it lacks; only another Python starts it anew.
    wanted=$("$system_python" --version && grep -v '^#' tests/requirements.txt)
    mkdir -p "$venv"
    touch "$venv/kup-installed"
    grep -Fvxqf "$venv/kup-installed" <<<"$wanted" || return 0

    echo "bootstrap: installing tests/requirements.txt into $venv"
    grep -Fqx "$("$system_python" --version)" "$venv/kup-installed" || local fresh=--clear
    "$system_python" -m venv ${fresh:+"$fresh"} "$venv" || fail "$system_python cannot make a venv in $venv, python3-venv is needed"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
    # Last, so that an interrupted install is done again.
    echo "$wanted" >>"$venv/kup-installed"
}

# That package has two hundred collections; one is enough.
unpack_awx() {
    local place=$1 packages wanted="ansible>=12,<13"
    [ ! -e "$place/ansible_collections/awx/awx/MANIFEST.json" ] || return 0

    echo "bootstrap: taking awx.awx out of $wanted"
    packages=$(mktemp -d)
    # shellcheck disable=SC2064 # the path as it is now
    trap "rm -rf '$packages'" EXIT
    "$system_python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$packages" "$wanted"
    mkdir -p "$place"
    "$system_python" - "$packages"/*.whl "$place" <<'PYTHON'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = [name for name in wheel.namelist() if name.startswith("ansible_collections/awx/awx/")]
    # Last, so that an interrupted unpacking is done again.
    wheel.extractall(sys.argv[2], sorted(names, key=lambda name: name.endswith("/MANIFEST.json")))
PYTHON
}

link_tree() {
    mkdir -p build/collections/ansible_collections/kup
    ln -sfn ../../../.. build/collections/ansible_collections/kup/fleet
}

case "${1:-}" in
apt) install_packages "${@:2}" ;;
quiet) install_quietly "${@:2}" ;;
venv) make_venv "${2:?}" ;;
awx) unpack_awx "${2:?}" ;;
tree) link_tree ;;
*) fail "the first argument is '${1:-}', expected apt, quiet, venv, awx or tree" ;;
esac
