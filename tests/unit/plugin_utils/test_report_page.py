"""The page of a report: well formed, without anything from outside, and whatever a node says is text."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _report, _report_page

REPO = Path(__file__).parents[3]
KEPT = json.loads((REPO / "bench/timeline.json").read_text())
VOID = {"meta", "br", "rect", "line"}
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7 * 7 }}{% raw %}&amp;\u202e\x00\x1b[2J</title>"
ROW = {
    **KEPT,
    "name": "node1",
    "result": "committed",
    "reason": "",
    "fresh_units": [],
    "phases": {"dump_s": 4.333, "early_boot_s": 3.03},
    "numbers": {"curr_items": {"before": 1000, "now": 998}},
}
ABOUT = {"run_id": "r1", "kernel": "7.2", "started": 1795635200.0}


class Page(HTMLParser):
    """What a page has; fails where an element is not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.text.append(" ")
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), tag
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    def count(self, tag):
        return sum(each == tag for each, _attributes in self.elements)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def page_of(*rows, **about):
    report = _report.close(_report.merge({}, rows, {**ABOUT, **about}), 1795635200.0 + 3725)
    return _report_page.render(report)


def test_it_says_what_became_of_the_rollout():
    words = Page(
        page_of(ROW, {"name": "node2", "result": "lost", "reason": "No route to host"}, reason="node2 failed")
    ).words
    for expected in (
        "Rollout r1: partial",
        "reason node2 failed",
        "kernels 6.12.118+deb13-cloud-amd64 → 7.2.12+deb13-cloud-amd64 (1 node)",
        "started 2026-11-25 19:33:20 UTC",
        "duration 1 h 2 min",
        "nodes 2: 1 committed, 1 lost",
        "Median: 32.5 s. 95 % of the nodes: 32.5 s. Longest: 32.5 s.",
        "node1 committed, outage 32.5 s",
        "dump 4.33 s, early boot 3.03 s",
        "curr_items 1000 998",
        "6 restore 10.3 s",
        f"lost 1 {_report.RESULTS['lost']} {_report.ADVICE['lost']} node2",
        f"No route to host {_report.ADVICE['lost']}",
    ):
        assert expected in words, expected
    assert "lost their state, and were" not in words


def test_lost_state_is_said_before_the_nodes():
    row = {"name": "node3", "result": "partial", "fresh_units": ["a.service", "b.service"], "reason": "bad size"}
    assert (
        "Lost state These services lost their state, and were started fresh. node services reason node3 a.service, b.service bad size"
        in (Page(page_of(ROW, row)).words)
    )


@pytest.mark.parametrize("count", [0, 1, 12])
def test_it_is_well_formed_and_complete(count):
    page = Page(page_of(*({**ROW, "name": f"node{number}"} for number in range(count))))
    assert page.elements[0][0] == "html"
    assert page.count("details") == count
    assert page.count("svg") == count + (count > 0)
    ids = [attributes["id"] for _tag, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids) == 2 * count
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_nodes_of_a_result_that_are_many_are_folded():
    page = Page(page_of(*({"name": f"node{number}", "result": "lost"} for number in range(11))))
    assert page.count("details") == 1
    assert "node10" in page.words


