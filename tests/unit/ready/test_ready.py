# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings that remove blockers: which file gets which, what is taken back, and when services are started anew."""

import datetime
import pathlib
import re

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._ready import files, restarts, settings

REFUSALS = pathlib.Path(__file__).parents[3] / "docs/refusals.md"


def blocker(code, unit="a.service", sentence="It has PrivateUsers= and MPTCP."):
    return {"code": code, "unit": unit, "sentence": sentence}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """All files are below this directory; units have all that is asked for."""
    monkeypatch.setattr(files.units, "show", lambda unit, name: {name: "yes"})
    plain = settings.Setting.path
    monkeypatch.setattr(settings.Setting, "path", lambda each, unit: f"{tmp_path}{plain(each, unit)}")
    content = settings.content
    monkeypatch.setattr(settings, "content", lambda path, found: content(path.removeprefix(str(tmp_path)), found))
    return tmp_path


DROP_IN = "etc/systemd/system/{}.d/zz-kup-ready.conf"


def test_each_setting_is_for_a_blocker_that_there_is():
    refusals = REFUSALS.read_text(encoding="utf-8").partition("kup_ready")[0]
    known = set(re.findall(r"^\| `([\w-]+)` \|", refusals, re.MULTILINE))
    assert {each.code for each in settings.SETTINGS} <= known
    assert all(each.costs.endswith(".") for each in settings.SETTINGS)


def test_a_unit_gets_one_drop_in_with_all_that_it_needs(root):
    plan = files.present([blocker("user-namespace"), blocker("io-uring"), blocker("io-uring")])
    files.apply(plan.changes)
    text = (root / DROP_IN.format("a.service")).read_text()
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "[Service]",
        "PrivateUsers=no",
        "SystemCallFilter=~io_uring_setup:ENOSYS",
    ]
    assert plan.units == {"a.service": ["io-uring", "user-namespace"]}
    assert plan.left == []
    assert (root / DROP_IN.format("a.service")).stat().st_mode & 0o777 == 0o644


def test_what_was_set_before_stays(root):
    files.apply(files.present([blocker("io-uring")]).changes)
    files.apply(files.present([blocker("user-namespace")]).changes)
    text = (root / DROP_IN.format("a.service")).read_text()
    assert text.index("\nPrivateUsers=no\n") < text.index("\nSystemCallFilter=")
    assert files.present([blocker("io-uring")]).changes == []


def test_a_service_that_has_not_been_started_anew_needs_no_change_but_a_start(root):
    first = files.present([blocker("user-namespace")])
    files.apply(first.changes)
    again = files.present([blocker("user-namespace")])
    assert again.changes == []
    assert again.units == first.units


@pytest.mark.parametrize("value", ["no", "yes"])
def test_a_setting_is_made_only_where_it_is_the_cause(root, monkeypatch, value):
    monkeypatch.setattr(files.units, "show", lambda unit, name: {name: value})
    plan = files.present([blocker("user-namespace"), blocker("tracer")])
    assert plan.left == [blocker("user-namespace")] * (value == "no") + [blocker("tracer")]
    assert bool(plan.changes) == (value == "yes")


def test_a_ring_is_switched_off_by_its_descriptor_as_well(root):
    found = blocker(
        "anonymous-inode", sentence="descriptor 9 (anon_inode:[io_uring]) is of a kind that CRIU cannot dump"
    )
    assert files.present([found, blocker("anonymous-inode")]).left == [blocker("anonymous-inode")]


def test_another_protocol_is_not_multipath_tcp(root):
    assert files.present([blocker("socket-protocol", sentence="It is a socket of SCTP.")]).left


def test_snippets_of_programs_go_where_their_versions_are(root):
    for version in ("8.2", "8.4"):
        (root / f"etc/php/{version}/apache2/conf.d").mkdir(parents=True)
    (root / "etc/php/8.4/fpm/conf.d").mkdir(parents=True)
    blockers = [blocker("shared-code", f"{name}.service") for name in ("php8.4-fpm", "apache2", "other")]
    plan = files.present(blockers)
    files.apply(plan.changes)
    assert [change.path.removeprefix(f"{root}/etc/php/") for change in plan.changes] == [
        "8.2/apache2/conf.d/zz-kup-ready.ini",
        "8.4/apache2/conf.d/zz-kup-ready.ini",
        "8.4/fpm/conf.d/zz-kup-ready.ini",
    ]
    assert plan.left == [blockers[2]]
    text = (root / "etc/php/8.4/fpm/conf.d/zz-kup-ready.ini").read_text().splitlines()
    assert text[0].startswith("; kup_ready:")
    assert text[-1] == "opcache.jit_buffer_size=0"


def test_a_snippet_without_a_place_is_no_help(root):
    assert files.present([blocker("shared-code", "apache2.service")]).left


def test_what_was_set_is_taken_back(root):
    files.apply(files.present([blocker("user-namespace"), blocker("io-uring", "b.service")]).changes)
    plan = files.absent(["a.service", "c.service"])
    files.apply(plan.changes)
    assert not (root / DROP_IN.format("a.service")).exists()
    assert (root / DROP_IN.format("b.service")).exists()
    assert plan.units == {"a.service": []}


def test_a_file_of_somebody_else_is_left_alone(root):
    path = root / DROP_IN.format("a.service")
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\n")
    with pytest.raises(KupError, match=r"zz-kup-ready\.conf is not a file of kup_ready"):
        files.present([blocker("user-namespace")])
    assert files.absent(["a.service"]).changes == []


@pytest.mark.parametrize(
    ("window", "hour", "is_open"),
    [
        ("", 0, False),
        ("always", 0, True),
        ("02:00-04:30", 1, False),
        ("02:00-04:30", 2, True),
        ("Fri-Sat 22:00-02:00", 1, True),
        ("Sat 22:00-02:00", 1, False),
    ],
)
def test_services_are_started_anew_within_the_window(window, hour, is_open):
    saturday = datetime.datetime(2026, 11, 28, hour, 59)
    assert restarts.is_open(window, saturday.timestamp()) == is_open


def test_a_window_that_is_none_is_refused():
    with pytest.raises(KupError, match="kup_ready_window is neither empty nor 'always', but 'now', expected times"):
        restarts.is_open("now")


def test_a_service_that_does_not_start_is_named(monkeypatch):
    def run(words, **_more):
        if words[-1] == "b.service":
            raise KupError("it ended with 1")

    monkeypatch.setattr(restarts, "run", run)
    with pytest.raises(KupError, match=r"b\.service does not start with its new settings: it ended with 1"):
        restarts.restart(["a.service", "b.service"])
