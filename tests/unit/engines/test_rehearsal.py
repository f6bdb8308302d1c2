# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A dump without the content of memory: CRIU's empty parent, its words, and how long the freeze was."""

import os
import re
import struct
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import (
    dump_checkpoint,
    empty_parent,
    page_daemon,
    rehearsal,
)
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


class Dump:
    """In the place of a dump by CRIU."""

    ended = killed = False

    def __init__(self, unit, findings, directory, words, descriptors):
        self.words, self.descriptors, self.done = list(words), list(descriptors), []

    def __getattr__(self, name):
        return lambda *arguments: self.done.append(name)


@pytest.fixture
def server(monkeypatch):
    found = types.SimpleNamespace(options=["--page-server"], socket=7, ended=0, failed=False)
    found.end = lambda: setattr(found, "ended", found.ended + 1)
    monkeypatch.setattr(page_daemon, "Server", lambda words: setattr(found, "words", words) or found)
    return found


@pytest.fixture
def checkpoint(server, monkeypatch, tmp_path):
    monkeypatch.setattr(dump_checkpoint, "Dump", Dump)
    unit = types.SimpleNamespace(name="cache.service", rss=1 << 30)
    return rehearsal.Rehearsal(unit, f"{tmp_path}/0-cache.service", {}, 1.5)


def test_the_parent_is_an_inventory_without_pages():
    image = empty_parent.inventory(300)
    magic, size = struct.unpack_from("<II", image)
    assert (magic, size) == (0x58313116, len(image) - 8)
    # img_version 2, fdinfo_per_id, ns_per_id, dump_uptime, pre_dump_mode splice
    assert image[8:] == bytes([8, 2, 16, 1, 32, 1, 64, 0xAC, 2, 72, 1])


def test_the_parent_is_for_root_only(tmp_path):
    empty_parent.make(str(tmp_path / "images"))
    assert [os.stat(tmp_path / name).st_mode & 0o777 for name in ("images", "images/before")] == [0o700, 0o700]
    assert (tmp_path / "images/before/inventory.img").exists()


def test_criu_leaves_out_the_content_and_gives_up_in_time(checkpoint, server):
    checkpoint.pre_copy_again()
    checkpoint.start()
    assert server.words == ["discard"]
    assert checkpoint._dump.words == [
        *("--page-server", "--track-mem", "--prev-images-dir", "before", "--timeout", "3"),
    ]
    assert checkpoint._dump.descriptors == [7]
    assert os.path.exists(f"{checkpoint.directory}/before/inventory.img")


def test_the_action_script_does_not_wait_for_ever(checkpoint):
    checkpoint.pre_copy_again()
    with open(f"{checkpoint.directory}/patience", encoding="ascii") as stream:
        assert stream.read() == "62\n"


def test_the_freeze_ends_when_the_application_runs(checkpoint, monkeypatch):
    times = iter([10.0, 10.25])
    monkeypatch.setattr(rehearsal.time, "monotonic", lambda: next(times))
    checkpoint.start()
    assert checkpoint.frozen == 0
    checkpoint.freeze()
    checkpoint.resume()
    assert checkpoint.frozen == 0.25
    checkpoint.resume()
    assert checkpoint.frozen == 0.25


def test_a_dump_that_has_not_begun_has_not_ended(checkpoint):
    assert not checkpoint.ended
    assert not checkpoint.killed
    assert not checkpoint.refused
    checkpoint.resume()
    assert checkpoint.frozen == 0


@pytest.mark.parametrize(
    ("ended", "killed", "failed", "blocks", "refused"),
    [
        (True, False, False, 256, True),
        (False, False, False, 256, False),
        (True, True, False, 256, False),
        (True, False, True, 256, False),  # without its page server
        (True, False, False, 255, False),  # without room
    ],
)
def test_a_refusal_is_one_of_the_unit(checkpoint, server, monkeypatch, ended, killed, failed, blocks, refused):
    monkeypatch.setattr(rehearsal.os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=blocks, f_frsize=4096))
    checkpoint.start()
    checkpoint._dump.ended, checkpoint._dump.killed, server.failed = ended, killed, failed
    assert checkpoint.refused == refused


def test_a_dump_that_takes_too_long_loses_its_page_server_first(checkpoint, server):
    checkpoint.start()
    checkpoint.freeze()

    def wait(deadline):
        raise KupError("The dump took too long.")

    checkpoint._dump.wait_complete = wait
    with pytest.raises(KupError, match="too long"):
        checkpoint.wait_complete(0)
    assert not server.ended
    checkpoint.resume()
    assert server.ended
    assert checkpoint._dump.done == ["freeze", "resume"]


def test_the_freeze_grows_with_the_memory(checkpoint):
    assert checkpoint.freeze_forecast() == 0.25


@pytest.mark.parametrize(
    ("runs", "said", "reason"),
    [
        (True, "", ""),
        (True, "it is off", r"this kernel cannot tell which memory was written to \(it is off\)"),
        (False, "", "the page daemon .* does not run"),
    ],
)
def test_what_every_rehearsal_of_a_node_needs(monkeypatch, runs, said, reason):
    monkeypatch.setattr(page_daemon, "runs", lambda: runs)
    monkeypatch.setattr(rehearsal.command, "check", lambda feature: said * (feature == "mem_dirty_track"))
    found = rehearsal.lacking()
    assert re.match(reason, found) if reason else found == ""
