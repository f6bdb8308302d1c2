"""The faults of a slice, at random: those without a result yet, or a sample of those whose result was right."""

import pathlib
import random

from lab import results
from tests.faults import cases

RESULTS = pathlib.Path(__file__).resolve().parent / "results.jsonl"


def known():
    """Return {name of a case: whether its last result was right}. A fault that came too late counts as not tried."""
    return {row["case"]: not row["wrong"] for row in results.read(RESULTS) if row["fired"]}


def chosen(only, count, sample):
    """Return the cases to inject, in random order.

    :param only: text that their names have.
    :param count: how many at most, None for all.
    :param sample: cases with patterns.service alone whose result was right, none of which spoils the machine; else cases without a result.
    """
    was_right = known()
    if sample:
        left = [
            case
            for case in cases.cases()
            if was_right.get(case.name) and case.fault not in cases.SPOILING and not case.victim
        ]
    else:
        left = [case for case in cases.cases() if case.name not in was_right]
    left = [case for case in left if only in case.name]
    random.shuffle(left)
    # Another application is another node.
    first = {case.victim: place for place, case in reversed(list(enumerate(left)))}
    left.sort(key=lambda case: first[case.victim])
    if sample:
        # A failing check comes first: no other test has a node judge itself.
        watched = next((case for case in left if case.fault == "check"), None)
        left.sort(key=lambda case: case is not watched)
    return left[:count] if count else left
