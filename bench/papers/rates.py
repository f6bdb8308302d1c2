"""Requests a second before and after an event."""

from statistics import median

# What counts as recovered, and how many seconds after the return hits are counted.
RECOVERED, FIRST = 0.9, 30


def compare(seconds, begin, end, calm):
    """Return what an event did to the requests.

    :param seconds: list of [second of the monotonic clock, requests, hits], as the client counted them.
    :param begin: when the event began, and ``end``: when it was over for the one who ordered it.
    :param calm: seconds that were measured before it.

    ``prepared_share`` is the rate from its beginning to the silence, ``after_share`` that after its end, as a share of that before;
    ``recovered_s`` are the seconds from the beginning of the silence until it is almost as before.
    """
    series = {second: (requests, hits) for second, requests, hits in seconds}
    first, last, begun, over = min(series), max(series), int(begin), int(end) + 1

    def rates(start, stop):
        return [series.get(second, (0, 0))[0] for second in range(start, stop)]

    before = median(rates(max(first + 2, begun - calm), begun))
    counted = [second for second in range(begun, last) if series.get(second, (0, 0))[0]]
    # The longest time in which nothing was answered.
    pairs = zip(counted, counted[1:], strict=False)
    gap, back = max(((later - earlier, later) for earlier, later in pairs), default=(0, begun))
    after = rates(back, last)
    recovered = next(
        (place for place in range(len(after) - 2) if median(after[place : place + 3]) >= RECOVERED * before), None
    )
    window = [series.get(second, (0, 0)) for second in range(back, back + FIRST)]
    return {
        "before_per_s": before, "prepared_share": median(rates(begun, back - gap + 1)) / before, "silent_s": gap,
        "after_share": median(rates(over, last)) / before, "recovered_s": None if recovered is None else gap + recovered,
        "requests_lost": max(0, before * (last - begun) - sum(rates(begun, last))),
        "hits_share": sum(hits for _requests, hits in window) / max(1, sum(requests for requests, _hits in window)),
        "ended_s": end - begin, "series": [[second - begun, *series[second]] for second in sorted(series)],
    }  # fmt: skip
