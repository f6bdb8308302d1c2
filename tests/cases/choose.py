"""Which cases a slice runs. Pure."""


def _last(rows, engine, way):
    return {row["case"]: row for row in rows if (row["engine"], row["way"]) == (engine, way)}


def open_cases(cases, rows, engine, way, commit):
    """Return the CASES without a result on this COMMIT: first those whose last result was not right."""
    last = _last(rows, engine, way)
    left = [case for case in cases if last.get(case.name, {}).get("commit") != commit]
    return sorted(left, key=lambda case: last.get(case.name, {}).get("result") == "right")


def sample(cases, rows, engine, way, count, generator):
    """Return so many of the CASES whose last result was right and that go together and need no package, drawn by the GENERATOR."""
    last = _last(rows, engine, way)
    right = [
        case for case in cases if last.get(case.name, {}).get("result") == "right" and not (case.PACKAGES or case.ALONE)
    ]
    return generator.sample(right, min(count, len(right)))


def is_good(case, result, sentence, way=""):
    """Whether a result is one that the case may have. Without the checks of preflight, the refusal has the words of CRIU."""
    import re

    if way == "unseen":
        return result == "refused"
    return result == "right" or (
        result == "refused" and bool(case.REFUSAL) and re.search(case.REFUSAL, sentence) is not None
    )
