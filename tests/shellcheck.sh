#!/usr/bin/env bash
# Runs shellcheck on every shell file that git knows or would add: by extension, or by
# the first line, because what runs on a node has no extension.
set -euo pipefail
cd "$(dirname "$0")/.."

files=()
while IFS= read -r -d '' path; do
    [ -f "$path" ] || continue
    first=
    IFS= read -r first <"$path" 2>/dev/null || true
    if [[ $path == *.sh || $first =~ ^\#!.*[/\ ](ba|da)?sh($|\ ) ]]; then files+=("$path"); fi
done < <(git ls-files -coz --exclude-standard)

echo "shellcheck: ${files[*]}"
shellcheck --external-sources "${files[@]}"
