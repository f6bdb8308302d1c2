"""Inject faults into updates of a virtual machine, and judge what came of each.

    python3 -m tests.faults.run [--minutes N] [--seed N] [--only TEXT] [--count N]    a slice: faults that have no result yet, at random
    python3 -m tests.faults.run --sample [--seed N] [--only TEXT] [--count N]         faults whose result was right, at random; no result is kept
    python3 -m tests.faults.run --table                                               write docs/faults.md from the results

Each result is appended to results.jsonl as soon as it is there, so a slice may be ended at any time. What must hold after every
fault is in `judge`.
"""

import argparse
import contextlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from lab.command import LabError, say
from lab.fleet import keep_consoles, lab_verb
from lab.paths import GUEST, REPO
from lab.rollout import Rollout
from lab.state import Lab
from tests.faults import cases, page

HERE = pathlib.Path(__file__).resolve().parent

NODE = "node1"
RESULTS = HERE / "results.jsonl"
THERE = "/root/faults"
EARLY = "/etc/systemd/system/kup-early.service.d"
FILES = (HERE / "node.py", HERE / "fault.sh", HERE / "flip.py", HERE / "hang.c", GUEST / "patterns.py")
# A node that has not come to an end after so many seconds is lost. The claim of a chain, a deadline: nothing takes longer.
PATIENCE = 1200
# What the record may say of the memory, and what it may be then. Of an update that was never complete it says nothing, and a power
# cut takes all, as it always did; what was lost since the freeze may be nothing.
TOLD = {"": ("running", "fresh"), "running": ("running",), "checkpoint": ("checkpoint", "running"), "fresh": ("fresh",)}
EVIDENCE = {
    "journal": "journalctl --no-pager --output=short-precise --since=-20min",
    "state": "grep -s '' /var/lib/kup/record /var/lib/kup/timeline; ls -lR /var/lib/kup/ /run/kup; systemctl status --no-pager 'kup*'",
}
# One login for all that is asked of one kernel: it costs seconds of an emulated processor.
SHARED = ("-o", "ControlMaster=auto", "-o", "ControlPersist=yes")
# How often the console is looked at for the moment to cut the power, in seconds, and how often a node that boots is asked.
GLANCE, PAUSE = 0.1, 1


class Lost(LabError):
    """The node does not come to an end."""


class Node:
    """The machine under test, by ssh."""

    def __init__(self, lab):
        self.lab, self.machine = lab, lab.machine(NODE)
        self.kernels = [lab.record["image"][f"kernel_{name}"] for name in ("from", "to")]

    def ssh(self, *command):
        """The argv of a command on the node."""
        program, *words = self.lab.ssh(self.machine, command)
        return [program, *SHARED, "-o", f"ControlPath={self.lab.state}/shared", *words]

    def run(self, command, text=None, check=True):
        done = subprocess.run(self.ssh(command), input=text, capture_output=True, text=True, check=False, timeout=600)
        if check and done.returncode:
            raise LabError(f"'{command}' ended with {done.returncode} on {NODE}: {done.stderr.strip()[-300:]}")
        return done

    def tool(self, *words, check=True):
        return self.run(" ".join(["python3", f"{THERE}/node.py", *words]), check=check)

    def waiting(self):
        """The process that waits for the end of the update, and prints where the node stands then; it fails with each kernel."""
        words = self.ssh(f"python3 {THERE}/node.py wait")
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def install(self):
        self.run(f"mkdir -p {THERE}")
        for path in FILES:
            self.run(f"cat >{THERE}/{path.name}", path.read_text(encoding="utf-8"))
        self.run(f"python3 {THERE}/patterns.py install")

    def build_hang(self, kernel):
        """Build the module that hangs, for a kernel whose headers are there for that of the product."""
        where = f"{THERE}/{kernel}"
        self.run(
            f"set -e; mkdir -p {where}; cd {where}; cp ../hang.c .; echo obj-m := hang.o >Kbuild; "
            f"[ -e hang.ko ] || make -s -C /lib/modules/{kernel}/build M={where}; ln -sf {where}/hang.ko .."
        )

    def prepare(self, engine, watch_interval=60):
        """Stage an update to the kernel that does not run; returns what there was before, once the last one had been tidied up."""
        found = json.loads(self.tool("prepare", engine, str(watch_interval)).stdout)
        self.kernels.sort(key=lambda kernel: kernel == found["kernel"])
        return found["facts"]

    def keep_evidence(self, place):
        """Copy what the machine says of the last update into a directory; it is about to be removed."""
        place.mkdir(exist_ok=True)
        for name, command in EVIDENCE.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                (place / name).write_text(self.run(command, check=False).stdout, encoding="utf-8")

    def power_cut(self):
        self.machine.kill()
        self.lab.start(self.machine)

    def has_said(self, words, since):
        """Whether the console has had these words since its position ``since``."""
        with self.machine.serial.open("rb") as stream:
            stream.seek(since)
            return words in stream.read()


