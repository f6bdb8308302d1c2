"""Applications that go a way together, and what became of each."""

import os
import re

from lab.command import say
from lab.paths import REPO
from tests.applications import setting, wire
from tests.cases.machine import machine
from tests.cases.update import Updates

#: The steps of each way: an update that is kept, or one whose gate passes on the old kernel only.
WAYS = {"update": ("update",), "fallback": ("fallback",), "second": ("fallback", "second")}
GOOD = {"update": "committed", "fallback": "fell_back", "second": "committed"}
MEMORY = 2560
# All packages, and a kernel that is being built.
DISK = 16
# An emulated processor copies and restores the memory of databases, one after the other.
PATIENT = {"kup_freeze_max": 600, "kup_restore_timeout": 600, "kup_switch_timeout": 1800, "kup_commit_timeout": 1800}


def result(good, outcome, fresh, gone, differences):
    """Return (result, reason) of an application after an update.

    :param good: the phase in which an update ends that was good.
    :param outcome: of the whole update.
    :param fresh: those of its units that have started fresh, as the record says.
    :param gone: its processes that are no more.
    :param differences: what its client has found: sentences; None if its connection was lost.
    """
    if differences is None or fresh or gone:
        found = [f"{', '.join(fresh)} started fresh"] * bool(fresh) + [f"gone: {', '.join(gone)}"] * bool(gone)
        found += ["an open connection was lost"] if differences is None else differences
        return "lost", "; ".join([*found, outcome.reason] if outcome.reason else found)
    found = list(differences)
    if outcome.phase != good:
        found.append(f"the update ended as {outcome.phase}: {outcome.reason}")
    return ("wrong" if found else "right"), "; ".join(found)


def counts(fresh, gone, differences):
    """Return how much was lost (units that began anew, processes, the client's connections) and how much is wrong, as columns of a row."""
    return {"lost": len(fresh) + len(gone) + (differences is None), "wrong": len(differences or [])}


def compare(before, after, works):
    """Return (processes that are gone, sentences: what is not as it was) from what was seen of processes, by pid, and is now.

    :param works: regular expression for what the application's own work changes; empty: nothing.
    """
    gone, altered = [], []
    for pid, was in before.items():
        name, now = f"{''.join(was['Name'])} ({pid})", after.get(pid)
        if now is None or now["Name"] != was["Name"]:
            gone.append(name)
            continue
        for what in sorted({*was, *now}):
            if was.get(what) != now.get(what):
                altered.append(f"{name}: {what} is {now.get(what)!r}, was {was.get(what)!r}")
    return tuple([one for one in found if not works or not re.search(works, one)] for found in (gone, altered))


