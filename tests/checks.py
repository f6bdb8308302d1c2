"""Run the project's checks, time each one, and end with the line "N passed, N failed".

    checks.py --venv DIR [lint | unit | package | vm | NAME]...

NAME is one check: ruff, pytest, a scenario. Without a word: all parts. A check is one command; it has passed if its exit code is 0.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PARTS = ("lint", "unit", "package", "vm")
SLOW_STEPS = 20
# Run by their names only: together they would take an hour and a half more. update-12 drains, too, with the oldest CRIU; a fault of the
# sample has a node go back by its own checks; cases has panics of its own; rollouts in which a node or the controller is lost are among the
# unit tests, too.
ON_REQUEST = ("awx", "drain", "fleet", "frames", "gatefail", "lost", "panic", "rollout", "unitfail")

# Samples of `make torture` and of `make cases` (these all in one update), with a seed: what fails can be repeated. Slices try the others.
FAULTS, FAULTS_COUNT, FAULTS_SEED = "faults", 1, 1482476151
CASES, CASES_COUNT, CASES_SEED = "cases", 4, 2940382139

PYTEST = ("python", "-m", "pytest", "--durations=15", "--durations-min=3")
ROLLOUTS = ("tests/unit/rollout", "tests/unit/awx")

# How a failed step of a scenario begins its reason, and how much of the reason the summary repeats.
REASON = "fatal: "
REASON_LINES, REASON_COLUMNS = 16, 400

# The line that Ansible prints before each step of a scenario.
STEP = re.compile(r"^(?:TASK|RUNNING HANDLER) \[(.+)\] \*+")


@dataclass(frozen=True)
class Check:
    part: str
    name: str
    command: tuple[str, ...]
    # Seconds after which it is ended: a check that hangs must not take the others' time.
    limit: int = 600
    environment: dict[str, str] = field(default_factory=dict)
    # Run if the check was ended before it could clean up after itself.
    undo: tuple[str, ...] = ()
    # Virtual machines that it boots; each keeps one processor busy.
    nodes: int = 0

    @property
    def log(self) -> Path:
        return REPO / "build" / "logs" / f"{self.part}-{self.name}.log"


@dataclass(frozen=True)
class Step:
    scenario: str
    name: str
    seconds: float


@dataclass(frozen=True)
class Outcome:
    check: Check
    verdict: str
    seconds: float
    steps: list[Step]

    @property
    def passed(self) -> bool:
        return self.verdict == "ok"


class StepClock:
    """Times the steps of a scenario by the moments of its lines.

    Ansible prints a step's heading with its first result, so what passes before a heading is the new step's time.
    """

    def __init__(self, scenario: str):
        self.scenario = scenario
        self.steps: list[Step] = []
        self._name = ""
        self._since = self._said = time.monotonic()

    def read(self, line: str) -> None:
        heading = STEP.match(line)
        # A recap ends a playbook: what follows is not the last task's time.
        if heading or line.startswith("PLAY "):
            self._end(self._said)
        if heading:
            self._name, self._since = heading.group(1), self._said
        if line.strip():
            self._said = time.monotonic()

    def stop(self) -> None:
        self._end(time.monotonic())

    def _end(self, moment: float) -> None:
        if self._name:
            self.steps.append(Step(self.scenario, self._name, moment - self._since))
            self._name = ""


def scenarios() -> list[str]:
    return sorted(path.parent.name for path in REPO.glob("molecule/*/molecule.yml"))


def nodes_of(scenario: str) -> int:
    """Nodes of the scenario's lab, as its molecule.yml says."""
    text = (REPO / "molecule" / scenario / "molecule.yml").read_text()
    return int(re.search(r"^\s*lab_nodes: (\d+)$", text, re.MULTILINE)[1])


