"""`lab.load verify`: read every key over a new connection and compare the whole value with what it may be."""

from . import clock, meta, values
from .ledger import Ledger
from .pipeline import Pipeline

_EXAMPLES = 10


def verify(address, keys, size, timeout, ledger=None, until=None):
    """Compare all `keys` values of `size` bytes.

    `ledger` says which generations a key may hold (without one: generation 0), `until` (epoch seconds) from when on
    acknowledged writes may be missing. Return the verdict:
      {"host", "port", "keys_expected", "keys_lost", "keys_wrong", "keys_stale", "seconds", "verified_at",
       "writes_until", "examples": {"lost": [{"key", "expected", "found"}], "wrong": […], "stale": […]}}
    where stale keys (whole values of an older generation) are part of the wrong ones. LoadError when the node does not
    answer to the end.
    """
    ledger = ledger or Ledger()
    begin = clock.now()
    counts = {"lost": 0, "wrong": 0, "stale": 0}
    examples = {"lost": [], "wrong": [], "stale": []}
    with Pipeline(address, timeout) as pipeline:
        requests = (meta.read_request(values.key_name(number)) for number in range(keys))
        for number, (line, found) in enumerate(pipeline.exchange(requests, size)):
            allowed = ledger.allowed(number, until)
            for fault in _faults(number, line, found, allowed, size):
                counts[fault] += 1
                if len(examples[fault]) < _EXAMPLES:
                    examples[fault].append(_example(number, line, found, allowed, size))
    return {
        "host": address.host,
        "port": address.port,
        "keys_expected": keys,
        "keys_lost": counts["lost"],
        "keys_wrong": counts["wrong"],
        "keys_stale": counts["stale"],
        "seconds": round(clock.now() - begin, 3),
        "verified_at": clock.wall(clock.now()),
        "writes_until": until,
        "examples": examples,
    }


def _faults(number, line, found, allowed, size):
    """Return what is wrong with an answer: (), ("lost",), ("wrong",) or ("wrong", "stale")."""
    if found is None:
        return ("lost",) if line == meta.MISSING else ("wrong",)
    if any(found == values.value(number, generation, size) for generation in allowed):
        return ()
    whole = values.origin(found)
    if whole and whole[0] == number and whole[1] < allowed[0] and len(found) == size:
        return ("wrong", "stale")
    return ("wrong",)


def _example(number, line, found, allowed, size):
    if found is None:
        what = "no such key" if line == meta.MISSING else f"answer {line.decode('ascii', 'replace')!r}"
    else:
        what = values.describe(found, values.value(number, allowed[0], size))
    generations = f"generation {allowed[0]}" if len(allowed) == 1 else f"generations {allowed[0]} to {allowed[-1]}"
    return {"key": values.key_name(number), "expected": generations, "found": what}
