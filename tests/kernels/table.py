"""docs/kernels.md: a table of the results of all kernels."""

import re

from lab import results
from lab.paths import REPO
from tests.kernels import machine

PAGE = REPO / "docs" / "kernels.md"
HEAD = """# Kernels that were tried

Written by `tests/kernels/run.py` (`make kernels`). Each of these Debian kernels was patched, loaded with kexec at a random place, and
started by a stock {first} kernel on a QEMU machine ({memory} MiB, one processor, TCG). The stock kernel had left up to {frames}
frames with a pattern and a table of them. The new kernel's only process filled all free memory, then compared every byte of
every frame and the kernel's account of its struct page.

*start* is the time in seconds from the jump to the first process of the new kernel, the reservation of all frames included. *stock*
is the same for the distribution's own image, loaded in the same way and without frames (newest kernel of a series only); *ratio* is
their ratio. The clock counts the machine's instructions, a nanosecond each, so that other work on the host does not show.
*blocks* counts whole blocks of 2 MiB among the frames, whose struct pages were initialised by redirected calls; "-" is a kernel that
keeps its own initialisation.
*text*, *place* and *direct map* say that KASLR chose another virtual address, another physical address and another
base of the direct map than without it. *commit* is the commit of the tree that the kernel was tried with.

| kernel | package | packed | symbols | room | frames right / wrong | blocks | start | stock | ratio | KASLR | commit | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def write(rows, first, frames):
    """Write the page from ROWS, a result per kernel; FIRST and FRAMES are those of run.py."""
    # By series; within one, in the order in which they were tried.
    rows = sorted(rows, key=lambda row: [int(n) for n in re.match(r"(\d+)\.(\d+)", row["release"]).groups()])
    counts = {kind: sum(row["verdict"] == kind for row in rows) for kind in ("passed", "refused", "failed")}
    text = HEAD.format(first=first, memory=machine.MEMORY_MB, frames=frames) + "".join(map(line, rows))
    text += f"\n{counts['passed']} passed, {counts['refused']} refused, {counts['failed']} failed.\n"
    PAGE.write_text(text, encoding="utf-8")


def line(row):
    """One row of the table."""
    cells = [
        row["release"],
        f"{row['package']} ({row['suite']})",
        row.get("compression", ""),
        row.get("kallsyms_layout", ""),
    ]
    cells.append(f"{row['room_bytes'] >> 10} KiB" if "room_bytes" in row else "")
    cells.append(f"{row['right']} / {row['wrong']}" if "right" in row else "")
    cells.append((row["blocks"] if row["initialiser"] else "-") if "blocks" in row else "")
    mine, stock = row.get("jump_to_init_s"), row.get("stock_jump_to_init_s")
    cells += [
        f"{mine:.3f}" if mine else "",
        f"{stock:.3f}" if stock else "",
        f"{mine / stock:.3f}" if mine and stock else "",
    ]
    cells.append(", ".join(row.get("kaslr", [])))
    cells.append(row.get("commit", results.UNKNOWN))
    cells.append(row["verdict"] + (f": {row['reason']}" if "reason" in row else ""))
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"
