"""What takes longer with more connections, processes and mappings of a unit, or more runs of its page frames.

    python3 -m bench.limits [--parts connections,processes,mappings,runs] [--turns 3] [--shrink 1]

The functions and programs of the real path, in the order of an update, on this machine: in namespaces of their own, without systemd and
without CRIU's own work. Each is measured in seconds of processor time, its own and that of the processes that it starts, so that other load
does not count; the median of the turns is taken. `held` is done while packets are held or the unit is frozen, `restore` in the next boot
before the application goes on, `serving` while it serves. Leaves build/bench/limits.json, and prints the table of docs/limits.md.

A part that grows in proportion has a growth of 1: seconds for each item at the largest number, by those at the second largest.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import types
from statistics import median

from lab import results
from lab.command import say
from lab.paths import COLLECTIONS, REPO

OUT = REPO / "build" / "bench"
HERE = REPO / "bench"
INSIDE = "KUP_BENCH_INSIDE"
SIZES = {
    "connections": (1_000, 10_000, 60_000),
    "processes": (100, 2_000),
    "mappings": (10_000, 1_000_000),
    "runs": (100_000, 4_000_000),
}
# Of a unit with that many connections; and with that many runs of frames.
PROCESSES = 20
TASKS = 2_000
SERVER, CLIENTS, FIRST = "10.64.0.1", "10.64.0.2", "10.128.0.1"


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.limits", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--parts", default=",".join(SIZES), help="(default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="of each measurement (default: %(default)s)")
    parser.add_argument("--shrink", type=int, default=1, help="divide all numbers by this, to try the bench")
    return parser.parse_args()


class Clock:
    """Measures what is done: name → when, and the seconds of each turn."""

    def __init__(self, turns):
        self.turns, self.found = turns, {}

    def measure(self, when, name, action):
        """Do ACTION in each turn; return what the last one returned."""
        seconds, returned = [], None
        for _turn in range(self.turns):
            begun = _processor_time()
            returned = action()
            seconds.append(round(_processor_time() - begun, 3))
        self.note(when, name, seconds)
        return returned

    def note(self, when, name, seconds):
        self.found[name] = {"when": when, "seconds": seconds}
        say(f"    {when}, {name}: {median(seconds):.3f} s")


def _processor_time():
    """Seconds of this process, and of those that it has started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


# ---- what is looked at ----


