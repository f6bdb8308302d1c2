"""Patch every kernel that the mirror serves, boot it, and prove its reservation, and that it does not run with a byte that is wrong.

    python3 -m tests.kernels.run [--minutes N] [--cache DIR] [--only REGEX] [--again]
    python3 -m tests.kernels.run --table

A slice tries kernels that have no result; it appends each result to tests/kernels/results.jsonl at once, so it can be stopped at any
time. A result counts until the code that is put into kernels changes. --table writes docs/kernels.md from the results.
Needs the packages of tests/kernels/packages.txt.
"""

import argparse
import datetime
import hashlib
import pathlib
import random
import re
import sys
import tempfile
import time

from lab import results
from lab.paths import REPO
from plugins.module_utils._boot import load_window
from plugins.module_utils._errors import KupError
from plugins.module_utils._image import image as kernel_image
from plugins.module_utils._image import stub
from tests.kernels import machine, packages, table

RESULTS = machine.HERE / "results.jsonl"
CODE = hashlib.sha256(stub.BOOT + stub.RESERVE).hexdigest()[:16]

# The kernel that jumps into all others: any that has kexec would do.
FIRST = "6.12"
FRAMES = 100000
# At least so many whole blocks of 2 MiB are among them.
BLOCKS = 8
# The segments but the purgatory's: boot parameters with the command line, kernel, initramfs.
SEGMENTS = 3
# What QEMU gives the machine, without the ends that the firmware keeps.
RAM = [(1 << 20, (machine.MEMORY_MB << 20) - (2 << 20))]


def known():
    """Return {release: its last result that counts}."""
    return {row["release"]: row for row in results.read(RESULTS) if row["code"] == CODE}


def boot(first, image, init, words, five_level, files=()):
    """Jump from the image ``first`` into ``image`` at a random place; returns what was said.

    :param files: paths of more files for the first kernel's root directory.
    """
    window = load_window.choose(RAM, load_window.size(image) + init.stat().st_size)
    # Without 5-level page tables a kernel cannot be entered by one that uses them.
    cpu = "max" if five_level else "max,la57=off"
    words = [f"kuptest.window={window[0]:x}-{window[1]:x}", *words]
    said, console = machine.jump([(first, files), (image, ())], init, words, cpu, is_counted=True)
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


def spoil(first, image, init, five_level, sums):
    """Have one byte of what is loaded be wrong; returns (number of the segment, offset) and what is wrong then."""
    wrong = random.randrange(SEGMENTS), random.randrange(1 << 30)
    words = ["kuptest.frames=1000", "kuptest.stock", "kuptest.sums", "kuptest.flip={},{}".format(*wrong)]
    said = boot(first, image, init, words, five_level, [sums])
    if "jump" not in said or "init" in said:
        return wrong, f"a kernel ran with byte {wrong[1]} of segment {wrong[0]} wrong, or was never started"
    return wrong, ""


def try_one(package, image, first, init, sums, compare):
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
        words = [f"kuptest.frames={FRAMES}", "kuptest.sums"]
        said = boot(first, patched, init, words, row["five_level_paging"], [sums])
        row["flipped"], ran = spoil(first, patched, init, row["five_level_paging"], sums)
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
    reason = verdict(said) or ran
    return row | ({"verdict": "failed", "reason": reason} if reason else {"verdict": "passed"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=28, help="no kernel begins later (default: %(default)s)")
    parser.add_argument("--cache", type=pathlib.Path, default=REPO / "build" / "kernels")
    parser.add_argument("--only", default="", help="releases that match this regular expression")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--table", action="store_true", help="write docs/kernels.md and try nothing")
    options = parser.parse_args()
    if options.table:
        table.write(known().values(), FIRST, FRAMES)
        return 0
    wanted = packages.wanted()
    newest = {(package.series, package.is_cloud): package for package in wanted}
    first = packages.image(newest[FIRST, True], options.cache)
    # What this machine lacks would be each kernel's refusal.
    kernel_image.read(first)
    options.cache.mkdir(parents=True, exist_ok=True)
    init = options.cache / "init"
    machine.build_init(init)
    sums = options.cache / "kup_sums.so"
    machine.build_sums(sums)
    # The newest of each series first: a run that is stopped early has seen them all.
    order = sorted(wanted, key=lambda package: newest[package.series, package.is_cloud] is not package)
    bad, until = 0, time.monotonic() + 60 * options.minutes
    for package in order:
        if time.monotonic() > until:
            break
        if not re.search(options.only, package.release) or (package.release in known() and not options.again):
            continue
        image = packages.image(package, options.cache)
        if not image:
            print(f"{package.release}: listed, but not on the mirror", flush=True)
            continue
        row = try_one(package, image, first, init, sums, newest[package.series, package.is_cloud] is package)
        if image != first:
            image.unlink()
        results.append(RESULTS, row)
        bad += row["verdict"] == "failed"
        print(table.line(row), end="", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
