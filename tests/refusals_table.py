"""Write docs/refusals.md from the checks of the library (plugins/module_utils/*/*checks.py), and from the settings that remove blockers.

    python -m tests.refusals_table [--check]

With --check it writes nothing, and fails if the page is not what it would write.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PAGE = REPO / "docs/refusals.md"
LIBRARY = "ansible_collections.kup.fleet.plugins.module_utils"
HEAD = """\
# What is refused

Before anything is changed on a node, it is judged, and refused with a sentence for each blocker that is found:
`ansible-playbook kup.fleet.kup_update --check` does no more than that. The switch looks at the units once more, right
before it freezes them.

The module `kup_preflight` returns the sentences as `problems`, and as `blockers` with the codes below: a code stays the
same when its sentence is rewritten. A blocker has `code`, `unit`, `process`, `engine`, `object`, `why`, `help`, and all
of it as `sentence`.

<!-- tests/refusals_table.py writes this page from the docstrings of the checks. -->
"""
#: Heading → modules of the library with checks, in the order of the page.
SECTIONS = {
    "The update, the node and its units": ["_update.checks"],
    "Starting another kernel": ["_boot.checks"],
    "What the next boot would not have": ["_environment.checks"],
    "What CRIU cannot carry": [
        *("_criu.kernel_checks", "_criu.checks", "_criu.ipc_checks", "_criu.descriptor_checks", "_criu.view_checks")
    ],
    "What a process has done to itself (found when the kernels are staged, and once more before the freeze)": [
        "_environment.attribute_checks"
    ],
    "What stops one engine": ["_engines.checks"],
    "What stops a kernel image without its decompressor (found when the kernels are staged; without `ppp` the file is loaded as it is then)": [
        "_image.checks"
    ],
}


def checks(module):
    """The checks of a module of the library, as they stand in its file."""
    module = importlib.import_module(f"{LIBRARY}.{module}")
    return [each for each in vars(module).values() if hasattr(each, "code") and each.__module__ == module.__name__]


def page():
    text = HEAD
    for heading, modules in SECTIONS.items():
        text += f"\n## {heading}\n\n| code | what is wrong |\n| --- | --- |\n"
        for each in (check for module in modules for check in checks(module)):
            text += f"| `{each.code}` | {each.__doc__.splitlines()[0]} |\n"
    text += "\n## What the playbook `kup_ready` can change\n\n| code | setting | what it costs |\n| --- | --- | --- |\n"
    settings = importlib.import_module(f"{LIBRARY}._ready.settings").SETTINGS
    for code, setting, costs in dict.fromkeys((each.code, each.text, each.costs) for each in settings):
        lines = ", ".join(f"`{line}`" for line in setting.splitlines())
        text += f"| `{code}` | {lines} | {costs} |\n"
    return text


def main():
    sys.path.insert(0, str(REPO / "build/collections"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the page is old")
    if parser.parse_args().check:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        print("docs/refusals.md does not fit the checks; run python -m tests.refusals_table", file=sys.stderr)
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
