# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page daemon as a program: what it says, and how it fails."""

import select

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import page_daemon
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, PassingError


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Write a shell script in the place of the page daemon."""

    def write(text):
        path = tmp_path / "paged"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(page_daemon, "PROGRAM", str(path))

    return write


@pytest.mark.parametrize(("text", "runs"), [("exit 2", True), ("exit 0", False), ("exit 126", False)])
def test_a_program_that_wants_arguments_is_it(program, text, runs):
    program(text)
    assert page_daemon.runs() == runs


def test_a_program_of_another_machine_is_none(program, tmp_path):
    program("")
    (tmp_path / "paged").write_bytes(b"\x7fELF nothing")
    assert not page_daemon.runs()


def test_what_it_answers(program):
    program("""[ "$*" = "begin --keep-out 1-2" ] && echo '{"table": "0x1"}'""")
    assert page_daemon.ask("begin", "--keep-out", "1-2") == {"table": "0x1"}
    with pytest.raises(KupError):
        page_daemon.ask("other")


def test_a_server_reads_its_word_and_tells_what_it_received(program):
    program("""read -r word; echo '{"word": "'$word'"}'""")
    server = page_daemon.Server(["store"])
    assert server.options[:2] == ("--page-server", "--ps-socket")
    assert server.finish("7\n") == {"word": "7"}


def test_the_last_complaint_is_the_cause(program):
    program("echo first >&2; echo 'No space left.' >&2; exit 1")
    with pytest.raises(KupError, match=r"The page daemon has failed: No space left\."):
        page_daemon.Server(["store"]).finish()


def leave(server):
    """Wait until the program of SERVER has left the stream."""
    poller = select.poll()
    poller.register(server.socket, select.POLLRDHUP)
    assert poller.poll(10_000)


def test_a_program_that_leaves_first_has_failed(program):
    program("exit 1")
    server = page_daemon.Server(["discard"])
    leave(server)
    with pytest.raises(KupError):
        server.finish()
    assert server.failed


def test_a_program_that_criu_has_left_has_not(program):
    # Until the end of the stream. The shell itself takes no descriptor of two digits.
    program("""exec python3 -c 'import os, sys; os.read(int(sys.argv[-1]), 1); sys.exit(1)' "$@" """)
    server = page_daemon.Server(["discard"])
    with pytest.raises(KupError):
        server.finish()
    assert not server.failed
    server.end()
    with pytest.raises(KupError):
        server.finish()  # its stream is closed


def test_a_program_that_has_done_its_work_has_not(program):
    program("echo '{}'")
    server = page_daemon.Server(["store"])
    leave(server)
    assert server.finish() == {}
    assert not server.failed


def test_one_that_does_not_end_is_ended(program, monkeypatch):
    monkeypatch.setattr(page_daemon, "_ENDING", 0.1)
    program("exec sleep 60")
    server = page_daemon.Server(["store"])
    with pytest.raises(KupError, match="did not end"):
        server.finish()
    assert server._process.poll() is not None


def test_what_the_page_daemon_says_is_the_cause(monkeypatch):
    class Server:
        def finish(self):
            raise KupError("The disk is full.")

    told = page_daemon.with_cause(Server(), PassingError("CRIU failed"))
    assert str(told) == "CRIU failed (The disk is full.)"
    assert isinstance(told, PassingError)
