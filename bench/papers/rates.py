"""Requests a second before and after an event."""

from statistics import median

# What counts as recovered, and how many seconds after the return hits are counted.
RECOVERED, FIRST = 0.9, 30


def compare(seconds, begin, end, calm):
    """Return what an event did to the requests.

    :param seconds: list of [second of the monotonic clock, requests, hits], as the client counted them.
    :param begin: when the event began, and ``end``: when it was over for the one who ordered it.
    :param calm: seconds that were measured before it.
    """
    series = {second: (requests, hits) for second, requests, hits in seconds}
    first, last = min(series), max(series)
    before = median(series.get(second, (0, 0))[0] for second in range(int(begin) - calm + 2, int(begin)))
    counted = [second for second in range(int(begin), last) if series.get(second, (0, 0))[0]]
    # The longest time in which nothing was answered.
    gap, back = max(
        ((later - earlier, later) for earlier, later in zip(counted, counted[1:], strict=False)), default=(0, first)
    )
    after = [series.get(second, (0, 0))[0] for second in range(back, last)]
    recovered = next(
        (place for place in range(len(after) - 2) if median(after[place : place + 3]) >= RECOVERED * before), None
    )
    whole = range(int(begin), last)
    window = [series.get(second, (0, 0)) for second in range(back, back + FIRST)]
    return {
        "before_per_s": before, "after_share": median(after) / before, "silent_s": gap,
        "recovered_s": None if recovered is None else gap + recovered,
        "requests_lost": max(0, before * len(whole) - sum(series.get(second, (0, 0))[0] for second in whole)),
        "hits_share": sum(hits for _requests, hits in window) / max(1, sum(requests for requests, _hits in window)),
        "ended_s": end - begin, "series": [[second - int(begin), *series[second]] for second in sorted(series)],
    }  # fmt: skip
