#!/usr/bin/env bash
# Writes CHANGELOG.rst and changelogs/changelog.yaml from changelogs/fragments and the documentation of the modules.
#
# usage: changelog.sh [--check]
#
# With --check it writes nothing, and fails if one of the two files is not what it would write.
set -euo pipefail
cd "$(dirname "$0")/.."

written=(CHANGELOG.rst changelogs/changelog.yaml)

# In a copy: antsibull-changelog leaves a cache beside the fragments.
tree=$PWD/build/changelog/ansible_collections/kup/fleet
tests/stage.sh "$tree"
(
    cd "$tree"
    antsibull-changelog lint
    date=$(sed -n "s/^ *release_date: '\(.*\)'$/\1/p" changelogs/changelog.yaml | tail -n 1)
    antsibull-changelog release --refresh --update-existing --date "$date"
)
for file in "${written[@]}"; do
    if cmp --silent "$tree/$file" "$file"; then continue; fi
    if [ "${1:-}" = --check ]; then
        echo "changelog: $file is old; run 'make changelog'" >&2
        exit 1
    fi
    cp "$tree/$file" "$file"
done