class Trip:
    """APPLICATIONS on a NODE, whose updates write to the directory OUT; NOTE: function that records a row."""

    def __init__(self, node, applications, engine, out, note):
        self._node, self._applications, self._engine, self._note = node, applications, engine, note
        self._updates = Updates(node, engine, out)
        self._clients = {}
        # The connections of each application's client.
        self._wires = {one.name: [] for one in applications}
        # Names of those that kup_ready has changed.
        self._made_ready = set()
        self._versions = {one.name: setting.version(node, one) for one in applications}
        #: Results that an application may not have: sentences.
        self.bad = []

    def make_ready(self):
        """Have the playbook kup_ready change what preflight refuses and a setting removes."""
        refused = {blocker.get("unit") for blocker in self._updates.blockers(self._units())}
        self._made_ready = {one.name for one in self._applications if refused & set(one.UNITS)}
        if self._made_ready:
            say(f"to be made ready: {', '.join(sorted(self._made_ready))}")
            self._updates.make_ready(self._units())

    def load(self):
        self._each(self._load)

    def _load(self, one):
        self._clients[one.name] = one.Client(lambda *words, **options: self._connect(one, *words, **options))
        say(f"{one.name} is loaded")

    def _each(self, act):
        """Have each application ``act``; one that cannot is left out, and is no result of the product."""
        for one in list(self._applications):
            try:
                act(one)
            except (OSError, ValueError) as error:
                self.bad.append(f"{one.name} cannot be tried: {error}")
                say(self.bad[-1])
                self._applications.remove(one)

    def _connect(self, application, port, datagrams=False):
        made = wire.connect(self._node.lab.record["netns"], (self._node.address, port), datagrams)
        if not datagrams:
            self._wires[application.name].append(made)
        return made

    def refuse(self, way):
        """Record which applications preflight refuses; return the sentences about the node itself."""
        blockers, others = self._updates.blockers(self._units()), []
        for blocker in blockers:
            if not any(blocker.get("unit") in one.UNITS for one in self._applications) and not blocker.get("engine"):
                others.append(blocker["sentence"])
        for one in list(self._applications):
            said = [blocker["sentence"] for blocker in blockers if blocker.get("unit") in one.UNITS]
            if said:
                self._record(one, way, "refused", " ".join(said))
                self._applications.remove(one)
        return others

    def _units(self):
        return [unit for one in self._applications for unit in one.UNITS]

    def go(self, step):
        """Take the applications one STEP; return whether the update ended as it should."""
        self._each(lambda one: self._clients[one.name].before())
        were, failed = setting.processes(self._node, self._applications), setting.failed_units(self._node)
        open_before = {
            one.name: [each for each in self._wires[one.name] if not each.reset()] for one in self._applications
        }
        gate = {"kup_gate_commands": [{"argv": ["sh", "-c", f"test $(uname -r) = {self._node.old}"]}]}
        said = self._updates.there(self._units(), {**PATIENT, **(gate if step == "fallback" else {})})
        self._node.settle()
        outcome = self._updates.outcome(said)
        say(f"{step}: {outcome.phase}{': ' if outcome.reason else ''}{outcome.reason}")
        are = setting.processes(self._node, self._applications)
        # An update must not cost other services of the node their start.
        self.bad += [f"{unit} has failed" for unit in setting.failed_units(self._node) - failed]
        for one in self._applications:
            if outcome.phase == "refused" and not any(unit in outcome.reason for unit in one.UNITS):
                self.bad.append(f"{one.name} was not tried, because others were refused")
                continue
            gone, altered = compare(were[one.name], are[one.name], one.WORKS)
            fresh = [unit for unit in outcome.fresh if unit in one.UNITS]
            found = self._after(one)
            seen = fresh, gone, None if found is None else found + altered
            connections = open_before[one.name]
            self._record(
                one,
                step,
                *result(GOOD[step], outcome, *seen),
                **counts(*seen),
                outage_s=said.get("outage_s"),
                connections_before=len(connections),
                connections_kept=sum(not each.reset() for each in connections) if found is not None else None,
            )
        return outcome.phase == GOOD[step]

    def _after(self, application):
        try:
            return self._clients[application.name].after()
        except OSError as error:
            say(f"{application.name}: {error}")
            return None
        except ValueError as error:
            return [f"its client was told: {error}"]

    def _record(self, application, way, result, reason, **more):
        say(f"{application.name}, {way}: {result}{': ' if reason else ''}{reason}")
        self._note(
            {
                "application": application.name, "version": self._versions[application.name], "release": self._node.release,
                "engine": self._engine, "settings": "ready" if application.name in self._made_ready else "stock", "way": way,
                "result": result, **more, "reason": reason,
            }
        )  # fmt: skip
        if result not in ("right", "refused"):
            self.bad.append(f"{application.name}, {self._engine}, {way}: {result}: {reason}")


def run(args, applications, others, packages, note):
    """Take APPLICATIONS the way of ARGS; return the bad results."""
    out = REPO / "build" / args.lab
    out.mkdir(parents=True, exist_ok=True)
    for one in applications:
        os.environ.update(one.LAB)
    # One image for both engines, with all packages: it is made once, and takes some minutes.
    wish = ("--release", args.release, "--disk", DISK, "--data", 2, "--packages", *packages, *args.node)
    with machine(args.lab, out, True, *wish, memory=args.mem) as node:
        try:
            node.install([])
            bad = setting.set_up(node, applications, others)
            trip = Trip(node, applications, args.engine, out, note)
            trip.bad += bad
            trip.make_ready()
            trip.load()
            others = trip.refuse(WAYS[args.way][0])
            trip.bad += [f"Preflight refuses the node: {sentence}" for sentence in others]
            if applications and not others:
                for step in WAYS[args.way]:
                    if not trip.go(step):
                        break
        finally:
            node.keep_evidence(out)
    return trip.bad
