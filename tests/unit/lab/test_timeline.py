"""The picture in the README: it is what bench/timeline.py makes of the kept row, and it shows the last switch of a report."""

import json
import xml.etree.ElementTree as xml

import pytest

from bench import timeline

OLD, NEW = "4c870929-9cac-4740-8bdf-0e8e276e3eb1", "0e98664b-c1c3-4c71-8e18-1177100d4526"


def events(*rows):
    return [{"event": event, "at": at, "boot": boot} for event, at, boot in rows]


def test_the_picture_is_that_of_the_kept_row():
    assert timeline.PICTURE.read_text() == timeline.draw(json.loads(timeline.KEPT.read_text()))


def test_the_picture_is_well_formed():
    assert xml.fromstring(timeline.PICTURE.read_text()).tag.endswith("svg")


def test_times_count_from_the_last_freeze():
    given_up = events(("freeze", 10.0, OLD), ("given-up", 11.0, OLD))
    switch = events(
        ("freeze", 20.0, OLD),
        ("dumped", 21.5, OLD),
        ("restore-start", 25.0, NEW),
        ("restore-start", 26.0, NEW),
        ("open", 28.0, NEW),
    )
    assert timeline.seconds(given_up + switch) == {"freeze": 0.0, "dumped": 1.5, "restore-start": 5.0, "open": 8.0}


def test_a_clock_that_begins_a_second_early_is_no_time_before_the_freeze():
    early = events(("freeze", 20.0, OLD), ("dumped", 20.1, OLD), ("kernel-start", 19.6, NEW), ("open", 22.0, NEW))
    assert timeline.seconds(early)["kernel-start"] == 0.0


def test_a_report_without_a_switch_is_refused(tmp_path):
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"nodes": [{"name": "node1", "result": "failed"}]}))
    with pytest.raises(SystemExit, match=r"has no timeline of node1; give the report of an update"):
        timeline.keep(report, "node1")
