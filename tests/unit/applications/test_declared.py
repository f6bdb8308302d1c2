"""The declared applications are complete, and the page names each."""

import re

import pytest

from tests.applications import record
from tests.applications.declared import Application, names, packages

APPLICATIONS = [Application(name) for name in names()]


@pytest.mark.parametrize("application", APPLICATIONS, ids=names())
def test_an_application_is_whole(application):
    assert re.fullmatch(r"[A-Z0-9][^\n]*[^.\n]", application.says), "one line without a full stop"
    assert application.UNITS and all(unit.endswith(".service") for unit in application.UNITS)
    assert application.PACKAGES and callable(application.Client)


def test_no_two_share_a_port_a_unit_or_a_disk():
    for things in (
        [port for one in APPLICATIONS for port in one.PORTS],
        [unit for one in APPLICATIONS for unit in one.UNITS],
        [one.DATA for one in APPLICATIONS if one.DATA],
    ):
        assert len(set(things)) == len(things)
    assert sum(bool(one.DATA) for one in APPLICATIONS) == 1, "a node has one disk more"


def test_one_image_has_the_packages_of_all():
    assert {"mariadb-server", "redis-server", "memcached"} <= set(packages())
    assert packages() == sorted(set(packages()))


def test_the_page_has_a_row_for_each_result():
    row = {
        "application": "redis", "version": "8.0.2", "engine": "foam", "way": "update", "result": "lost",
        "sentence": "its memory | is <lost>", "commit": "1234",
    }  # fmt: skip
    page = record.page([row, {**row, "application": "forgotten"}], APPLICATIONS)
    assert "| redis | 8.0.2 |" in page and "| `foam` | update | **lost**: its memory \\| is &lt;lost> |" in page
    assert "forgotten" not in page