def checks(venv: Path) -> list[Check]:
    return [
        Check("lint", "ruff", ("ruff", "check", ".")),
        Check("lint", "ruff-format", ("ruff", "format", "--diff", ".")),
        Check("lint", "shellcheck", ("tests/shellcheck.sh",)),
        Check("lint", "units", ("python", "-m", "pytest", "tests/lint")),
        Check("lint", "yamllint", ("yamllint", "--strict", ".")),
        Check("lint", "ansible-lint", ("ansible-lint", "--offline")),
        Check("lint", "sanity", ("tests/sanity.sh", str(venv))),
        Check("lint", "reuse", ("reuse", "lint", "--quiet")),
        Check("lint", "changelog", ("tests/changelog.sh", "--check")),
        Check("lint", "variables", ("python", "tests/variables_table.py", "--check")),
        Check("lint", "refusals", ("python", "-m", "tests.refusals_table", "--check")),
        Check("unit", "paged", ("make", "-C", "files/paged", "check")),
        Check("unit", "environment", ("make", "-C", "files/environment", "check")),
        Check("unit", "fingerprint", ("make", "-C", "files/fingerprint", "check")),
        Check("package", "install-check", ("tests/install-check.sh",)),
        # Done while the other checks without a node run; a lab that needs an image of its own still builds it itself.
        Check("vm", "images", ("python", "tests/images.py")),
        # Half of the time of all unit tests: whole rollouts, of nodes that a table answers for.
        Check("unit", "rollouts", (*PYTEST, *ROLLOUTS), limit=1800),
        Check("unit", "pytest", (*PYTEST, "tests/unit", *(f"--ignore={path}" for path in ROLLOUTS)), limit=1800),
        Check(
            "vm",
            CASES,
            ("python", "-m", f"tests.{CASES}", "--sample", str(CASES_COUNT), "--seed", str(CASES_SEED), "--lab", CASES),
            limit=1200,
            undo=("python", "-m", "lab", "down", "--name", CASES),
            nodes=1,
        ),
        Check(
            "vm",
            FAULTS,
            (
                "python",
                "-m",
                f"tests.{FAULTS}.run",
                "--sample",
                "--count",
                str(FAULTS_COUNT),
                "--seed",
                str(FAULTS_SEED),
            ),
            limit=2400,
            undo=("python", "-m", "lab", "down", "--name", FAULTS),
            nodes=1,
        ),
        *(scenario_check(name) for name in scenarios()),
    ]


def scenario_check(name: str) -> Check:
    return Check(
        "vm",
        name,
        ("molecule", "test", "--scenario-name", name, "--destroy", "always"),
        limit=3000,
        environment={"MOLECULE_EPHEMERAL_DIRECTORY": str(REPO / "build" / "molecule" / name)},
        undo=("molecule", "destroy", "--scenario-name", name),
        nodes=nodes_of(name),
    )


def chosen(found: list[Check], words: list[str]) -> list[Check]:
    """The checks that the words name: those of a part, or one by its name; without a word all."""
    parts = [word for word in words if word in PARTS] if words else PARTS
    return [check for check in found if check.name in words or (check.part in parts and check.name not in ON_REQUEST)]


# Plain, unbuffered lines: a log keeps them, and StepClock reads them.
PLAIN_OUTPUT = {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "ANSIBLE_NOCOLOR": "1", "MOLECULE_COMMAND_BORDERS": "0"}


def environment_of(check: Check) -> dict[str, str]:
    return {**os.environ, **PLAIN_OUTPUT, **check.environment}


def end_group(process: subprocess.Popen[str]) -> None:
    """End the command and its descendants by SIGTERM, then by SIGKILL."""
    for sign, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue


# Set on an interrupt: the threads then end the commands that they run.
stopping = threading.Event()
running: set[subprocess.Popen[str]] = set()


def stop_all() -> None:
    stopping.set()
    for process in list(running):
        end_group(process)


def run(check: Check) -> Outcome:
    # Checks run in parallel: each line begins with its check.
    prefix = f"{check.name:<13} | "
    print(f"\n=== {check.part}: {check.name} ===", flush=True)
    check.log.parent.mkdir(parents=True, exist_ok=True)
    clock = StepClock(check.name)
    started = time.monotonic()
    timed_out = threading.Event()
    process = subprocess.Popen(
        check.command,
        cwd=REPO,
        env=environment_of(check),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A process group of its own, so that a timeout ends all of it.
        start_new_session=True,
    )

    def out_of_time() -> None:
        timed_out.set()
        end_group(process)

    running.add(process)
    timer = threading.Timer(check.limit, out_of_time)
    timer.start()
    finished = False
    try:
        with check.log.open("w") as log:
            for line in process.stdout or ():
                clock.read(line)
                log.write(line)
                sys.stdout.write(prefix + line)
                sys.stdout.flush()
        code = process.wait()
        finished = not timed_out.is_set() and not stopping.is_set()
    finally:
        running.discard(process)
        timer.cancel()
        clock.stop()
        if not finished:
            end_group(process)
            if check.undo:
                subprocess.run(check.undo, cwd=REPO, env=environment_of(check), check=False)

    if not finished:
        verdict = "interrupted" if stopping.is_set() else f"ended after {check.limit} s"
    elif code:
        verdict = f"exit code {code}"
    else:
        verdict = "ok"
    seconds = time.monotonic() - started
    print(f"--- {check.part}: {check.name}: {verdict}, {seconds:.1f} s", flush=True)
    return Outcome(check, verdict, seconds, clock.steps)


