"""The page of a report as a browser shows it, from a file, without a network."""

import html
import re
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _report, _report_page

PATIENCE = 120  # seconds
EVIL = "<script>document.title = 'changed'; console.error('ran')</script><img src=x onerror=console.error('ran')>"
ALONE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,1600",
)  # fmt: skip


class Shown:
    """What the browser has made of the file: ``said`` (messages of its console), ``dom``, and its ``words`` without elements."""

    def __init__(self, path, *words):
        command = ["chromium", *ALONE, f"--user-data-dir={path.parent}/profile", *words, "--dump-dom", path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        self.said = re.findall(r"CONSOLE.*", done.stderr)
        self.dom = done.stdout
        text = re.sub(r"<style.*?</style>|<title.*?</title>", " ", self.dom, flags=re.DOTALL)
        self.words = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def report(*rows):
    about = {"run_id": "r1", "kernel": "7.2", "started": 1795635200.0}
    return _report_page.render(_report.close(_report.merge({}, rows, about), 1795635200.0 + 3725))


@pytest.fixture
def shown(tmp_path):
    def show(text, *words):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        return Shown(path, *words)

    return show


def test_an_error_would_be_noticed(shown):
    found = shown("<!DOCTYPE html><title>a</title><script>document.title = 'b'; nobody.knows()</script>")
    assert "<title>b</title>" in found.dom
    assert "nobody is not defined" in found.said[0]


def test_each_result_is_said_in_words_and_nothing_complains(shown):
    rows = [{"name": f"node-{result}", "result": result, "reason": "It is so."} for result in _report.RESULTS]
    found = shown(report(*rows))
    assert found.said == []
    # The closed report has no other results than these.
    for row in _report.close(_report.merge({}, rows, {"started": 1.0}), 2.0)["nodes"]:
        # A colour says nothing that the word beside it does not.
        assert re.search(rf"{row['name']} {row['result'].replace('_', '[ _]')}", found.words), row["name"]


def test_what_a_node_says_is_text(shown):
    found = shown(report({"name": EVIL, "result": "lost", "reason": EVIL}))
    assert found.said == []
    assert "<title>changed" not in found.dom
    assert "console.error('ran')" in found.words


def test_a_fleet_has_its_page(shown):
    found = shown(
        report(
            *(
                {"name": f"node{number:04}", "result": "committed", "outage_s": 20 + number % 7}
                for number in range(2000)
            )
        )
    )
    assert found.said == []
    assert found.words.count("committed") >= 2000
    assert "node1999" in found.words
