"""Write the table of variables in README.md from the argument specification of the role kup.

    python tests/variables_table.py [--check]

With --check it writes nothing, and fails if the table is not what it would write.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parent.parent
README = REPO / "README.md"
SPECIFICATION = REPO / "roles/kup/meta/argument_specs.yml"
BEGIN, END = "<!-- variables: tests/variables_table.py writes these lines -->\n", "<!-- end of variables -->\n"

# Ansible's markup of values, options, code and names of modules and roles.
MARKUP = re.compile(r"\b(?:[VOC]|RV)\(([^)]+)\)|\b[MP]\(kup\.fleet\.(\w+)[^)]*\)")
REQUIRED = ("kup_units", "kup_kernel")


def table() -> str:
    options = yaml.safe_load(SPECIFICATION.read_text())["argument_specs"]["main"]["options"]
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, option in options.items():
        lines.append(f"| `{name}` | {default(name, option)} | {meaning(option['description'])} |")
    return "\n".join(lines) + "\n"


def default(name: str, option: dict) -> str:
    if name in REQUIRED:
        return "(required)"
    value = option.get("default", "")
    if value == "":
        return "(none)" if "default" in option else "`kup-report`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`".replace("'", '"')


def meaning(description: str | list[str]) -> str:
    text = description if isinstance(description, str) else " ".join(description)
    return MARKUP.sub(lambda found: f"`{(found[1] or found[2]).removeprefix('ignore:')}`", " ".join(text.split()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the table is old")
    options = parser.parse_args()
    readme = README.read_text()
    before, _begin, rest = readme.partition(BEGIN)
    _old, _end, after = rest.partition(END)
    new = before + BEGIN + table() + END + after
    if options.check and new != readme:
        print("README.md: its table of variables is old; run python tests/variables_table.py", file=sys.stderr)
        return 1
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
