"""Carry the units of several cases through one update, and say what became of it."""

import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field

from lab.command import LabError, say
from lab.paths import REPO
from lab.report import read_report
from lab.rollout import Rollout

HERE = "../tests/cases"
NOTHING = {name: [] for name in ("kup_gate_ports", "kup_gate_numbers", "kup_gate_commands")}
# An emulated processor copies and restores twenty Python programs, one after the other.
PATIENT = {
    "kup_rounds_max": 1,
    "kup_freeze_max": 300,
    "kup_restore_timeout": 240,
    "kup_switch_timeout": 600,
    "kup_commit_timeout": 900,
    # Each look takes such a processor for half of the default interval.
    "kup_watch_interval": 60,
}
# How an update ends that was good, by way.
GOOD = {"update": "committed", "fallback": "fell_back", "panic": "fell_back"}


@dataclass
class Outcome:
    """What became of one way that several cases went together."""

    #: Of the record; "refused" where the update never began to switch.
    phase: str
    reason: str = ""
    #: Units that the record says were started fresh
    fresh: list = field(default_factory=list)
    #: {case: {"answers", "same", "differences"}}, as guest/node.py judges it
    seen: dict = field(default_factory=dict)
    #: {case: {"tried", "answered"}: how often a client outside did what the node forbids}
    knocks: dict = field(default_factory=dict)


def all_units(cases):
    """Return the units that are carried of the CASES."""
    return [unit for case in cases for unit in case.units]


class Updates:
    """Updates of one NODE, with an ENGINE; logs go to the directory OUT."""

    def __init__(self, node, engine, out):
        self._node, self._engine, self._out = node, engine, out

    def _variables(self, units):
        return {
            "kup_kernel": self._node.new,
            "kup_engine": self._engine,
            "kup_units": units,
            "kup_report_dir": str(self._out / "report"),
            **NOTHING,
            **PATIENT,
        }

    def blockers(self, units):
        """Return preflight's blockers for the UNITS."""
        path = self._out / "blockers.json"
        path.unlink(missing_ok=True)
        variables = {**self._variables(units), "cases_blockers": str(path)}
        code = Rollout(self._node.lab.name, self._out / "preflight.log", variables, playbook=f"{HERE}/preflight").wait()
        if not path.exists():
            return [{"unit": "", "code": "broken", "sentence": f"preflight ended with {code}"}]
        return json.loads(path.read_text(encoding="utf-8"))

    def make_ready(self, units):
        """Run the playbook kup_ready for the UNITS."""
        variables = {**self._variables(units), "kup_ready_window": "always"}
        code = Rollout(self._node.lab.name, self._out / "ready.log", variables, playbook="kup_ready").wait()
        if code:
            raise LabError(f"kup_ready ended with {code}; see {self._out / 'ready.log'}.")

    def make_fit(self, units):
        """Run the playbook kup_ready if preflight refuses one of the UNITS."""
        if {blocker.get("unit") for blocker in self.blockers(units)} & set(units):
            self.make_ready(units)

    def there(self, units, more=None):
        """Update the node with MORE variables; return what the report says of it."""
        variables = {**self._variables(units), **(more or {})}
        for old in (self._out / "report").glob("*.json"):
            old.unlink()
        Rollout(self._node.lab.name, self._out / "update.log", variables).wait()
        report = read_report(self._out / "report")
        return report["nodes"][0] if report.get("nodes") else {"result": "failed", "reason": "there is no report"}

    def back(self):
        """Go back with the committed update; return what there is to say."""
        variables = {"kup_committed": True, "kup_switch_timeout": PATIENT["kup_switch_timeout"]}
        code = Rollout(self._node.lab.name, self._out / "fallback.log", variables, playbook="kup_fallback").wait()
        return {"reason": f"kup_fallback ended with {code}"} if code else {}

    def outcome(self, said, cases=()):
        """Return the Outcome for CASES of what was SAID of an update."""
        found = self._node.tool("judge", *(case.name for case in cases))
        phase, reason = found["phase"] or "refused", found["reason"] or said.get("reason", "")
        if said.get("result") == "failed" and phase not in ("failed", "fell_back", "aborted", "committed"):
            phase, reason = "refused", said.get("reason", "")
        return Outcome(phase, reason, found["fresh"], found["cases"])


class Carrier(Updates):
    """Takes cases through updates."""

    def refusals(self, cases):
        """Return preflight's blockers for the CASES."""
        return self.blockers(all_units(cases))

    def turn(self):
        """Let the next update lead to the other kernel."""
        self._node.turn()

    def blind(self, units, collection):
        """Update the UNITS by the COLLECTION of this folder, which has to refuse them."""
        variables = self._variables(units)
        code = Rollout(self._node.lab.name, self._out / "blind.log", variables, installed=collection).wait()
        if not code:
            raise LabError(f"An update of {', '.join(units)} was made, expected a refusal.")

    def go(self, way, cases):
        """Take the CASES the WAY; return its Outcome. The fallback follows an update that was committed."""
        more = {"kup_hooks": {"after_switch": str(REPO / "tests/cases/panic.yml")}} if way == "panic" else {}
        if len(cases) > 1:
            # One that cannot be restored must not keep the others from being judged.
            more["kup_on_unit_failure"] = "continue"
        with self._clients_outside(cases) as knocks:
            said = self.back() if way == "fallback" else self.there(all_units(cases), more)
            # The panic may be still to come.
            for _number in range(40 if way == "panic" else 1):
                if self._node.settle() != "probation":
                    break
                time.sleep(5)
            outcome = self.outcome(said, cases)
        outcome.knocks = knocks
        say(f"{way}: {outcome.phase}{': ' if outcome.reason else ''}{outcome.reason}")
        return outcome

    @contextlib.contextmanager
    def _clients_outside(self, cases):
        """Let clients outside try the ports that the node forbids; afterwards the yielded dict has what they say, by case."""
        clients, knocks = {}, {}
        for case in cases:
            if case.FORBIDDEN:
                argv = [
                    "ip",
                    "netns",
                    "exec",
                    self._node.lab.record["netns"],
                    sys.executable,
                    "-m",
                    "tests.cases.outside",
                ]
                clients[case.name] = subprocess.Popen(
                    [*argv, self._node.address, str(case.FORBIDDEN)],
                    cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
        try:
            yield knocks
        finally:
            for name, client in clients.items():
                said = client.communicate()[0]
                if not said:
                    raise LabError(
                        f"The client outside of {name} ended with {client.returncode}, and has counted nothing."
                    )
                knocks[name] = json.loads(said)