def arm(node, case, seconds):
    """Have the fault strike: on this kernel beside the chain, or in the next one's boot."""
    word = node.kernels[0] if case.word == "OLD" else case.word
    command = f"/bin/bash {THERE}/fault.sh {case.point} {seconds:.2f} {case.fault} '{word}'"
    if case.fault == "hang":
        node.build_hang(node.kernels[1])
    node.run(f"rm -f {THERE}/fired {THERE}/second {THERE}/ballast {THERE}/check-fails; : >{THERE}/armed")
    if case.point == "boot" and case.fault == "cut":
        node.run("dmesg --console-level info")  # nobody but the kernel is there to say when
        return
    if case.point == "boot":
        line = f"/var/lib/kup/kernels/{node.kernels[1]}/cmdline"
        node.run(
            f"cp -p {line} {THERE}/cmdline; sed -i 's|$| {word}|' {line}; kexec --unload; echo {word} >{THERE}/fired; sync"
        )
        return
    if case.point in cases.OLD_KERNEL:
        node.run(f"systemctl reset-failed kup-fault 2>/dev/null; systemd-run --quiet --unit=kup-fault {command}")
        return
    release = node.kernels[1].split("+")[0]
    # What is to be killed is started by then, or later.
    beside = case.point not in cases.ORDER or case.fault in ("kill", "kill-line")
    node.run(
        # Not wanted by sysinit.target: restores go before all that is.
        f"cat >/etc/systemd/system/kup-fault.service; mkdir -p {EARLY}; "
        f"printf '[Unit]\nWants=kup-fault.service\n' >{EARLY}/fault.conf; systemctl daemon-reload",
        f"[Unit]\n{cases.ORDER.get(case.point, 'DefaultDependencies=no')}\nConditionPathExists={THERE}/armed\n"
        f"ConditionKernelVersion={release}*\n"
        # A restore takes all of the processor; what strikes in it must not wait for its end.
        f"[Service]\nType={'simple' if beside else 'oneshot'}\nCPUWeight=10000\nExecStart={command}\n",
    )


def disarm(node):
    line = f"/var/lib/kup/kernels/{node.kernels[1]}/cmdline"
    node.run(
        f"[ ! -e {THERE}/cmdline ] || mv {THERE}/cmdline {line}; rm -f {THERE}/armed {THERE}/ballast {THERE}/check-fails; systemctl stop kup-fault;"
        f" rm -rf /etc/systemd/system/kup-fault.service {EARLY}; systemctl daemon-reload;"
        " systemctl reset-failed",
        check=False,
    )


def cut_power(node, case, since, seconds):
    """Do so if the moment for it has come; returns whether it had."""
    asked = node.has_said(b"kup-fault: cut", since)
    leaving = case.point == "boot" and node.has_said(b"Starting new kernel", since)
    if leaving:
        time.sleep(seconds)
    if asked or leaving:
        node.power_cut()
    return asked or leaving


def settle(node, case, since, seconds):
    """Wait until the update has come to its end; commit it if it stands. Returns the last state, and whether the fault has struck."""
    until, state, cut = time.monotonic() + PATIENCE, None, False
    while time.monotonic() < until:
        with node.waiting() as waiting:
            while waiting.poll() is None and time.monotonic() < until:
                cut = cut or (case.fault == "cut" and cut_power(node, case, since, seconds))
                time.sleep(GLANCE)
            waiting.kill()
            said = waiting.stdout.read()
        if waiting.returncode:
            time.sleep(PAUSE)
            continue
        state = json.loads(said)
        asked = node.run(f"[ -e {THERE}/fired ] && echo yes || echo no", check=False)
        if asked.returncode:
            continue  # struck meanwhile
        fired = asked.stdout.strip() == "yes"
        if fired and case.fault == "cut" and not cut:
            time.sleep(PAUSE)  # the console will say so
            continue
        if case.fault in ("full", "readonly") and fired:
            # What a person would do about it; again, because it may be about to happen. Where files in use were deleted, the kernel
            # asks for a new start.
            mended = node.run(f"rm -f {THERE}/ballast; mount -o remount,rw / || echo refused", check=False)
            if "refused" in mended.stdout:
                node.power_cut()
                continue
        if state["phase"] != "probation" or not state["unfinished"]:
            return state, fired or cut
        # A node whose own checks fail, or that hangs, is to go back without being told to.
        if case.fault not in ("check", "hang") and (fired or case.point != "probation"):
            node.tool("commit", check=False)
        else:
            time.sleep(PAUSE)
    raise Lost(f"after {PATIENCE} s: {state}")


