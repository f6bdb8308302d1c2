"""Watchdogs during a switch: extended before CRIU holds a unit, put back afterwards."""

import json
import os
import socket
import struct
import subprocess
import types

import atonce
import fakesystemd
import fakewatched
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import watchdogs
from ansible_collections.kup.fleet.plugins.module_utils._update.watchdogs import EXTENDED

SECOND = 10**6


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    """What systemd knows: ``times`` (unit → microseconds) and ``pids`` (unit → main process); it takes messages of main processes."""
    told = types.SimpleNamespace(times={}, pids={}, messages=[], deaf=False)

    def tell(pid, time):
        told.messages.append((pid, time))
        for name, main_pid in told.pids.items():
            if main_pid == pid and not told.deaf:
                told.times[name] = time

    def unit(name):
        return types.SimpleNamespace(name=name, main_pid=told.pids[name], watchdog=told.times[name])

    monkeypatch.setattr(watchdogs, "RUN", str(tmp_path))
    monkeypatch.setattr(watchdogs, "_FILE", str(tmp_path / "watchdogs"))
    monkeypatch.setattr(watchdogs, "_tell", tell)
    monkeypatch.setattr(watchdogs, "Unit", unit)
    told.add = lambda name, pid, time: (told.pids.update({name: pid}), told.times.update({name: time}))
    told.unit, told.file = unit, tmp_path / "watchdogs"
    told.add("a.service", 7, 10 * SECOND)
    told.add("b.service", 8, 0)
    return told


def test_a_watchdog_is_extended_and_put_back(systemd):
    watchdogs.extend([systemd.unit("a.service"), systemd.unit("b.service")])
    assert systemd.times == {"a.service": EXTENDED, "b.service": 0}
    assert systemd.file.read_text() == "a.service 7 10000000\n"
    assert watchdogs.own(systemd.unit("a.service")) == 10 * SECOND
    assert watchdogs.own(systemd.unit("b.service")) == 0
    watchdogs.release()
    assert systemd.times == {"a.service": 10 * SECOND, "b.service": 0}
    assert not systemd.file.exists()
    assert watchdogs.own(systemd.unit("a.service")) == 10 * SECOND


def test_the_time_of_before_is_on_disk_before_systemd_has_another(systemd, monkeypatch):
    monkeypatch.setattr(watchdogs, "_tell", lambda pid, time: systemd.messages.append(systemd.file.read_text()))
    systemd.deaf = True
    with pytest.raises(KupError):
        watchdogs.extend([systemd.unit("a.service")])
    assert systemd.messages == ["a.service 7 10000000\n"]


def test_what_was_extended_before_keeps_its_own_time(systemd):
    watchdogs.extend([systemd.unit("a.service")])
    systemd.times["b.service"] = 3 * SECOND
    watchdogs.extend([systemd.unit("a.service"), systemd.unit("b.service")])
    assert systemd.file.read_text() == "a.service 7 10000000\nb.service 8 3000000\n"
    watchdogs.release()
    assert systemd.times == {"a.service": 10 * SECOND, "b.service": 3 * SECOND}


def test_a_unit_that_was_started_anew_is_extended_again(systemd):
    watchdogs.extend([systemd.unit("a.service")])
    systemd.add("a.service", 9, 10 * SECOND)
    watchdogs.extend([systemd.unit("a.service")])
    assert systemd.file.read_text() == "a.service 9 10000000\n"


@pytest.mark.parametrize(("pid", "time"), [(9, 10 * SECOND), (7, 5 * SECOND)])
def test_a_unit_that_was_started_anew_or_has_set_another_time_keeps_it(systemd, pid, time):
    watchdogs.extend([systemd.unit("a.service")])
    systemd.add("a.service", pid, time)
    assert watchdogs.own(systemd.unit("a.service")) == time
    systemd.messages.clear()
    watchdogs.release()
    assert systemd.messages == []


def test_one_that_is_longer_is_left_alone(systemd):
    systemd.times["a.service"] = EXTENDED + 1
    watchdogs.extend([systemd.unit("a.service")])
    assert systemd.messages == []


def test_a_watchdog_that_stays_ends_the_switch(systemd):
    systemd.deaf = True
    with pytest.raises(KupError, match=r"The watchdog of a.service \(10 s\) could not be extended"):
        watchdogs.extend([systemd.unit("a.service")])


def test_one_unit_that_cannot_be_asked_costs_no_other_its_watchdog(systemd):
    systemd.times["b.service"] = 3 * SECOND
    watchdogs.extend([systemd.unit("a.service"), systemd.unit("b.service")])
    real = systemd.unit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watchdogs, "Unit", lambda name: _fail() if name == "a.service" else real(name))
        watchdogs.release()
    assert systemd.times["b.service"] == 3 * SECOND


def _fail():
    raise KupError("systemctl did not end within 60 s.")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to speak in the name of another process")
def test_the_message_comes_from_the_main_process(tmp_path, monkeypatch):
    monkeypatch.setattr(watchdogs, "_SYSTEMD", str(tmp_path / "notify"))
    other = subprocess.Popen(["sleep", "60"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        server.bind(str(tmp_path / "notify"))
        watchdogs._tell(other.pid, 5)
        text, ((_level, _kind, sender),), *_rest = server.recvmsg(100, 100)
    other.kill()
    other.wait()
    assert text == b"WATCHDOG_USEC=5"
    assert struct.unpack("3i", sender) == (other.pid, 0, 0)
    watchdogs._tell(other.pid, 5)  # it has ended


@pytest.mark.skipif(not fakesystemd.namespaces(), reason="needs root, systemd and namespaces of its own")
def test_systemd_lets_a_unit_be_that_is_held_for_longer_than_its_watchdog():
    def watch(extended):
        return json.loads(fakesystemd.run(fakewatched.__file__, str(extended)))

    found = atonce.each(watch, [True, False])
    time = fakewatched.SECONDS * SECOND
    assert found[True] == {"told": [EXTENDED, time], "held": True, "released": time, "at once": True, "later": False}
    assert not found[False]["held"]
