"""A slice: cases carried in groups, each group by an update of its own machine; told apart where one spoils it."""

import time

from lab.command import LabError, say
from lab.paths import REPO
from tests.cases import choose, judge, record
from tests.cases.machine import machine
from tests.cases.update import GOOD, Carrier


class Slice:
    """ARGS: the options; NOTE: function that records a row."""

    def __init__(self, args, note):
        self._engine, self._way, self._lab, self._args = args.engine, args.way, args.lab, args
        self._note = note
        self._out = REPO / "build" / args.lab
        self._out.mkdir(parents=True, exist_ok=True)
        self._until = time.monotonic() + 60 * args.slice
        self._count = 0
        #: Results that a case may not have: sentences.
        self.bad = []

    def run(self, cases):
        """Run the CASES, as many as there is time for; return the bad results."""
        waiting = [cases] if self._args.together else judge.groups(cases)
        while waiting and time.monotonic() < self._until:
            waiting = self._carry(waiting[0]) + waiting[1:]
        if waiting:
            say(f"not run for lack of time: {', '.join(case.name for group in waiting for case in group)}")
        return self.bad

    def _carry(self, cases):
        """Carry CASES on a machine of their own; return the groups that have to go again."""
        self._count += 1
        place = self._out / str(self._count)
        place.mkdir(exist_ok=True)
        say(f"{self._way}, {self._engine}: {', '.join(case.name for case in cases)}")
        with machine(self._lab, place, self._engine == "ppp", *self._args.node) as node:
            node.install(cases)
            cases = self._started(node, cases)
            carrier = Carrier(node, self._engine, place)
            cases = self._not_refused(carrier, cases)
            if not cases:
                return []
            try:
                outcome = self._go(carrier, cases)
                again = self._settle(cases, outcome)
            finally:
                node.keep_evidence(place)
        return again

    def _go(self, carrier, cases):
        if self._way == "fallback":
            outcome = carrier.go("update", cases)
            if outcome.phase != GOOD["update"]:
                return outcome
            for case in cases:
                self._record(case, "update", *judge.result(case, "update", outcome))
            self._count_knocks("update", outcome)
        for number in range(self._args.updates):
            if number:
                carrier.turn()
            outcome = carrier.go(self._way, cases)
            self._count_knocks(self._way, outcome)
            if any(judge.result(case, self._way, outcome)[0] != "right" for case in cases):
                break
        return outcome

    def _count_knocks(self, way, outcome):
        for knocks in outcome.knocks.values():
            say(
                f"{way}: a client outside has tried a forbidden port {knocks['tried']} times: {knocks['answered']} answers"
            )
            if self._note is record.append:
                record.knocked(self._engine, way, knocks)

    def _started(self, node, cases):
        """Start the units; return the cases that are what they should be."""
        problems = node.tool("start", *(case.name for case in cases))
        for case in cases:
            if problems[case.name]:
                # Not a result of the product: nothing is recorded.
                self.bad.append(f"{case.name} cannot be tried: {problems[case.name]}")
                say(self.bad[-1])
        return [case for case in cases if not problems[case.name]]

    def _not_refused(self, carrier, cases):
        if not cases:
            return []
        sentences, others = judge.refused(cases, carrier.refusals(cases))
        if others:
            raise LabError(f"Preflight refuses the node of the cases: {' '.join(others)}")
        for case in cases:
            if case.name in sentences:
                self._record(case, self._way, "refused", sentences[case.name])
        return [case for case in cases if case.name not in sentences]

    def _settle(self, cases, outcome):
        """Record what is known; return groups of cases of which nothing is known yet."""
        if outcome.phase == GOOD[self._way] or len(cases) == 1:
            for case in cases:
                self._record(case, self._way, *judge.result(case, self._way, outcome))
            return []
        found = judge.culprits(cases, self._way, outcome)
        for case in found:
            self._record(case, self._way, *judge.result(case, self._way, outcome))
        rest = [case for case in cases if case not in found]
        return [rest] if found else judge.halves(rest)

    def _record(self, case, way, result, sentence):
        say(f"{case.name}, {way}: {result}{': ' if sentence else ''}{sentence}")
        row = {"case": case.name, "engine": self._engine, "way": way, "result": result, "sentence": sentence}
        self._note(row)
        if not choose.is_good(case, result, sentence):
            self.bad.append(f"{case.name}, {self._engine}, {way}: {result}: {sentence}")
