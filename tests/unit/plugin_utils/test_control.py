# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a file or an address says about the rollout. Whatever is not clear is a pause."""

from __future__ import annotations

import contextlib
import http.server
import os
import threading

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _control

WORDS = [
    (b"go", "go"),
    (b"go\n", "go"),
    (b" \n pause until the change is approved\n", "pause"),
    (b"abort\0", "pause"),
    (b"abort", "abort"),
    (b"abort" + b" x" * (1 << 20), "abort"),
    (b"", "pause"),
    (b"Abort", "pause"),
    (b"stop", "pause"),
    (b"\xff\xfe", "pause"),
    (b" " * 64 + b"go", "pause"),
    # The end of what is read makes no word of another one.
    (b" " * 62 + b"gone", "pause"),
    (b" " * 61 + b"go gone", "go"),
]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "control"


@pytest.mark.parametrize(("content", "word"), WORDS)
def test_the_first_word_of_a_file_counts(file, content, word):
    file.write_bytes(content)
    answer = _control.ask(str(file))
    assert answer.word == word
    assert bool(answer.reason) == (word != "go")


def test_a_file_that_is_not_there_lets_the_rollout_go_on(file):
    assert _control.ask(str(file)) == _control.ask("") == _control.Answer("go")


def test_the_reason_names_the_file_and_what_was_expected(file):
    file.write_text("abort now")
    assert _control.ask(str(file)).reason == f"kup_control ({file}) says abort"
    file.write_text("wait")
    assert _control.ask(str(file)).reason == (
        f"kup_control ({file}) begins with 'wait', expected go, pause, abort; this counts as pause"
    )


def test_what_is_no_file_is_a_pause(tmp_path, file):
    os.mkfifo(file)
    places = [str(tmp_path), str(file), f"{file}/below", f"{tmp_path}/not-mounted/control"]
    assert [_control.ask(place).word for place in places] == ["pause"] * 4
    assert "not-mounted/control) cannot be read ([Errno 2] No such file" in _control.ask(places[3]).reason


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what the path says: a status, or `WORDS` by number."""

    def do_GET(self):
        status, _slash, number = self.path.partition("?")[0].strip("/").partition("/")
        if status == "0":
            self.wfile.write(b"SSH-2.0-x\r\n\r\n")
            return
        self.send_response(int(status), "x" * 5000 if status == "500" else None)
        self.send_header("Location", "/200/0")
        self.end_headers()
        if number:
            # A reader that has read enough goes away.
            with contextlib.suppress(ConnectionError):
                self.wfile.write(WORDS[int(number)][0])

    def log_message(self, *_words):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("number", range(len(WORDS)))
def test_the_first_word_of_an_address_counts(address, number):
    assert _control.ask(f"{address}/200/{number}").word == WORDS[number][1]


@pytest.mark.parametrize(
    ("status", "word"), [(404, "go"), (410, "go"), (403, "pause"), (500, "pause"), (302, "pause"), (0, "pause")]
)
def test_an_error_is_a_pause_and_no_redirection_is_followed(address, status, word):
    answer = _control.ask(f"{address}/{status}?token=secret")
    assert answer.word == word
    assert "secret" not in answer.reason
    assert len(answer.reason) < 300


def test_nobody_listens(monkeypatch):
    monkeypatch.setattr(_control, "_PATIENCE", 0.2)
    server = http.server.socketserver.TCPServer(("127.0.0.1", 0), Handler, bind_and_activate=True)
    silent = f"http://127.0.0.1:{server.server_address[1]}/"
    assert "timed out" in _control.ask(silent).reason
    server.server_close()
    assert "refused" in _control.ask(silent).reason


@pytest.mark.parametrize("place", ["", "/tmp/control", "http://example.net/x", "https://[::1]:8080/x?y=z"])
def test_good_places(place):
    _control.check(place)


@pytest.mark.parametrize(
    "place",
    ["control", "./control", "/not/there/control", "ftp://example.net/x", "http://", "http://[::1/", "https://a b/"],
)
def test_a_place_that_cannot_be_asked_is_refused(place):
    with pytest.raises(KupError, match=r"^kup_control is .*, expected "):
        _control.check(place)


def test_a_password_is_refused_and_not_shown():
    with pytest.raises(KupError) as caught:
        _control.check("https://me:secret@example.net/x")
    assert "secret" not in str(caught.value)


def test_the_plan_says_what_the_file_says(file):
    assert _control.line(_control.outlook("")) == ""
    assert _control.line(_control.outlook(str(file))) == f"control: kup_control ({file}) says go"
    file.write_text("pause")
    assert _control.line(_control.outlook(str(file))) == f"control: kup_control ({file}) says pause"
