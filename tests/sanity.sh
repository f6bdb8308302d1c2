#!/usr/bin/env bash
# Runs every test of `ansible-test sanity` on the files that git knows or would add.
#
# ansible-test wants the collection below .../ansible_collections/kup/fleet, writes its
# output there, and keeps caches and venvs in ~/.ansible/test. All of that is put
# below build/sanity: a copy of the files and a HOME of its own.
#
# usage: sanity.sh VENV [ansible-test sanity arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(realpath "$1")
shift
work=$PWD/build/sanity
tree=$work/ansible_collections/kup/fleet
home=$work/home

tests/stage.sh "$tree"
# The link to the clone itself is no part of the collection, and ansible-test refuses it.
rm -r "$tree/.collections"
# Without a .git of its own the copy counts as ignored files of this clone.
git -C "$tree" init --quiet --template=
mkdir -p "$home/.ansible/test/cache" "$home/.config/pip"

# ansible-test hands neither PIP_* nor the user's own pip settings to the pip it runs:
# write the settings in force into a file that this pip reads. An address in it may
# hold a password.
touch "$home/.config/pip/pip.conf"
chmod 600 "$home/.config/pip/pip.conf"
"$venv/bin/python" -m pip config list |
    sed -nE "s/^[^=]*[.]([a-z0-9-]+)='(.*)'$/\1 = \2/p" |
    awk -F ' = ' 'BEGIN { print "[global]\nquiet = 1" } { last[$1] = $0 } END { for (key in last) print last[key] }' \
        >"$home/.config/pip/pip.conf"

# ansible-test downloads get-pip.py from its own server, which may not be reachable.
# Python brings pip along (ensurepip): an answer to the same call that needs no download.
python=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
pip_version=$("$venv/bin/python" - "$python" <<'PYTHON'
import sys
import types

from ansible_test._internal.python_requirements import get_venv_packages

print(get_venv_packages(types.SimpleNamespace(version=sys.argv[1]))["pip"])
PYTHON
)
cat >"$home/.ansible/test/cache/get_pip_${pip_version//./_}.py" <<'PYTHON'
import subprocess
import sys

wanted = [arg for arg in sys.argv[1:] if arg not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", *wanted])
PYTHON

# A short PATH of real interpreters: ansible-test starts every python3.N that it
# finds, and a version manager's shim of a version that is not active only fails.
export HOME=$home PATH=$venv/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset ANSIBLE_CONFIG
cd "$tree"
ansible-test sanity --local --requirements --python "$python" --color no "$@" 2>&1 | tee "$work/log"
# ansible-test ends with 0 when it found nothing to test.
if grep -q 'All targets skipped' "$work/log"; then
    echo "sanity: ansible-test found no file to test in $tree, expected the whole collection" >&2
    exit 1
fi
