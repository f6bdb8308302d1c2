"""Record processes' pages in one kernel and bind them in the next, on a QEMU machine.

    python3 -m tests.kmod.run [--minutes N] [--again] [--processors N] [--memory MIB] [--debug] [--only CASE] [--console FILE]
                              [--cache DIR] [FROM:TO ...]
    python3 -m tests.kmod.run --table

FROM and TO are series, e.g. 6.12:7.2. A slice runs cases that have no result; it appends each result to results.jsonl at
once, so it can be stopped at any time. A result counts until the module or these tests change. --table writes docs/kmod.md.
Needs the packages of tests/kernels/packages.txt, and root. The machine's programs are the C files here; judge.py judges what they say.
"""

import argparse
import datetime
import hashlib
import itertools
import pathlib
import sys
import tempfile
import time

from lab import results
from lab.paths import REPO
from plugins.module_utils._boot import load_window
from plugins.module_utils._image import image as kernel_image
from tests.kernels import machine, packages
from tests.kmod import headers, table
from tests.kmod.judge import problems

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results.jsonl"
SOURCES = (REPO / "files" / "kmod", REPO / "files" / "stub", HERE, HERE / "spoil")
# Cases: name → words for the machine's program.
#   switch: damaged tables are refused, the whole one is bound
#   fallback: bound in the other kernel, given up, and bound again in the first
#   lazy: given to tasks that wait for them while they run
#   twice: bound in the other kernel, recorded there, and bound in the first
CASES = {
    "switch": ["kuptest.hostile", "kuptest.swap"],
    "fallback": ["kuptest.swap"],
    "lazy": ["kuptest.lazy", "kuptest.swap"],
    "twice": ["kuptest.twice", "kuptest.swap"],
}
# What the kernel has of its own to find misuse of memory. The names of the first have changed in 6.9.
DEBUG = ["slub_debug=FZPU", "slab_debug=FZPU", "page_poison=1", "init_on_free=1", "init_on_alloc=1"]


def images(releases, cache):
    """The images of the kernels (releases) that the modules are for."""
    found = {release: packages.place(release, cache) for release in releases}
    if not all(image.exists() for image in found.values()):
        found = {
            package.release: packages.image(package, cache)
            for package in packages.wanted()
            if package.release in releases
        }
    missing = [release for release in releases if not found.get(release)]
    if missing:
        raise SystemExit(f"The mirror has headers but no image of {', '.join(missing)}: remove {cache} and try again.")
    return found


def run(case, kernels, init, options):
    """Boot the kernels ((image, modules) of each, patched from the second on); returns what was said, and the console."""
    ram = [(1 << 20, (options.memory << 20) - (2 << 20))]
    # Each later kernel with what it has to start the next.
    sizes = [sum(path.stat().st_size for path in (image, *files)) for image, files in kernels]
    biggest = max(load_window.size(image) for image, _files in kernels[1:])
    window = load_window.choose(ram, biggest + sum(sizes[2:]) + (16 << 20))
    words = [f"kuptest.window={window[0]:x}-{window[1]:x}", *CASES[case], *(DEBUG if options.debug else [])]
    with tempfile.TemporaryDirectory(prefix="kup-kmod-") as scratch:
        disk = pathlib.Path(scratch) / "swap"
        with disk.open("wb") as stream:
            stream.truncate(32 << 20)
        devices = ["-drive", f"if=none,id=swap,format=raw,file={disk}", "-device", "nvme,serial=swap,drive=swap"]
        return machine.jump(
            kernels, init, words, processors=options.processors, memory_mb=options.memory, devices=devices
        )


def tell(title, said, wrong):
    """Print the outcome of a run."""
    numbers = ", ".join(f"{key} {value}" for key, value in said.items() if isinstance(value, str))
    print(f"{title}: {'; '.join(wrong) or 'passed'}")
    print("".join(f"    {line}\n" for line in (*said["log"], numbers)), end="", flush=True)


def code():
    """Return a digest of the module, the kernels' patch and the tests: a result counts until one of them changes."""
    sources = [path for folder in SOURCES for path in sorted(folder.iterdir()) if path.suffix in (".c", ".h")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, HERE / "judge.py"])).hexdigest()[:16]


def known(digest):
    """Return the last result of each case that counts."""
    return {name(row): row for row in results.read(RESULTS) if row["code"] == digest}


def name(row):
    """Return the name of a case, from a result or from its beginning."""
    return tuple(row[key] for key in ("from", "to", "case", "processors", "memory_mib", "debug"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=28, help="no case begins later (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="also cases that have a result")
    parser.add_argument("--table", action="store_true", help="write docs/kmod.md and run nothing")
    parser.add_argument("--cache", type=pathlib.Path, default=REPO / "build" / "kmod")
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--memory", type=int, default=640, help="MiB")
    parser.add_argument("--debug", action="store_true", help="with the kernels' own checks of memory")
    parser.add_argument("--only", choices=CASES, help="this case")
    parser.add_argument("--console", type=pathlib.Path, help="file for the consoles of the machines")
    parser.add_argument("pairs", nargs="*", default=["6.12:7.2", "6.1:6.12", "7.2:6.12"], metavar="FROM:TO")
    return parser.parse_args()


def machines(pairs, cache, scratch):
    """Build modules and images; return ({series: (image, modules)}, {series: (patched image, modules)}, {series: release})."""
    built = {series: headers.build(series, cache) for series in sorted({series for pair in pairs for series in pair})}
    found = images([release for _modules, release in built.values()], cache)
    stock, patched = {}, {}
    for series, (modules, release) in built.items():
        stock[series] = (found[release], modules)
        image = pathlib.Path(scratch) / series
        image.write_bytes(kernel_image.build(kernel_image.read(found[release])))
        patched[series] = (image, modules)
    return stock, patched, {series: release for series, (_modules, release) in built.items()}


def main():
    options, digest = arguments(), code()
    if options.table:
        table.write(known(digest).values())
        return 0
    until, bad = time.monotonic() + 60 * options.minutes, 0
    pairs = [pair.split(":") for pair in options.pairs]
    init = options.cache / "init"
    with tempfile.TemporaryDirectory(prefix="kup-kmod-") as scratch:
        stock, patched, releases = machines(pairs, options.cache, scratch)
        machine.build_init(init, sorted(HERE.glob("*.c")))
        for (first, second), case in itertools.product(pairs, [options.only] if options.only else CASES):
            row = {"from": releases[first], "to": releases[second], "case": case, "processors": options.processors}
            row |= {"memory_mib": options.memory, "debug": options.debug, "code": digest}
            if name(row) in known(digest) and not options.again:
                continue
            if time.monotonic() > until:
                break
            # Two cases go on to a third kernel, which is the first again.
            kernels = [stock[first], patched[second], *([patched[first]] if case in ("fallback", "twice") else [])]
            said, console = run(case, kernels, init, options)
            wrong = list(problems(said, case, options.debug))
            tell(f"{first} -> {second}, {case}", said, wrong)
            numbers = {key: value for key, value in said.items() if isinstance(value, str)}
            row |= {"date": datetime.date.today().isoformat(), "wrong": wrong, "numbers": numbers}
            results.append(RESULTS, row)
            if options.console:
                with options.console.open("a", encoding="utf-8") as stream:
                    stream.write(console)
            if wrong:
                print(console[-6000:])
            bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
