"""What a case's result is, and which cases an update of several failed for. Pure."""

import re

from tests.cases.update import GOOD

RESULTS = ("right", "refused", "lost", "wrong")


def result(case, way, outcome):
    """Return (result, sentence) of CASE after it went the WAY in an update with this OUTCOME.

    lost: another process answers, or none. wrong: anything else that is not as before, an update that did not end as it should included.
    """
    if outcome.phase == "refused":
        return "refused", outcome.reason
    seen = outcome.seen[case.name]
    if not seen["answers"]:
        return "lost", seen["differences"][0]
    ended = "" if outcome.phase == GOOD[way] else f"the update ended as {outcome.phase}: {outcome.reason}"
    if not seen["same"]:
        if case.FRESH and case.unit in outcome.fresh:
            return "right", f"it started fresh, and the record says so: {outcome.reason}"
        said = f": {outcome.reason}" if not ended and _names(case, outcome.reason) else ""
        return "lost", f"its memory is lost{said}" + (f"; {ended}" if ended else "")
    differences = list(seen["differences"])
    knocks = outcome.knocks.get(case.name, {})
    if knocks.get("answered"):
        differences.append(f"a client outside was answered {knocks['answered']} times by port {case.FORBIDDEN}")
    if ended:
        differences.append(ended)
    return ("wrong" if differences else "right"), "; ".join(differences)


def refused(cases, blockers):
    """Return ({name of a case that preflight refuses: its sentence}, sentences that concern the node or its engine)."""
    sentences, others = {}, []
    for blocker in blockers:
        hit = [case for case in cases if blocker.get("unit") in case.units]
        for case in hit:
            sentences.setdefault(case.name, []).append(blocker["sentence"])
        if not hit and not blocker.get("engine"):
            others.append(blocker["sentence"])
    return {name: " ".join(found) for name, found in sentences.items()}, others


def culprits(cases, way, outcome):
    """Return those of CASES that the way was not good for by themselves: a list, empty if it was good or if nothing tells them apart.

    An update that did not end as it should spoils the results of all that were in it: what is known of the others is nothing.
    """
    if outcome.phase == GOOD[way]:
        return []
    named = [case for case in cases if _names(case, outcome.reason)]
    if named and outcome.phase in ("aborted", "refused"):
        return named
    spoilt = [case for case in cases if case.name in outcome.seen and not outcome.seen[case.name]["same"]]
    # Where all have lost their memory, it was not each one's own doing.
    return spoilt if 0 < len(spoilt) < len(cases) else named if len(named) < len(cases) else []


def _names(case, text):
    """Whether TEXT names the unit of CASE and not only one whose name begins so."""
    return re.search(rf"(?<![\w-]){re.escape(case.unit.removesuffix('.service'))}(?![\w-])", text) is not None


def groups(cases):
    """Return the CASES in lists that go in one update: those that go alone, and all others."""
    together = [case for case in cases if not case.ALONE]
    return ([together] if together else []) + [[case] for case in cases if case.ALONE]


def halves(cases):
    return [cases[: len(cases) // 2], cases[len(cases) // 2 :]]
