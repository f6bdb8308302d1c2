"""Phases and outage from events of one boot, of two boots with clocks that disagree, and of a switch given up."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import timeline

OLD = [("freeze", 100.0), ("dumped", 100.9), ("planned", 101.1)]
NEW = [
    ("kernel-start", 102.0),
    ("user-space", 103.5),
    ("held", 103.6),
    ("restore-start", 104.0),
    ("restore-end", 104.8),
    ("open", 104.85),
    ("restore-done", 106.0),
]


def events(boot, pairs, shift=0.0):
    return [{"event": event, "at": at + shift, "boot": boot} for event, at in pairs]


def by_time(*parts):
    return sorted(sum(parts, []), key=lambda event: event["at"])


def test_the_start_is_what_lies_between_the_old_kernel_and_the_restore():
    assert float(timeline.start(by_time(events("a", OLD), events("b", NEW)))) == pytest.approx(
        0.9 + 1.5 + 0.5, abs=0.05
    )
    assert timeline.start(events("a", OLD)) == ""


def test_phases_of_a_switch():
    found = timeline.phases(by_time(events("a", OLD), events("b", NEW)))
    expected = {"dump_s": 0.9, "kernel_s": 1.5, "early_boot_s": 0.5, "restore_s": 0.8, "open_s": 0.05}
    assert {phase: found[phase] for phase in expected} == pytest.approx(expected)


def test_the_phases_are_the_whole_outage():
    both = by_time(events("a", OLD), events("b", NEW))
    assert sum(timeline.phases(both).values()) == pytest.approx(timeline.outage(both))


def test_outage_ends_when_packets_flow():
    assert timeline.outage(by_time(events("a", OLD), events("b", NEW))) == pytest.approx(4.85)


def test_a_clock_that_begins_early_loses_no_event():
    early = timeline.phases(by_time(events("a", OLD), events("b", NEW, shift=-2.5)))
    assert early.keys() == timeline.phases(by_time(events("a", OLD), events("b", NEW))).keys()
    assert min(early.values()) == 0
    assert early["kernel_s"] == pytest.approx(1.5)


def test_the_last_switch_counts():
    back = events("b", OLD, 50) + events("c", NEW, 50.5)
    both = by_time(events("a", OLD), events("b", NEW), back)
    assert timeline.outage(both) == pytest.approx(5.35)


def test_a_switch_that_was_given_up():
    given_up = events("a", [("freeze", 100.0), ("given-up", 101.5)])
    assert timeline.outage(given_up) == 1.5
    assert timeline.phases(given_up) == {}


def test_packets_that_do_not_flow_yet():
    assert timeline.outage(events("a", OLD)) is None


def test_no_switch():
    assert timeline.phases([]) == {}
    assert timeline.outage([]) is None


def test_events_are_read_in_order_and_what_a_power_cut_has_torn_is_left_out(tmp_path, monkeypatch):
    boots = ["ea2c09a8-dee3-418a-9dc6-4750917c1293", "3706cd69-2f24-4815-8c00-c09fb8e679e7"]
    path = tmp_path / "timeline"
    path.write_text(
        f"freeze 1.5 {boots[0]}\ndumped 2.000000123 {boots[0]}\n"
        + "\0" * 60
        + f"open 9.25 {boots[1]}\nkexec 3.0 ea2c0\narr"
    )
    monkeypatch.setattr(timeline, "TIMELINE", str(path))
    monkeypatch.setattr(timeline, "RUN", str(tmp_path))
    assert timeline.events() == [
        {"event": "freeze", "at": 1.5, "boot": boots[0]},
        {"event": "dumped", "at": 2.000000123, "boot": boots[0]},
        {"event": "open", "at": 9.25, "boot": boots[1]},
    ]


def test_freezes_that_were_given_up_before_are_part_of_the_outage():
    before = events("a", [("freeze", 90.0), ("given-up", 91.25), ("freeze", 94.0), ("given-up", 94.5)])
    assert timeline.outage(by_time(before, events("a", OLD), events("b", NEW))) == pytest.approx(4.85 + 1.75)
    assert timeline.outage(before) == pytest.approx(1.75)
    # What the way there has cost is none of the way back.
    back = events("b", [("freeze", 200.0), ("dumped", 201.0)]), events("c", NEW, shift=100.0)
    assert timeline.outage(by_time(before, events("a", OLD), events("b", NEW), *back)) == pytest.approx(4.85)