@contextlib.contextmanager
def crowd(*words, into=()):
    """Yield a started crowd.py and a function that reads its next line; it ends with the context."""
    command = [*into, sys.executable, str(HERE / "crowd.py"), *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, lambda: process.stdout.readline().split()
        finally:
            process.kill()


def _ip(text, into=()):
    subprocess.run([*into, "ip", "-batch", "-"], input=text, text=True, check=True)


@contextlib.contextmanager
def connected(number):
    """Yield the process ids of NUMBER connections."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as other:
        into = ["nsenter", "--target", str(other.pid), "--net", "--"]
        try:
            while os.readlink(f"/proc/{other.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                time.sleep(0.01)
            _ip(f"link set lo up\nlink add c0 type veth peer name c1\nlink set c1 netns {other.pid}\nlink set c0 up\n")
            _ip(f"address add {SERVER}/24 dev c0\nroute add 10.128.0.0/9 via {CLIENTS}\n")
            _ip(
                f"link set lo up\nlink set c1 up\naddress add {CLIENTS}/24 dev c1\nroute add local 10.128.0.0/9 dev lo\n",
                into,
            )
            for prefix in ([], into):
                settings = ["net.core.somaxconn=65535", "net.ipv4.tcp_max_syn_backlog=65535"]
                subprocess.run([*prefix, "sysctl", "--quiet", "--write", *settings], check=True)
            with crowd("connections", number, PROCESSES, FIRST) as (unit, line):
                line()  # it listens
                with crowd("peers", number, SERVER, FIRST, into=into):
                    pids = list(map(int, line()))
                    yield [unit.pid, *pids]
        finally:
            _ip("link delete c0\n")
            other.kill()


@contextlib.contextmanager
def alone(what, number):
    """Yield the process ids of that many processes, or of one with that many mappings."""
    with crowd(what, number) as (unit, line):
        pids = {unit.pid, *map(int, line())}
        yield sorted(pids)


# ---- what is measured ----


def unit_of(library, pids):
    """What the library needs of a unit of systemd."""
    one = types.SimpleNamespace(name="bench.service", main_pid=pids[0], cgroup="/bench", own_mounts=False)
    one.processes = [library.processes.Process(pid) for pid in pids]
    one.main = one.processes[0]
    return one


def look(library, clock, unit):
    """What is done with every unit while it serves, whatever it has most of."""
    library.attributes.PROGRAM = str(REPO / "files/fingerprint/fingerprint")
    clock.measure("serving", "examine the unit", lambda: _examine(library, unit))
    clock.measure("serving", "ask processes for attributes", lambda: library.attributes.ask(unit.processes))
    clock.measure("serving", "file systems in use", lambda: library.mounts.of_unit(unit))
    clock.measure("serving", "files in memory", lambda: library.run_files.find(unit))


def _examine(library, unit):
    return library.examination.examine(unit, library.seen.links([unit]), "4.2.1")


def freeze(library, clock, unit, folder):
    """What is done while the unit is frozen."""
    trees = {unit.name: unit.processes}
    sockets, _threads = clock.measure("held", "list sockets and threads", lambda: library.checkpoints.frozen(trees))
    # CRIU's images, of which there are none here, are its other source.
    outside = library.attributes._from_outside
    clock.measure("held", "list attributes of threads", lambda: list(outside(unit.processes)))
    pids = [str(each.pid) for each in unit.processes]
    program = str(REPO / "files/environment/environment")
    words = [program, "note-files", folder, "--unit", unit.name, *pids]
    clock.measure("held", "note files", lambda: subprocess.run(words, check=True))
    clock.measure("held", "look at descriptors again", lambda: _descriptors(library, unit))
    library.fingerprint._PROGRAM = str(REPO / "files/fingerprint/fingerprint")
    clock.measure("held", "record the fingerprint", lambda: library.fingerprint.record(trees, folder))
    return sockets


def _descriptors(library, unit):
    use, known = library.run_files._begin(unit), set()
    for process in unit.processes:
        library.run_files._of_process(process, {}, use, False, known)


def network(library, clock, sockets, folder):
    """What is done about the network: the network lock, the plan of the next boot, and what that does with it."""
    reach = library.network.Reach()
    clock.measure("serving", "ask for routes", lambda: library.network.Reach().look(sockets))
    reach.look(sockets)
    lock = library.network_lock
    clock.measure("held", "set the network lock", lambda: lock.apply(lock.ruleset(sockets)))
    lock.release()
    files = clock.measure("held", "plan the network", lambda: _plan_network(library, reach, sockets))
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as stream:
            stream.write(text)
    clock.measure("restore", "hold packets", lambda: subprocess.run(["nft", "-f", f"{folder}/lock"], check=True))
    lock.release()
    # Its owner would be the nft that ends here.
    clock.measure("restore", "hold packets, owned", lambda: subprocess.run(["nft", "-f", f"{folder}/held"], check=True))
    words = ["ip", "-batch", f"{folder}/routes"]
    clock.measure(
        "restore", "ask for routes again", lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    )


def _plan_network(library, reach, sockets):
    reach.look(sockets)
    reach.missing(sockets)
    lock = library.network_lock
    return {"lock": lock.ruleset(sockets), "held": lock.held_ruleset(sockets), "routes": reach.queries(sockets)}


def put_right(clock, unit, folder):
    """What the next boot does after the restore; nothing differs here."""
    words = [str(REPO / "files/fingerprint/fingerprint"), "put-right", f"{folder}/fingerprint-{unit.name}"]
    clock.measure("restore", "compare the fingerprint", lambda: subprocess.run(words, check=False))


def measure_unit(library, part, number, turns):
    clock = Clock(turns)
    started = connected(number) if part == "connections" else alone(part, number)
    with tempfile.TemporaryDirectory() as folder, started as pids:
        unit = unit_of(library, pids)
        look(library, clock, unit)
        sockets = freeze(library, clock, unit, folder)
        if part == "connections":
            network(library, clock, sockets, folder)
        put_right(clock, unit, folder)
    return clock.found


def measure_runs(number, turns):
    """As `measure_unit`, by the kernel module's own files on a memory of the bench's."""
    program = OUT / "runs"
    headers = [f"-I{REPO / folder}" for folder in ("tests/kmod/check", "files/kmod", "files/stub")]
    first = [
        word for name in ("bench/runs.h", "tests/kmod/check/linux/mm.h") for word in ("-include", str(REPO / name))
    ]
    sources = [HERE / "runs.c", *(REPO / "files/kmod" / name for name in ("layout.c", "check.c", "find.c"))]
    subprocess.run(["gcc", "-O2", "-D__KERNEL__", *first, *headers, "-o", program, *sources], check=True)
    said = [
        json.loads(
            subprocess.run([program, str(number), str(min(TASKS, number))], check=True, stdout=subprocess.PIPE).stdout
        )
        for _turn in range(turns)
    ]
    clock = Clock(turns)
    for name, when, title in (
        ("layout", "held", "lay the table out"),
        ("check", "restore", "check the table"),
        ("bind", "restore", "find each process's frames"),
    ):
        clock.note(when, title, [each[name] for each in said])
    return clock.found


def load_library():
    """The library, with what it would ask systemd answered."""
    sys.path.insert(0, str(COLLECTIONS))
    from ansible_collections.kup.fleet.plugins.module_utils._criu import examination, seen
    from ansible_collections.kup.fleet.plugins.module_utils._environment import attributes, mounts, run_files
    from ansible_collections.kup.fleet.plugins.module_utils._system import network, processes
    from ansible_collections.kup.fleet.plugins.module_utils._update import checkpoints, fingerprint, network_lock

    run_files.show = lambda _name, *properties: dict.fromkeys(properties, "")
    seen.outsiders = lambda _unit: ()  # the other processes of the bench
    return types.SimpleNamespace(
        examination=examination, seen=seen, attributes=attributes, mounts=mounts, run_files=run_files, network=network,
        processes=processes, checkpoints=checkpoints, fingerprint=fingerprint, network_lock=network_lock,
    )  # fmt: skip


def measure(args):
    library, found = load_library(), {}
    for part in args.parts.split(","):
        for number in SIZES[part]:
            number //= args.shrink
            say(f"{number} {part}")
            if part == "runs":
                found.setdefault(part, {})[str(number)] = measure_runs(number, args.turns)
            else:
                found.setdefault(part, {})[str(number)] = measure_unit(library, part, number, args.turns)
    return found


# ---- what is told ----


def table(found):
    """The figures as a table of Markdown, the parts one below the other."""
    rows = []
    for part, sizes in found.items():
        numbers = list(sizes)
        heads = [f"{int(number):,}" for number in numbers]
        rows += [f"| {part} | when | {' | '.join(heads)} | growth |", "| --- | --- |" + " --- |" * (len(numbers) + 1)]
        for name, last in sizes[numbers[-1]].items():
            seconds = [median(sizes[number][name]["seconds"]) for number in numbers]
            rows.append(
                f"| {name} | {last['when']} | {' | '.join(map('{:.2f} s'.format, seconds))} | {_growth(numbers, seconds)} |"
            )
        rows.append("")
    return "\n".join(rows)


def _growth(numbers, seconds):
    before, after = (one / int(number) for one, number in zip(seconds[-2:], numbers[-2:], strict=True))
    # Below that, what is measured is the start of a process.
    return f"{after / before:.1f}" if seconds[-2] >= 0.05 else "–"


def _run_inside():
    """Run the bench in namespaces of its own; only one setting of this machine is changed meanwhile."""
    setting = pathlib.Path("/proc/sys/vm/max_map_count")
    before = setting.read_text(encoding="ascii")
    setting.write_text(f"{2 * max(SIZES['mappings'])}\n", encoding="ascii")
    words = ["unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", sys.executable]
    words += ["-m", "bench.limits", *sys.argv[1:]]
    try:
        return subprocess.run(words, env={**os.environ, INSIDE: "1"}, check=False).returncode
    finally:
        setting.write_text(before, encoding="ascii")


def main():
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    if INSIDE not in os.environ:
        sys.exit(_run_inside())
    os.nice(19)
    path = OUT / "limits.json"
    before = os.getloadavg()[0]
    found = measure(args)
    kept = {
        "commit": results.commit(),
        "turns": args.turns,
        "processors": os.cpu_count(),
        "other_load": round(before, 1),
    }
    path.write_text(json.dumps({**kept, "parts": found}, indent=2) + "\n", encoding="utf-8")
    print(f"\n{table(found)}\n{path}, commit {kept['commit']}")


if __name__ == "__main__":
    main()