def test_nothing_comes_from_outside_and_nothing_runs():
    text = page_of(ROW)
    page = Page(text)
    assert {tag for tag, _attributes in page.elements} & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "form",
        "base",
    } == set()
    for _tag, attributes in page.elements:
        assert not {"src", "style", "action", "xlink:href"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:", text)
    assert "default-src 'none'" in text


JUDGED = {
    "name": "errors",
    "verdict": "high",
    "control": "others",
    "confidence": 0.98,
    "median": 5.123,
    "median_control": 1.0,
    "estimate": 4.1,
    "low": 3.9,
    "high": 4.3,
    "p": 4.2e-6,
    "samples": [5.0, 5.123, 5.3, 5.2, 4.9],
    "samples_control": [1.0, 0.9, 1.1, 1.0, 1.2],
}


def test_a_judgement_has_its_numbers_and_a_picture():
    unknown = {
        **dict.fromkeys(JUDGED),
        "name": "waits",
        "verdict": "unknown",
        "control": "before",
        "samples": [],
        "samples_control": [1.0],
    }
    page = Page(page_of(judged=[JUDGED, {**JUDGED, "verdict": "pass", "control": "before"}, unknown]))
    for expected in (
        "errors: worse: higher Median 5.123; not updated yet: 1. Shift 4.1, interval 3.9 to 4.3, p 4.2e-06.",
        "errors: no worse Median 5.123; before the update: 1. Shift 4.1",
        "waits: too few values, and optional Nodes",
    ):
        assert expected in page.words, (expected, page.words)
    assert page.count("svg") == 2
    # Of each picture: five strokes and a median in each of two rows, and the scale.
    assert page.count("line") == 2 * (2 * 6 + 1)
    assert "Judgement" not in Page(page_of(ROW)).words


@pytest.mark.parametrize(
    ("values", "control"), [([1.0], [1.0]), ([0.0] * 9, [0.0] * 9), ([-5.0, 1e299], [0.0]), ([1e16], [1e16 + 2])]
)
def test_a_picture_has_room_for_any_numbers(values, control):
    text = page_of(judged=[{**JUDGED, "samples": values, "samples_control": control}])
    (places,) = [re.findall(r'x1="([^"]*)"', text)]
    assert len(places) == len(values) + len(control) + 3
    assert all(0 <= float(place) <= 880 for place in places)


def evil_row():
    """A row in which all that can be text is hostile."""
    boots = [{**event, "boot": EVIL} for event in KEPT["timeline"]]
    return {
        "name": EVIL,
        "result": "partial",
        "reason": EVIL,
        "engine": EVIL,
        "engine_reasons": [EVIL],
        "kernel_before": EVIL,
        "kernel_after": EVIL + "2",
        "fresh_units": [EVIL],
        "outage_s": 3.0,
        "phases": {EVIL: 1.0},
        "numbers": {EVIL: {"before": EVIL, "now": EVIL}},
        "timeline": [*boots, {"event": EVIL, "at": boots[0]["at"], "boot": EVIL}],
    }


def test_whatever_a_node_says_is_text():
    judged = {**JUDGED, "name": EVIL, "verdict": EVIL, "control": EVIL, "median": EVIL}
    text = page_of(evil_row(), run_id=EVIL, kernel=EVIL, reason=EVIL, judged=[judged])
    page, tame_text = Page(text), "x" * len(_report_page.shown(EVIL))
    row = json.loads(json.dumps(evil_row()).replace(json.dumps(EVIL)[1:-1], tame_text))
    judged = json.loads(json.dumps(judged).replace(json.dumps(EVIL)[1:-1], tame_text))
    tame = Page(page_of(row, run_id=tame_text, kernel=tame_text, reason=tame_text, judged=[judged]))
    assert [tag for tag, _attributes in page.elements] == [tag for tag, _attributes in tame.elements]
    shown = _report_page.shown(EVIL)
    assert shown in page.words
    assert "{{ 7 * 7 }}" in page.words and "49" not in page.words
    assert "\\u{202e}\\u{0}\\u{1b}[2J" in page.words
    assert not {"\u202e", "\0", "\x1b"} & set(text)
    assert text.count(html.escape(EVIL[:25])) + text.count("&lt;script&gt;") > 10


WEIRD = [
    None,
    "",
    "x",
    [],
    {},
    [1],
    [[]],
    {"a": 1},
    {"": {}},
    True,
    -1,
    10**300,
    10**2000,
    1e308,
    float("nan"),
    float("inf"),
    ["\ud800"],
]


@pytest.mark.parametrize("value", WEIRD, ids=lambda value: f"{type(value).__name__}-{str(value)[:9]}")
def test_no_value_of_a_row_breaks_the_page(value):
    for key in ROW.keys() - {"name", "result"}:
        Page(page_of({**ROW, key: value}))
    for key in ("event", "at", "boot"):
        Page(page_of({**ROW, "timeline": [{**event, key: value} for event in KEPT["timeline"]]}))
        Page(page_of({**ROW, "timeline": [*KEPT["timeline"], {**KEPT["timeline"][0], key: value}, value]}))
    Page(page_of({**ROW, "numbers": {"n": value, "m": {"before": value}}, "phases": {"dump_s": value}}))
    for key in ("kernel", "reason", "failed", "unreachable"):
        Page(page_of(ROW, **{key: value}))
    Page(_report_page.render({"nodes": [ROW], "rollout": {**ABOUT, "judged": value}}))
    for key in JUDGED:
        Page(page_of(judged=[value, {**JUDGED, key: value}, {**JUDGED, "samples": [value, 1.0]}]))


def test_long_values_are_cut():
    text = page_of(
        {
            **ROW,
            "reason": "x" * 10**6,
            "fresh_units": ["u.service"] * 10**5,
            "numbers": {f"n{i}": {} for i in range(10**4)},
        }
    )
    assert len(text) < 200_000


def test_a_node_adds_some_kilobytes():
    rows = [{**ROW, "name": f"node{number}", "outage_s": 1.0 + number % 50} for number in range(300)]
    text = page_of(*rows)
    assert len(text) < 300 * 6000
    assert "Median: <strong>25.0 s</strong>" in text


def test_the_page_can_be_written(tmp_path):
    """Names of units may hold bytes that are no UTF-8."""
    text = page_of({**ROW, "fresh_units": ["a\udcff.service"]})
    (tmp_path / "page").write_text(text, encoding="utf-8")
    assert "a\\u{dcff}.service" in text
