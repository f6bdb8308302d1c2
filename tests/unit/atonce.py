"""Several slow things at once: most of them wait, or leave one of two processors idle."""

from concurrent.futures import ThreadPoolExecutor


def each(act, cases, workers=2):
    """Dict case → what ``act`` returns of it."""
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(cases, pool.map(act, cases), strict=True))
