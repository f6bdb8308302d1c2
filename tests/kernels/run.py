"""Patch every kernel that the mirror serves, boot it, and prove its reservation; write docs/kernels.md.

    python3 -m tests.kernels.run [--cache DIR] [--only REGEX] [--again] [--table]

Each kernel's result is appended to tests/kernels/results.jsonl at once: a run that was stopped goes on where it was.
A result counts as long as the code that is put into kernels is the same. Needs the packages of tests/kernels/packages.txt.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import sys
import tempfile

from lab.paths import REPO
from plugins.module_utils._boot import load_window
from plugins.module_utils._errors import KupError
from plugins.module_utils._image import image as kernel_image
from plugins.module_utils._image import stub
from tests.kernels import machine, packages

RESULTS = machine.HERE / "results.jsonl"
TABLE = REPO / "docs" / "kernels.md"
CODE = hashlib.sha256(stub.BOOT + stub.RESERVE).hexdigest()[:16]

# The kernel that jumps into all others: any that has kexec would do.
FIRST = "6.12"
FRAMES = 100000
# At least so many whole blocks of 2 MiB are among them.
BLOCKS = 8
# What QEMU gives the machine, without the ends that the firmware keeps.
RAM = [(1 << 20, (machine.MEMORY_MB << 20) - (2 << 20))]

HEAD = """# Kernels that were tried

Written by `tests/kernels/run.py`. Each of Debian's kernels here was patched, loaded with kexec at a random place, and
started by a stock {first} kernel on a QEMU machine ({memory} MiB, one processor, TCG) that had left up to {frames}
frames with a pattern and a table of them. The new kernel's only process filled all memory that was free, and then
compared every byte of every frame, and what the kernel says of its struct page.

*start* is the time from the jump to the first process of the new kernel, the reservation of all these frames included; *stock*
is that of the distribution's own image on the same machine, loaded in the same way and without any frames (newest kernel of a
series only); then their ratio. Time is counted in the machine's instructions, a nanosecond each: no other work beside it shows.
*blocks* are whole ones of 2 MiB among the frames, for whose struct pages the calls were redirected; "-" is a kernel that keeps
its own.
*text*, *place* and *direct map* say that KASLR chose another virtual address, another physical address and another
base of the direct map than without it.

| kernel | package | packed | symbols | room | frames right / wrong | blocks | start | stock | ratio | KASLR | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def results():
    """The results that count, release → dict; the last of a release wins."""
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {row["release"]: row for row in rows if row["code"] == CODE}


def boot(first, image, init, words, five_level):
    """Jump from the image ``first`` into ``image`` at a random place; returns what was said."""
    window = load_window.choose(RAM, load_window.size(image) + init.stat().st_size)
    # Without 5-level page tables a kernel cannot be entered by one that uses them.
    cpu = "max" if five_level else "max,la57=off"
    words = [f"kuptest.window={window[0]:x}-{window[1]:x}", *words]
    said, console = machine.jump([(first, ()), (image, ())], init, words, cpu, is_counted=True)
    if "end" not in said:
        said["failed"].append("the second kernel did not come to its end: " + console[-300:])
    return said


def start(said):
    """Seconds from the jump to the second kernel's first process, to the millisecond; None if it did not come so far."""
    return round((int(said["init"]) - int(said["jump"])) / 1e9, 3) if "init" in said else None


def kaslr(said):
    """What KASLR moved."""
    moved = {
        "text": said.get("text") not in (None, "ffffffff81000000"),
        "place": said.get("physical") not in (None, "01000000"),
        "direct map": said.get("direct_map") not in (None, "ffff888000000000", "ff11000000000000"),
    }
    return [name for name, is_moved in moved.items() if is_moved]


def verdict(said):
    """What is wrong with a boot, or an empty text."""
    if said["failed"] or said["warning"]:
        return "; ".join(said["failed"] + said["warning"])
    if said.get("state") != "reserved" or said.get("wrong") != "0" or said.get("right") != said.get("frames"):
        return f"{said.get('right')} of {said.get('frames')} frames were right, log: {said['log']}"
    if said.get("unlike") != "0" or int(said.get("blocks", 0)) < BLOCKS:
        return f"{said.get('unlike')} struct pages are not those of reserved frames, {said.get('blocks')} whole blocks"
    return ""


def try_one(package, image, first, init, compare):
    """One kernel's row."""
    row = {"release": package.release, "package": package.version, "suite": package.suite.name, "code": CODE}
    row["date"] = datetime.date.today().isoformat()
    try:
        kernel = kernel_image.read(image)
        row |= kernel_image.describe(kernel)
        content = kernel_image.build(kernel)
    except KupError as error:
        return row | {"verdict": "refused", "reason": str(error)}
    with tempfile.TemporaryDirectory(prefix="kup-kernels-") as scratch:
        patched = pathlib.Path(scratch) / "image"
        patched.write_bytes(content)
        said = boot(first, patched, init, [f"kuptest.frames={FRAMES}"], row["five_level_paging"])
    row |= {
        key: said[key]
        for key in ("frames", "runs", "right", "wrong", "unlike", "blocks", "filled", "start_s")
        if key in said
    }
    row["jump_to_init_s"] = start(said)
    row["kaslr"] = kaslr(said)
    if compare:
        stock = boot(first, image, init, ["kuptest.frames=1000", "kuptest.stock"], row["five_level_paging"])
        row["stock_jump_to_init_s"] = start(stock)
    reason = verdict(said)
    return row | ({"verdict": "failed", "reason": reason} if reason else {"verdict": "passed"})


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
    cells.append(row["verdict"] + (f": {row['reason']}" if "reason" in row else ""))
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |\n"


def write_table(rows):
    """docs/kernels.md from all results that count."""
    counts = {kind: sum(row["verdict"] == kind for row in rows) for kind in ("passed", "refused", "failed")}
    text = HEAD.format(first=FIRST, memory=machine.MEMORY_MB, frames=FRAMES) + "".join(map(line, rows))
    text += f"\n{counts['passed']} passed, {counts['refused']} refused, {counts['failed']} failed.\n"
    TABLE.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=REPO / "build" / "kernels")
    parser.add_argument("--only", default="", help="releases that match this regular expression")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--table", action="store_true", help="only write the table from the results that there are")
    options = parser.parse_args()
    if options.table:
        # In order of the series; within one, as they were tried.
        write_table(
            sorted(
                results().values(), key=lambda row: [int(n) for n in re.match(r"(\d+)\.(\d+)", row["release"]).groups()]
            )
        )
        return 0
    wanted = packages.wanted()
    newest = {(package.series, package.is_cloud): package for package in wanted}
    first = packages.image(newest[FIRST, True], options.cache)
    # What this machine lacks would be each kernel's refusal.
    kernel_image.read(first)
    options.cache.mkdir(parents=True, exist_ok=True)
    init = options.cache / "init"
    machine.build_init(init)
    # The newest of each series first: a run that is stopped early has seen them all.
    order = sorted(wanted, key=lambda package: newest[package.series, package.is_cloud] is not package)
    bad = 0
    for package in order:
        if not re.search(options.only, package.release) or (package.release in results() and not options.again):
            continue
        image = packages.image(package, options.cache)
        if not image:
            print(f"{package.release}: listed, but not on the mirror", flush=True)
            continue
        row = try_one(package, image, first, init, newest[package.series, package.is_cloud] is package)
        if image != first:
            image.unlink()
        with RESULTS.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, sort_keys=True) + "\n")
        bad += row["verdict"] == "failed"
        print(line(row), end="", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
