# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock of a fleet: one run has it, whoever else asks, and a dead run's is taken over by one."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import tempfile

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _lock

NOW = 1_800_000_000.0
RACES = 200


def lock(run_id, now=NOW, ttl=100):
    return _lock.Lock("me@controller", run_id, since=now, renewed=now, ttl=ttl)


@pytest.fixture
def place(tmp_path):
    return str(tmp_path)


def test_a_lock_is_of_one_run_until_it_is_released(place):
    assert _lock.take(place, lock("a"), NOW) is None
    with pytest.raises(KupError) as caught:
        _lock.take(place, lock("b"), NOW + 90)
    assert str(caught.value) == (
        f"kup_lock ({place}) is held by me@controller, run a, since 2 min, renewed 2 min ago; wait for its end, "
        f"or remove {place}/kup.lock.1 if that run is dead. It expires in 0 min."
    )
    assert _lock.look(place, NOW).run_id == "a"
    assert _lock.release(place, "a") == ""
    assert _lock.look(place, NOW) is None
    assert _lock.take(place, lock("b"), NOW) is None
    assert _lock.look(place, NOW).run_id == "b"


def test_its_own_run_takes_it_again_and_renews_it(place):
    _lock.take(place, lock("a"), NOW)
    assert _lock.take(place, lock("a"), NOW + 50) is None
    assert _lock.renew(place, "a", NOW + 90) == ""
    assert _lock.look(place, NOW + 189) == dataclasses.replace(lock("a"), renewed=NOW + 90)
    # It was late, and nobody has noticed.
    assert _lock.renew(place, "a", NOW + 500) == ""


def test_an_expired_lock_is_taken_over_and_its_run_learns_of_it(place):
    _lock.take(place, lock("a"), NOW)
    assert _lock.take(place, lock("b", NOW + 100), NOW + 100) == lock("a")
    assert _lock.renew(place, "a", NOW + 101) == (
        f"kup_lock ({place}) is no longer of this run, but of me@controller, run b"
    )
    assert _lock.release(place, "a") != ""
    assert _lock.look(place, NOW + 101).run_id == "b"


def test_a_lock_that_was_removed_is_lost(place):
    _lock.take(place, lock("a"), NOW)
    os.unlink(f"{place}/kup.lock.1")
    assert _lock.renew(place, "a", NOW) == f"kup_lock ({place}) is no longer of this run"


def test_who_looked_long_ago_does_not_get_it(place, monkeypatch):
    """Two saw lock 1 expired. One took 2 and gave it back, another took 3: then the first one links 2 again."""
    _lock.take(place, lock("a"), NOW)
    stale = _lock._newest(place)
    _lock.take(place, lock("b", NOW + 200), NOW + 200)
    _lock.release(place, "b")
    _lock.take(place, lock("c", NOW + 201), NOW + 201)
    assert not _lock._linked(place, stale[0] + 1, lock("d"))
    assert sorted(os.listdir(place)) == ["kup.lock.3"]
    assert _lock.look(place, NOW + 202).run_id == "c"


def test_a_renewal_that_comes_too_late_takes_nothing_back(place, monkeypatch):
    """The lock is taken over between the look at it and its renewal."""
    _lock.take(place, lock("a"), NOW)
    written = _lock._written

    def late(directory, mine):
        monkeypatch.setattr(_lock, "_written", written)
        _lock.take(place, lock("b", NOW + 100), NOW + 100)
        return written(directory, mine)

    monkeypatch.setattr(_lock, "_written", late)
    assert "is no longer of this run, but of me@controller, run b" in _lock.renew(place, "a", NOW + 100)
    assert _lock.look(place, NOW + 101).run_id == "b"


def test_files_are_for_their_owner_and_none_is_left(place):
    for run_id in "abc":
        _lock.take(place, lock(run_id), NOW)
        _lock.release(place, run_id)
    assert os.listdir(place) == ["kup.lock.3"]
    assert os.stat(f"{place}/kup.lock.3").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "{", "[" * 3000, json.dumps(dataclasses.asdict(lock("a", ttl=float("inf")))),
     json.dumps({**dataclasses.asdict(lock("a")), "owner": 7}), json.dumps({**dataclasses.asdict(lock("a")), "owner": "x" * 5000})],
)  # fmt: skip
def test_what_is_no_lock_is_nobodys_to_take(place, text):
    with open(f"{place}/kup.lock.7", "w", encoding="utf-8") as stream:
        stream.write(text)
    for ask in (
        lambda: _lock.take(place, lock("a"), NOW),
        lambda: _lock.look(place, NOW),
        lambda: _lock.renew(place, "a", NOW),
    ):
        with pytest.raises(KupError, match=r"kup\.lock\.7 is no lock of a rollout; if none is under way, remove it\."):
            ask()


def test_no_link_is_followed_and_a_fifo_keeps_nobody(place):
    os.symlink("/etc/hostname", f"{place}/kup.lock.1")
    with pytest.raises(KupError, match="cannot be used"):
        _lock.look(place, NOW)
    os.unlink(f"{place}/kup.lock.1")
    os.mkfifo(f"{place}/kup.lock.1")
    with pytest.raises(KupError, match="is no lock"):
        _lock.look(place, NOW)


def test_other_files_are_left_alone(place):
    for name in ("kup.lock", "kup.lock.x", "kup.lock.0", "kup.lock.01", "notes"):
        with open(f"{place}/{name}", "w", encoding="utf-8"):
            pass
    _lock.take(place, lock("a"), NOW)
    assert len(os.listdir(place)) == 6


def test_the_owner_is_shown_without_what_a_terminal_would_do(place):
    _lock.take(place, dataclasses.replace(lock("a"), owner="me\x1b[2J\n@x"), NOW)
    assert _lock.look(place, NOW).owner == "me[2J@x"


def test_a_directory_that_is_gone_is_an_error_and_says_nothing_about_the_lock(place):
    for ask in (_lock.renew, _lock.look):
        with pytest.raises(KupError, match=r"cannot be used: \[Errno 2\]"):
            ask(f"{place}/gone", *(["a", NOW] if ask is _lock.renew else [NOW]))


def _race(place, name, barrier, results):
    for number in range(RACES):
        now = NOW + 1000 * number
        barrier.wait(60)
        try:
            # In every second race the lock before has expired, else it was released.
            _lock.take(place, lock(f"{name}{number}", now), now)
            won = True
        except KupError:
            won = False
        results.put((number, name, won))
        barrier.wait(60)
        if won and number % 2:
            assert _lock.release(place, f"{name}{number}") == ""


@pytest.fixture
def quick_place():
    """In memory: a disk that is busy with other things would make each of many syncs last a second."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield directory


def test_of_two_that_race_one_has_it(quick_place):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(2), context.Queue()
    racers = [context.Process(target=_race, args=(quick_place, name, barrier, results)) for name in "ab"]
    for racer in racers:
        racer.start()
    found = [results.get(timeout=120) for _each in range(2 * RACES)]
    for racer in racers:
        racer.join(60)
        assert racer.exitcode == 0
    winners = [number for number, _name, won in found if won]
    assert sorted(winners) == list(range(RACES))
    assert len(os.listdir(quick_place)) == 1
