"""The picture of an update: its steps from the last freeze on, as far as they are known."""

import json
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _outage_picture, _svg, _update_picture

KEPT = json.loads((Path(__file__).parents[3] / "bench/timeline.json").read_text())
OLD, NEW, BACK = "4c870929", "0e98664b", "f3a1"


def timeline(*rows):
    return [{"event": event, "at": 1000.0 + at, "boot": boot} for event, at, boot in rows]


SWITCH = (
    ("freeze", 20.0, OLD),
    ("dumped", 21.5, OLD),
    ("planned", 22.0, OLD),
    ("kernel-start", 23.0, NEW),
    ("user-space", 24.0, NEW),
    ("restore-start", 25.0, NEW),
    ("restore-start", 26.0, NEW),
    ("restore-end", 27.5, NEW),
    ("open", 28.0, NEW),
)


def names(found):
    return [(name, begin, end) for _kind, name, begin, end in found]


def steps(*rows):
    return names(_update_picture.steps(_update_picture.since_freeze(timeline(*rows))))


def test_times_count_from_the_last_freeze():
    given_up = (("freeze", 10.0, OLD), ("given-up", 11.0, OLD))
    events = _update_picture.since_freeze(timeline(*given_up, *SWITCH))
    assert events[:2] == [("freeze", 0.0), ("dumped", 1.5)]
    assert events[-1] == ("open", 8.0)


def test_a_clock_that_begins_a_second_early_is_no_time_before_the_freeze():
    early = timeline(("freeze", 20.0, OLD), ("dumped", 20.1, OLD), ("kernel-start", 19.6, NEW), ("open", 22.0, NEW))
    assert dict(_update_picture.since_freeze(early))["kernel-start"] == 0.0


def test_steps_of_a_switch():
    assert steps(*SWITCH, ("committed", 31.0, NEW)) == [
        ("freeze and dump", 0.0, 1.5),
        ("boot plan and record", 1.5, 2.0),
        ("kexec", 2.0, 3.0),
        ("kernel starts", 3.0, 4.0),
        ("early boot", 4.0, 5.0),
        ("restore", 5.0, 7.5),
        ("packets pass again", 7.5, 8.0),
        ("gate and commit", 8.0, 11.0),
    ]


def test_steps_of_a_way_back_after_a_restore_that_failed():
    failed = (("restore-failed", 26.0, NEW), ("kexec", 26.5, NEW))
    back = [(event, at + 4, BACK) for event, at, _boot in SWITCH[3:]]
    found = steps(*SWITCH[:3], *failed, *back)
    assert found[2:5] == [
        ("kernel whose restore fails", 2.0, 6.0),
        ("kexec back", 6.5, 7.0),
        ("kernel starts", 7.0, 8.0),
    ]


@pytest.mark.parametrize("count", range(1, len(SWITCH) + 1))
def test_a_switch_that_ends_anywhere_has_a_picture(count):
    picture, height = _update_picture.draw({"timeline": timeline(*SWITCH[:count])}, 24)
    text = picture.svg(_update_picture.WIDTH, height, "label")
    assert len(xml.fromstring(text)) == len(picture.parts)
    assert all(float(rect.get("width")) >= 1.5 for rect in xml.fromstring(text).iter("rect"))


@pytest.mark.parametrize(
    "given", [None, [], "freeze", [None], timeline(("dumped", 1.0, OLD)), [{"event": "freeze", "at": "1", "boot": ""}]]
)
def test_without_a_freeze_there_is_no_picture(given):
    assert _update_picture.draw({"timeline": given}, 24) is None


def test_words_are_escaped():
    row = {**KEPT, "kernel_before": "<b>", "kernel_after": "a&b"}
    picture, _height = _update_picture.draw(row, 24)
    assert "&lt;b&gt;" in "".join(picture.parts) and "<b>" not in "".join(picture.parts)
    assert 'aria-label="&lt;&quot;"' in picture.svg(1, 1, '<"')


def test_outages_that_are_none_are_left_out():
    rows = [{"outage_s": each} for each in (3, 1.5, None, "2", True, float("nan"), float("inf"), -1, 10**400)]
    assert _outage_picture.outages([*rows, {}]) == [1.5, 3.0]


def test_percentiles():
    found = list(range(1, 101))
    assert [_outage_picture.percentile(found, share) for share in (0.5, 0.95, 1)] == [50, 95, 100]
    assert _outage_picture.percentile([7], 0.5) == 7


@pytest.mark.parametrize("found", [[0.0], [0.2], [5.0, 5.0, 80.0], [1e6], list(range(2000))])
def test_the_bars_count_every_node(found):
    element = xml.fromstring(_outage_picture.draw(found))
    bars = list(element.iter("rect"))
    assert 1 <= len(bars) <= 21
    numbers = [int(text.text) for text in element.iter("text") if text.text.isdigit()]
    assert sum(numbers) == len(found)


@pytest.mark.parametrize(("step", "expected"), [(0.01, 0.1), (0.15, 0.2), (3, 5), (11, 20), (50, 50)])
def test_nice_steps(step, expected):
    assert _svg.nice(step) == pytest.approx(expected)
