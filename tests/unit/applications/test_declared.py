"""The declared applications are complete, and the page names each."""

import re

import pytest

from tests.applications import record
from tests.applications.declared import Application, names, packages

APPLICATIONS = [Application(name) for name in names("13")]


@pytest.mark.parametrize("application", APPLICATIONS, ids=names("13"))
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
    assert {"mariadb-server", "redis-server", "memcached"} <= set(packages(APPLICATIONS))
    assert packages(APPLICATIONS) == sorted(set(packages(APPLICATIONS)))


@pytest.mark.parametrize("release", ["12", "13"])
def test_each_release_has_its_own_versions(release):
    database = Application("postgresql", release)
    number = {"12": "15", "13": "17"}[release]
    assert (f"postgresql@{number}-main.service",) == database.UNITS and f"postgresql-{number}" in packages([database])
    assert f"/etc/postgresql/{number}/main/conf.d/node.conf" in database.FILES and f"/{number}/main/" in database.SETUP
    for one in (Application(name, release) for name in names(release)):
        texts = [*one.UNITS, *one.PACKAGES, *one.FILES, *one.FILES.values(), one.SETUP, one.AFTER]
        assert not [text for text in texts if "@VERSION@" in text], one.name


def test_most_used_applications_are_tried_on_the_release_before():
    assert {"memcached", "redis", "nginx", "mariadb", "postgresql"} <= set(names("12")) < set(names())


def test_the_page_has_a_row_for_each_result():
    row = {
        "application": "redis", "version": "8.0.2", "release": "13", "engine": "foam", "way": "update", "result": "lost", "lost": 1, "wrong": 0,
        "outage_s": 21.04, "connections_before": 2, "connections_kept": None, "reason": "its memory | is <lost>", "commit": "1234",
    }  # fmt: skip
    page = record.page([row, {**row, "application": "forgotten"}], APPLICATIONS)
    assert "| redis | 8.0.2 | 13 |" in page
    assert "| `foam` | update | **lost**: its memory \\| is &lt;lost> | 1 | 0 | 21.0 s | ? of 2 |" in page
    assert "| redis |" in page.split("| application | version |")[0], "it is said once what it has in memory"
    assert "forgotten" not in page
