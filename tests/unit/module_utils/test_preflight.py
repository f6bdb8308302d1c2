"""What no boot could restore is refused before anything is done."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import preflight


class Unit:
    """A unit as systemd would describe it."""

    rss = shmem = 0
    processes = ()
    active = False
    main_pid = 0

    def __init__(self, name, known_as=None):
        self.name = name
        self.properties = {"LoadState": "loaded", "ActiveState": "inactive", "Id": known_as or name}


def problems(monkeypatch, *words):
    monkeypatch.setattr(preflight, "Unit", lambda name: Unit(name, *words[1:]))
    return preflight.judge_unit(words[0])["problems"]


def test_another_name_of_a_unit_is_refused(monkeypatch):
    (sentence,) = problems(monkeypatch, "redis.service", "redis-server.service")
    assert "redis.service is another name of redis-server.service" in sentence


def test_a_name_that_a_unit_file_would_change_is_refused(monkeypatch):
    (sentence,) = problems(monkeypatch, r"cache@a\x2db.service")
    assert "has a backslash in its name" in sentence
    (sentence,) = problems(monkeypatch, "cache@a-b.service")
    assert "is inactive" in sentence


@pytest.mark.parametrize("images", ["images", "/srv/check points", "/srv/100%", "/srv/a\\b", '/srv/"a"', "/srv/$a"])
def test_a_directory_that_a_unit_file_would_change_is_refused(images):
    with pytest.raises(KupError, match="expected an absolute path without"):
        preflight.examine("7.2", ["memcached.service"], images, "auto", "none", "run")


def test_a_socket_has_a_short_path():
    images = "/var/lib/kup/images"
    fits = "a" * (107 - len(images) - len("/20261125T104210/10-/lazy-pages.socket"))
    assert preflight._long_path(images, fits) is None
    assert "would have 108 characters, expected at most 107" in preflight._long_path(images, fits + "a")