def run_all(wanted: list[Check]) -> list[Outcome]:
    """Run checks without a node in parallel, then those of many nodes in turn, then those of few in parallel.

    A node that shares a processor may take minutes to boot, so each has one for itself.
    """
    processors = os.cpu_count() or 1
    few = [check for check in wanted if 0 < 2 * check.nodes <= processors]
    nodeless = [check for check in wanted if not check.nodes]
    outcomes = run_together(nodeless, processors)
    outcomes += [run(check) for check in wanted if check.nodes and check not in few]
    return outcomes + run_together(few, processors // max((check.nodes for check in few), default=1))


def run_together(wanted: list[Check], lanes: int) -> list[Outcome]:
    """Run the checks in parallel, LANES at a time; those that take longest stand last in the list, and begin."""
    with ThreadPoolExecutor(lanes) as executor:
        pending = [executor.submit(run, check) for check in reversed(wanted)]
        try:
            return [future.result() for future in reversed(pending)]
        except BaseException:
            for future in pending:
                future.cancel()
            stop_all()
            raise


def reason(log: Path) -> list[str]:
    """The last output of a failed check: from its last failed step on, else its last lines.

    The summary repeats it, because often only the end of the output is kept.
    """
    lines = [line[:REASON_COLUMNS] for line in log.read_text(errors="replace").splitlines()]
    failed = max((number for number, line in enumerate(lines) if line.startswith(REASON)), default=None)
    if failed is None:
        return lines[-REASON_LINES:]
    heading = next((line for line in reversed(lines[:failed]) if STEP.match(line)), "")
    # The result's keys are sorted, and before its message is what was asked for.
    said = next((number for number in range(failed, len(lines)) if lines[number].startswith("    msg:")), failed + 1)
    return [heading, lines[failed], *lines[said : said + REASON_LINES]]


def consoles(scenario: str) -> list[str]:
    """The last lines of the consoles of a scenario's nodes: a kernel that does not answer any more has said why there."""
    found = sorted((REPO / "build" / "logs" / f"mol-{scenario}").glob("*.serial.log"))
    return [
        f"{path.stem}: {line[:REASON_COLUMNS]}"
        for path in found
        for line in path.read_text(errors="replace").splitlines()[-3:]
    ]


def report(outcomes: list[Outcome], wall: float) -> None:
    slow = sorted((step for outcome in outcomes for step in outcome.steps), key=lambda step: -step.seconds)
    if slow:
        print("\nSlow steps:")
        for step in slow[:SLOW_STEPS]:
            print(f"  {step.seconds:7.1f} s  {step.scenario:<16}  {step.name}")

    print("\nChecks:")
    for outcome in outcomes:
        check = outcome.check
        where = "" if outcome.passed else f"  (see {check.log.relative_to(REPO)})"
        print(f"  {outcome.seconds:7.1f} s  {check.part:<8}{check.name:<20}{outcome.verdict}{where}")
    print("\nParts:")
    for part in PARTS:
        times = [outcome.seconds for outcome in outcomes if outcome.check.part == part]
        if times:
            print(f"  {sum(times):7.1f} s  {part}")
    print(f"  {wall:7.1f} s  all, from beginning to end")

    for outcome in outcomes:
        if not outcome.passed:
            print(
                f"\nThe log of {outcome.check.name} says:",
                *reason(outcome.check.log),
                *consoles(outcome.check.name),
                sep="\n  ",
            )

    passed = sum(outcome.passed for outcome in outcomes)
    # Alone on its line: what runs CI reads it.
    print(f"\n{passed} passed, {len(outcomes) - passed} failed", flush=True)


def parse(arguments: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, required=True, help="where the Python tools are installed")
    parser.add_argument("words", nargs="*", metavar="WORD", help=f"{', '.join(PARTS)}, or the name of a check")
    options = parser.parse_args(list(arguments))
    known = [*PARTS, *(check.name for check in checks(options.venv))]
    for word in options.words:
        if word not in known:
            parser.error(f"the check is {word!r}, expected one of {', '.join(known)}")
    return options


def main() -> int:
    # SIGTERM must end the virtual machines, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(sys.argv[1:])
    began = time.monotonic()
    outcomes = run_all(chosen(checks(options.venv), options.words))
    report(outcomes, time.monotonic() - began)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("checks: interrupted")
