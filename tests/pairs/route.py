"""Which updates are to be tried, and which of them a node tries next. A pair is (release before, release after)."""

import itertools

from tests.kernels.packages import series


def wanted(releases):
    """Return all pairs to be tried of the RELEASES, which are given oldest first.

    Each kernel with the next one, both ways, as in a fleet that takes each update; each with the newest of all, as in one that has left
    out many; and the newest of each series with the newest of each other series.
    """
    newest = {series(release): release for release in releases}
    across = itertools.permutations(newest.values(), 2)
    both_ways = [pair for one, other in itertools.pairwise(releases) for pair in ((one, other), (other, one))]
    to_newest = [(release, releases[-1]) for release in releases[:-1]]
    return list(dict.fromkeys([*across, *both_ways, *to_newest]))


def following(current, waiting, installed):
    """Return the release to which a node that runs CURRENT goes next; None if nothing can be tried any more.

    :param waiting: pairs that have no result.
    :param installed: releases that the node has: another one costs time.

    Where nothing can be tried from CURRENT, the way to the next pair leads over one that has a result.
    """
    untried = [after for before, after in waiting if before == current]
    here = [release for release in untried if release in installed]
    starts = {before for before, after in waiting if before in installed and after in installed}
    if here:
        # A kernel from which no way leads on comes last.
        return max(here, key=lambda release: release in starts)
    if starts:
        return min(starts)
    if untried:
        return max(untried, key=lambda release: sum(release in pair for pair in waiting))
    others = [before for before, _after in waiting if before in installed]
    return (others or [before for before, _after in waiting] or [None])[0]
