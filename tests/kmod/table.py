"""docs/kmod.md: a table of the results of the kernel module's tests."""

from lab import results
from lab.paths import REPO

PAGE = REPO / "docs" / "kmod.md"
HEAD = """# Pairs of kernels that the module was tried on

Written by `tests/kmod/run.py` (`make kmod`). In each case the module records the pages of two tasks in the first kernel, and binds
them in the second on a QEMU machine; [the kernel module](ppp-module.md#tests) says what the cases are.

| from | to | case | processors | MiB | kernels' own checks | commit | result |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def write(rows):
    """Write the page from ROWS, a result per case."""
    PAGE.write_text(HEAD + "".join(map(line, rows)), encoding="utf-8")


def line(row):
    """Return the table's line of a result."""
    cells = [row["from"], row["to"], row["case"], str(row["processors"]), str(row["memory_mib"])]
    cells += ["yes" if row["debug"] else "no", row.get("commit", results.UNKNOWN)]
    cells.append("; ".join(row["wrong"]) or "passed")
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"