def judge(node, case, before, state):
    """What is wrong: sentences. Also what the application's memory turned out to be."""
    found = json.loads(node.run("python3 /usr/local/bin/patterns judge").stdout)
    wrong = []
    if state["unit"] != "active":
        wrong.append(f"the unit is {state['unit']}")
    if not found["whole"]:
        wrong.append(f"memory is not what it was: {found['wrong']}")
    ends = {"committed", "fell_back", "aborted", "failed"}
    # What never became a checkpoint may be called one yet, where nobody could write that down.
    if case.fault in ("cut", "full", "readonly"):
        ends.add("checkpointing")
    if state["phase"] not in ends:
        wrong.append(f"the record is in phase {state['phase']}")
    if found["data"] not in TOLD[state["data"]]:
        wrong.append(
            f"the memory is {found['data']}, the record says {state['data']!r} ({state['phase']}, {state['reason']})"
        )
    left = sorted(set(json.loads(node.tool("tidy").stdout)) ^ set(before))
    if left:
        wrong.append(f"not as before: {left}")
    return found["data"], wrong


@contextlib.contextmanager
def probing(node, seen):
    """Connect to the application all the time; afterwards the longest time without it, in seconds, is in the list SEEN."""
    argv = ["ip", "netns", "exec", node.lab.record["netns"], sys.executable, str(HERE / "prober.py")]
    with subprocess.Popen(
        [*argv, node.machine.node["address"], "7070"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as prober:
        try:
            yield
        finally:
            seen.append(float(prober.communicate()[0]))


def inject(node, case, seconds):
    """Run one update with the fault; returns its result."""
    before = node.prepare(case.engine, 3 if case.fault == "check" else 60)
    node.run("python3 /usr/local/bin/patterns mark")
    since = node.machine.serial.stat().st_size
    arm(node, case, seconds)
    outage = []
    with probing(node, outage):
        node.tool("switch")
        state, fired = settle(node, case, since, seconds)
    disarm(node)
    data, wrong = judge(node, case, before, state)
    if case.fault == "check" and "own checks failed" not in state["reason"]:
        wrong.append(f"it did not go back by itself: {state['phase']}, {state['reason']}")
    if case.fault == "crash" and (state["phase"], data) != ("fell_back", "fresh"):
        wrong.append("it did not go back, or the application did not crash")
    if case.fault == "hang" and "nobody committed" in state["reason"]:
        wrong.append("it did not hang, or no watchdog ended that")
    if case.fault == "second" and "refused" not in node.run(f"cat {THERE}/second", check=False).stdout:
        wrong.append("a second update was not refused")
    return {
        "seconds": round(seconds, 2), "fired": fired, "phase": state["phase"], "reason": state["reason"],
        "data": data, "wrong": wrong, "outage_s": outage[0],
    }  # fmt: skip


def usable(node, engine):
    """The outage of an update without a fault, in seconds.

    :raises Lost: it does not come to its end.
    """
    case, outage = cases.Case(engine, "none", "none"), []
    node.prepare(engine)
    with probing(node, outage):
        node.tool("switch")
        state, _fired = settle(node, case, 0, 0)
    if state["phase"] != "committed":
        raise Lost(f"an update without a fault ended in phase {state['phase']}: {state['reason']}")
    return outage[0]


def open_node(name, out):
    lab_verb("down", "--name", name)
    lab_verb("up", "--name", name, "--mem", 1536, "--module")
    lab = Lab(name)
    node = Node(lab)
    node.install()
    # The first one by Ansible: it installs what a node needs.
    variables = {
        "kup_kernel": node.kernels[1],
        "kup_engine": "ppp",
        "kup_units": ["patterns.service"],
        "kup_report_dir": str(out / "report"),
        **{name: [] for name in ("kup_gate_ports", "kup_gate_numbers", "kup_gate_commands")},
    }
    if Rollout(name, out / "rollout.log", variables).wait():
        raise LabError(f"The first rollout failed; see {out / 'rollout.log'}.")
    return node


def results():
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def keep(result):
    with RESULTS.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(result) + "\n")


def known():
    """Whether what came of it was right, by the name of each case with a result. One that came too late is tried again."""
    return {result["case"]: not result["wrong"] for result in results() if result["fired"]}


def wanted(args):
    was_right = known()
    if args.sample:
        # What has been right before is to stay so. None that takes a new machine.
        left = [case for case in cases.cases() if was_right.get(case.name) and case.fault not in cases.SPOILING]
    else:
        left = [case for case in cases.cases() if case.name not in was_right]
    left = [case for case in left if args.only in case.name]
    random.shuffle(left)
    if args.sample:
        # One of these each time: no other test has a node judge itself.
        watched = next((case for case in left if case.fault == "check"), None)
        left.sort(key=lambda case: case is not watched)
    return left[: args.count] if args.count else left


def run_slice(args):
    """Returns what must not have come of faults: sentences."""
    seed = args.seed if args.seed is not None else random.randrange(1 << 32)
    random.seed(seed)
    left, until, bad, node = wanted(args), time.monotonic() + 60 * args.minutes, [], None
    out = REPO / "build" / args.lab
    out.mkdir(parents=True, exist_ok=True)
    if args.sample and not left:
        raise LabError(f"There is nothing to draw from: expected faults in {RESULTS} whose result was right.")
    say(f"seed {seed}; {len(left)} faults to inject")
    try:
        for case in left:
            if time.monotonic() > until:
                break
            if not args.sample and case.name in known():
                continue  # by another slice meanwhile
            node = node or open_node(args.lab, out)
            seconds = random.uniform(0, cases.SPREAD.get(case.point, 0))
            say(f"{case.name}, {seconds:.2f} s")
            try:
                result = inject(node, case, seconds)
            except (LabError, subprocess.TimeoutExpired) as error:
                result = {"fired": True, "phase": "lost", "data": None, "wrong": [str(error)]}
            outcome = f"{case.name}: {result['phase']}, {result.get('data')}, {'; '.join(result['wrong']) or 'right'}"
            say(outcome)
            if not args.sample:
                keep({**case.as_dict(), **result, "seed": seed})
            if result["wrong"]:
                bad.append(f"{outcome} (seed {seed})")
                keep_consoles(args.lab, out)
                node.keep_evidence(out / case.name.replace(" ", "_").replace("/", "_"))
            if result["wrong"] or case.fault in cases.SPOILING:
                node = None  # the next one begins on a new machine
        if node:
            # Each fault's update was one on the node as the last fault had left it; this is one for the last.
            try:
                say(f"an update without a fault: nobody could connect for {usable(node, case.engine)} s")
            except (LabError, subprocess.TimeoutExpired) as error:
                bad.append(f"after {case.name}: {error}")
                say(bad[-1])
                if not args.sample:
                    keep({**case.as_dict(), **result, "wrong": [f"no further update: {error}"], "seed": seed})
    finally:
        lab_verb("down", "--name", args.lab)
    return bad


def main():
    parser = argparse.ArgumentParser(prog="python3 -m tests.faults.run", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=28, help="no fault begins later (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the order and of the moments (default: another one each time)")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults with this in their names")
    parser.add_argument("--sample", action="store_true", help="faults whose result was right; keep no result")
    parser.add_argument("--count", type=int, help="so many faults at most")
    parser.add_argument(
        "--lab",
        default="faults",
        metavar="NAME",
        help="the machine's; slices with other names run beside it (default: %(default)s)",
    )
    parser.add_argument("--table", action="store_true", help="write docs/faults.md and inject nothing")
    args = parser.parse_args()
    # Ended like this, too, or where the shell has made it deaf to SIGINT, it is to take its virtual machine along.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        if args.table:
            page.write(results())
            return 0
        bad = run_slice(args)
        # Once more at the end, which is what is kept of a long output.
        for outcome in bad:
            say(outcome)
        return 1 if bad else 0
    except LabError as error:
        sys.exit(f"faults: {error}")
    except KeyboardInterrupt:
        sys.exit("faults: interrupted")


if __name__ == "__main__":
    sys.exit(main())
