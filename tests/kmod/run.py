"""Record processes' pages in one kernel and bind them in the next, on a QEMU machine.

    python3 -m tests.kmod.run [--cache DIR] [--processors N] [--memory MIB] [--debug] [--only CASE] [--console FILE] [FROM:TO ...]

A pair is one of series, e.g. 6.12:7.2.

Needs the packages of tests/kernels/packages.txt and mmdebstrap, and must run as root. The machine's programs are the C files
here; what must hold is judged here.
"""

import argparse
import pathlib
import sys
import tempfile

from lab.paths import REPO
from plugins.module_utils._boot import load_window
from plugins.module_utils._image import image as kernel_image
from tests.kernels import machine, packages
from tests.kmod import headers

HERE = pathlib.Path(__file__).resolve().parent
# As memory.c lays it out: pages of the first task, of these shared with the second, swapped out when they are recorded,
# and such that have no neighbour, neither in memory nor in the area.
PAGES, SHARED, SWAPPED, SINGLE = 13224, 2000, 600, 3000
# Case lazy: those that the first task gets when it runs (lazy.c).
LATE = 3024
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


def problems(said, case, is_debug):
    """What is not as it must be after a whole run, as sentences."""
    yield from said["failed"]
    yield from said["warning"]
    if "end" not in said:
        yield "the last kernel did not come to its end"
        return
    numbers = {key: int(value) for key, value in said.items() if isinstance(value, str) and value.lstrip("-").isdigit()}
    expected = {"right0": PAGES, "wrong0": 0, "right1": SHARED, "wrong1": 0, "bound0": PAGES, "bound1": SHARED}
    # Whoever comes first gets a shared frame, the other a copy; then there is nothing to share any more.
    expected |= {"copied": 0 if case == "twice" else SHARED, "oom": 0, "oom_recording": 0, "swap_after_kb": 0}
    if is_debug:
        # The words have reached the last kernel.
        expected["slab_poison"] = 1
    # What was bound or freed is managed memory again.
    expected["gained_kb"] = 4 * (PAGES + SHARED - expected["copied"] + numbers.get("freed", 0))
    for key, value in expected.items():
        if numbers.get(key) != value:
            yield f"{key} is {said.get(key)}, expected {value}"
    bounds = {
        # The process itself has a few pages besides.
        "rss_kb": (4 * PAGES, 4 * PAGES + 400),
        "rss_after_kb": (0, 400),
        # The module's references after DROP: some pages go to the kernel's caches.
        "lost_kb": (-20000, 5000),
        "fetched": (SWAPPED // 64, 2 * SWAPPED),
        "swapped": (SWAPPED // 2, SWAPPED),
        # Pages that came in although the limit was reached.
        "above_kb": (SWAPPED, 8 * SWAPPED),
        "paged_out": (1, SHARED),
        "moved": (2, 2 * PAGES),
        # More than one page of each list.
        # Copies of what had to be moved lie side by side.
        "runs": (2, 2 * SINGLE),
        "own": (1 + SINGLE // 170, PAGES),
        # Charged above the limit, and uncharged at the end.
        "charged_kb": (4 * PAGES, 4 * PAGES + 1000),
        "at_limit": (1, 1 << 30),
        "still_charged_kb": (0, 1000),
    }
    if case == "switch":
        bounds["damaged"] = (40, 1000)
    if case == "lazy":
        before = PAGES - LATE
        bounds |= {"rss_kb": (4 * before, 4 * PAGES + 400), "charged_kb": (4 * before, 4 * before + 1000)}
        bounds |= {"late": (LATE, LATE), "faults": (100, 2 * PAGES)}
    for key, (low, high) in bounds.items():
        if not low <= numbers.get(key, -1) <= high:
            yield f"{key} is {said.get(key)}, expected {low} to {high}"


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
    """What came out of a run, for a person."""
    numbers = ", ".join(f"{key} {value}" for key, value in said.items() if isinstance(value, str))
    print(f"{title}: {'; '.join(wrong) or 'passed'}")
    print("".join(f"    {line}\n" for line in (*said["log"], numbers)), end="", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=REPO / "build" / "kmod")
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--memory", type=int, default=640, help="MiB")
    parser.add_argument("--debug", action="store_true", help="with the kernels' own checks of memory")
    parser.add_argument("--only", choices=CASES, help="this case")
    parser.add_argument("--console", type=pathlib.Path, help="file for all that the machines say")
    parser.add_argument("pairs", nargs="*", default=["6.12:7.2", "6.1:6.12", "7.2:6.12"])
    return parser.parse_args()


def main():
    options = arguments()
    pairs = [pair.split(":") for pair in options.pairs]
    built = {name: headers.build(name, options.cache) for name in sorted({name for pair in pairs for name in pair})}
    found = images([release for _modules, release in built.values()], options.cache)
    init = options.cache / "init"
    machine.build_init(init, sorted(HERE.glob("*.c")))
    bad = 0
    with tempfile.TemporaryDirectory(prefix="kup-kmod-") as scratch:
        patched = {}
        for name, (modules, release) in built.items():
            image = pathlib.Path(scratch) / name
            image.write_bytes(kernel_image.build(kernel_image.read(found[release])))
            patched[name] = (image, modules)
        for first, second in pairs:
            for case in [options.only] if options.only else CASES:
                kernels = [(found[built[first][1]], built[first][0]), patched[second]]
                # All but one go on to a third kernel, which is the first again.
                kernels += [patched[first]] if case in ("fallback", "twice") else []
                said, console = run(case, kernels, init, options)
                wrong = list(problems(said, case, options.debug))
                tell(f"{first} -> {second}, {case}", said, wrong)
                if options.console:
                    with options.console.open("a", encoding="utf-8") as stream:
                        stream.write(console)
                if wrong:
                    print(console[-6000:])
                bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
