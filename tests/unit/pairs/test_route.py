"""Which pairs of kernels are tried, and in which order."""

import itertools

from tests.pairs import route

RELEASES = ["6.1.0-55-cloud-amd64", "6.1.0-56-cloud-amd64", "6.12.117+deb13-cloud-amd64", "7.2.12+deb13-cloud-amd64"]
OLD, FIRST, SECOND, THIRD = RELEASES


def test_neighbours_and_the_newest_of_each_series_are_tried_both_ways_and_each_kernel_to_the_newest():
    wanted = route.wanted(RELEASES)
    assert (OLD, FIRST) in wanted and (FIRST, OLD) in wanted
    assert set(itertools.permutations([FIRST, SECOND, THIRD], 2)) < set(wanted)
    assert (OLD, SECOND) not in wanted and (OLD, THIRD) in wanted
    assert len(wanted) == len(set(wanted)) == 9


def test_a_tour_tries_each_pair_once_and_installs_no_kernel_early():
    waiting, installed, current, made, installs = route.wanted(RELEASES), {SECOND, THIRD}, SECOND, [], []
    while (after := route.following(current, waiting, installed)) is not None:
        if after not in installed:
            installs.append(len(made))
            installed.add(after)
        made.append((current, after))
        waiting = [pair for pair in waiting if pair != made[-1]]
        current = after
    assert not waiting
    # Only the way to the pairs of the oldest kernel may lead over a pair again.
    assert len(made) <= 11
    assert installs[0] == 2


def test_the_way_to_what_is_left_leads_over_a_pair_that_has_a_result():
    assert route.following(SECOND, [(THIRD, FIRST)], {FIRST, SECOND, THIRD}) == THIRD
    assert route.following(SECOND, [(THIRD, FIRST)], {SECOND}) == THIRD


def test_a_tour_ends_when_nothing_is_left():
    assert route.following(SECOND, [], {SECOND}) is None
