"""Record a process's pages in one kernel and bind them in the next, on a QEMU machine.

    run.py [--cache DIR] [FROM:TO ...]      series, e.g. 6.12:7.2

Needs the packages of tests/kernels/packages.txt and mmdebstrap, and must run as root. The machine's programs are init.c; what must hold is
judged here.
"""

import argparse
import pathlib
import sys
import tempfile

import headers
import machine
import packages

sys.path.insert(0, str(packages.REPO / "build" / "collections"))

from ansible_collections.kup.fleet.plugins.module_utils import _kernelimage, _loadwindow

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_MB = 512
RAM = [(1 << 20, (MEMORY_MB << 20) - (2 << 20))]
# As init.c lays it out: pages of the first task, of these shared with the second.
PAGES, SHARED = 9624, 2000
# The second kernel's module gets another nonce or address than the table has.
SPOILED = {"nonce": "table of another switch", "address": "address is not reserved memory"}


def images(releases, cache):
    """The images of the kernels (releases) that the modules are for."""
    found = {package.release: packages.image(package, cache) for package in packages.wanted() if package.release in releases}
    missing = [release for release in releases if not found.get(release)]
    if missing:
        raise SystemExit(f"The mirror has headers but no image of {', '.join(missing)}: remove {cache} and try again.")
    return found


def problems(said):
    """What is not as it must be after a whole run, as sentences."""
    yield from said["failed"]
    yield from said["warning"]
    if "end" not in said:
        yield "the second kernel did not come to its end"
    expected = {"right0": PAGES, "wrong0": 0, "right1": SHARED, "wrong1": 0, "bound0": PAGES, "bound1": SHARED}
    expected |= {"copied0": 0, "copied1": SHARED}
    for key, value in expected.items():
        if said.get(key) != str(value):
            yield f"{key} is {said.get(key)}, expected {value}"
    rss = int(said.get("rss_kb", 0))
    # The process itself has a few pages besides.
    if not 4 * PAGES <= rss <= 4 * PAGES + 400:
        yield f"RSS is {rss} kB, expected a little more than {4 * PAGES}"
    if int(said.get("rss_after_kb", 9999)) > 400:
        yield f"RSS is {said.get('rss_after_kb')} kB after everything was unmapped"
    # What was bound or freed is managed memory again.
    if int(said.get("gained_kb", 0)) != 4 * (PAGES + int(said.get("freed", 0))):
        yield f"MemTotal grew by {said.get('gained_kb')} kB, expected 4 for each page bound or freed ({said.get('freed')})"


def refusal(said, reason):
    """What is wrong with a run whose table must be refused."""
    if "end" not in said or said["failed"] or said["warning"]:
        yield f"not refused cleanly: {said}"
    if f"table refused: {reason}" not in said["log"]:
        yield f"expected the refusal '{reason}', log: {said['log']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=packages.REPO / "build" / "kmod")
    parser.add_argument("pairs", nargs="*", default=["6.12:7.2"])
    options = parser.parse_args()
    pairs = [pair.split(":") for pair in options.pairs]
    names = sorted({name for pair in pairs for name in pair})
    built = {name: headers.build(name, options.cache) for name in names}
    modules = {name: module for name, (module, _release) in built.items()}
    found = images([release for _module, release in built.values()], options.cache)
    kernels = {name: found[release] for name, (_module, release) in built.items()}
    init = options.cache / "init"
    machine.build_init(init, HERE / "init.c")
    bad = 0
    for first, second in pairs:
        with tempfile.TemporaryDirectory(prefix="kup-kmod-") as scratch:
            patched = pathlib.Path(scratch) / "image"
            patched.write_bytes(_kernelimage.build(_kernelimage.read(kernels[second])))
            for spoil in (None, *SPOILED):
                window = _loadwindow.choose(RAM, _loadwindow.size(patched) + (8 << 20))
                words = [f"kuptest.window={window[0]:x}-{window[1]:x}", *([f"kuptest.spoil={spoil}"] if spoil else [])]
                said, console = machine.jump(
                    kernels[first],
                    patched,
                    init,
                    words,
                    memory_mb=MEMORY_MB,
                    modules=(modules[first], modules[second]),
                )
                found = list(refusal(said, SPOILED[spoil]) if spoil else problems(said))
                print(f"{first} -> {second}, {spoil or 'whole'}: {'; '.join(found) or 'passed'}", flush=True)
                print("\n".join(f"    {line}" for line in said["log"]), flush=True)
                if found:
                    print(console[-6000:])
                bad += bool(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
