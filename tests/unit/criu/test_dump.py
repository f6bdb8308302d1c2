# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One dump, with a program in the place of CRIU that waits at the same stages."""

import os
import signal
import time
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import cleanup, dump
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, PassingError

# What CRIU and its action script do at the stages: announce, wait for the word.
STAGES = """
cd "$1"
echo ready >{ready}
read -r _ <{freeze}
echo frozen >>log
echo dumped >{dumped}
read -r _ <{last}
echo resumed >>log
"""


class Unit:
    name, main_pid, own_mounts = "cache.service", 100, False

    def __init__(self, done):
        self._done = done

    def freeze(self):
        self._done.append("freezer on")

    def thaw(self):
        self._done.append("freezer off")


@pytest.fixture
def done(monkeypatch):
    """What was done to the unit."""
    done = []
    monkeypatch.setattr(cleanup, "before", lambda directory: types.SimpleNamespace(wait=lambda: done.append("listed")))
    monkeypatch.setattr(cleanup, "undo", lambda name, directory: done.append(f"clean up {name}"))
    return done


@pytest.fixture
def start(done, monkeypatch, tmp_path):
    """Start a `Dump` with a certain script for CRIU; all are ended afterwards."""
    started = []

    def start(script=STAGES, words=()):
        ready, freeze, dumped, last = dump._PIPES
        text = script.format(ready=ready, freeze=freeze, dumped=dumped, last=last)
        monkeypatch.setattr(
            dump.criu_command, "dump_command", lambda *arguments: ["sh", "-c", text, "criu", str(tmp_path / "images")]
        )
        started.append(dump.Dump(Unit(done), types.SimpleNamespace(ends=False), str(tmp_path / "images"), words))
        return started[-1]

    yield start
    for each in started:
        if not each.ended:
            each._process.kill()
            each._process.wait()


def soon():
    return time.monotonic() + 20


def log(tmp_path):
    path = tmp_path / "images/log"
    return path.read_text().split() if path.exists() else []


def test_it_stands_by_until_the_freeze(start, tmp_path, done):
    each = start()
    each.wait_ready(soon())
    time.sleep(0.05)
    assert log(tmp_path) == []
    assert not each.ended
    assert done == []


def test_a_complete_dump_is_held_by_the_kernel_as_well(start, tmp_path, done):
    each = start()
    each.wait_ready(soon())
    each.freeze()
    each.wait_complete(soon())
    assert log(tmp_path) == ["frozen"]
    assert done == ["freezer on"]
    each.check()


def test_the_tree_runs_again_when_it_is_told(start, tmp_path, done):
    each = start()
    each.wait_ready(soon())
    each.freeze()
    each.wait_complete(soon())
    each.resume()
    assert log(tmp_path) == ["frozen", "resumed"]
    assert done == ["freezer on", "freezer off"]
    assert each.ended and not each.killed
    assert not {*dump._PIPES} & {*os.listdir(tmp_path / "images")}


def test_a_dump_that_has_not_begun_does_not_begin(start, tmp_path):
    # It reads its order when both have been given: `resume` removes the pipe after that.
    slow = "exec 3<>{freeze}; echo ready >{ready}; while [ -e {freeze} ]; do sleep 0.01; done; read -r word <&3"
    each = start(f"cd $1; {slow}; echo $word >>log; [ $word = freeze ] || exit 1")
    each.wait_ready(soon())
    each.freeze()
    each.resume()
    assert log(tmp_path) == ["go", "on"]


def test_one_that_ended_is_not_the_state_any_more(start):
    each = start()
    each.wait_ready(soon())
    each.freeze()
    each.wait_complete(soon())
    each._process.send_signal(signal.SIGTERM)
    each._process.wait()
    with pytest.raises(KupError, match=r"CRIU ended before the (jump|kexec), with cache\.service frozen"):
        each.check()


def test_nothing_is_frozen_for_longer_than_its_script_holds_it(start, monkeypatch):
    each = start()
    each.wait_ready(soon())
    each.freeze()
    each.wait_complete(soon())
    later = time.monotonic() + dump._HELD + 1
    monkeypatch.setattr(dump.time, "monotonic", lambda: later)
    with pytest.raises(KupError, match="frozen for more than"):
        each.check()


def test_a_killed_dump_is_cleaned_up_before_the_tree_runs(start, done):
    each = start()
    each.wait_ready(soon())
    each.freeze()
    each.wait_complete(soon())
    each._process.kill()
    each._process.wait()
    assert each.killed
    each.resume()
    assert done == ["freezer on", "listed", "clean up cache.service", "freezer off"]


def test_a_dump_that_ended_by_itself_needs_no_clean_up(start, done):
    each = start("exit 1")
    with pytest.raises(PassingError, match=r"CRIU could not dump cache\.service: .*exit code 1"):
        each.wait_ready(soon())
    each.resume()
    assert not each.killed
    assert done == ["freezer off"]


def test_the_first_complaint_of_criu_is_told(start):
    each = start("cd $1; echo 'Error: a device' >dump.log; exit 1")
    with pytest.raises(KupError, match="Error: a device"):
        each.wait_ready(soon())


def test_a_dump_that_takes_too_long(start):
    each = start("sleep 60")
    with pytest.raises(KupError, match=r"did not come to the freeze of .*; /.*/dump.log tells where"):
        each.wait_ready(time.monotonic() + 0.02)
    each.freeze()
    with pytest.raises(
        KupError,
        match=r"was not complete 0 s after the freeze; /.*/dump.log tells where it stopped, and kup_freeze_max",
    ):
        each.wait_complete(time.monotonic() + 0.02)


def test_a_unit_that_is_gone_can_be_resumed(start, done, monkeypatch):
    def thaw(self):
        raise OSError("no such control group")

    monkeypatch.setattr(Unit, "thaw", thaw)
    each = start()
    each.wait_ready(soon())
    each.resume()
    assert each.ended


def test_its_process_can_be_found_if_the_switch_is_killed(start, tmp_path):
    each = start()
    assert int((tmp_path / "images/criu.pid").read_text()) == each._process.pid


def test_images_are_counted(start, tmp_path):
    each = start("exit 0")
    before = each.bytes
    (tmp_path / "images/pages-1.img").write_bytes(bytes(5000))
    assert each.bytes == before + 5000
