"""The picture in the README: it is what bench/timeline.py makes of the kept row."""

import json
import xml.etree.ElementTree as xml

import pytest

from bench import timeline


def test_the_picture_is_that_of_the_kept_row():
    assert timeline.PICTURE.read_text() == timeline.draw(json.loads(timeline.KEPT.read_text()))


def test_the_picture_is_well_formed():
    assert xml.fromstring(timeline.PICTURE.read_text()).tag.endswith("svg")


def test_a_report_without_a_switch_is_refused(tmp_path):
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"nodes": [{"name": "node1", "result": "failed"}]}))
    with pytest.raises(SystemExit, match=r"has no timeline of node1; give the report of an update"):
        timeline.keep(report, "node1")
