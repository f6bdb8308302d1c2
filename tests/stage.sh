#!/usr/bin/env bash
# Copies the files that git knows or would add into a fresh DIR: no caches, no build
# output, nothing that has been deleted since.
#
# usage: stage.sh DIR
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf "$1"
mkdir -p "$1"
git ls-files -coz --exclude-standard |
    while IFS= read -r -d '' path; do
        # git also lists what was deleted and not yet committed
        if [ -e "$path" ]; then printf '%s\0' "$path"; fi
    done |
    tar --create --null --files-from=- | tar --extract --directory="$1"
