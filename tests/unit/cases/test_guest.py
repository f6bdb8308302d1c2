"""What runs on the node: the programs' answers, and their comparison."""

import json
import socket
import sys
import threading

import pytest

from tests.cases.guest import declared

sys.path.insert(0, str(declared.HERE))
import node
import service


class Stub:
    """A case that a node has started before, with the token "before"."""

    name, port, MUST = "stub", 0, {}

    def __init__(self, now):
        self._now = now

    def observe(self, _answer):
        return self._now


@pytest.fixture(name="judged")
def _judged(tmp_path, monkeypatch):
    monkeypatch.setattr(node, "NOTES", tmp_path)
    monkeypatch.setattr(node, "ask", lambda _port: {})
    (tmp_path / "stub.json").write_text(json.dumps({"token": "before", "pid": 7, "a": 1, "b": 2}))
    return lambda **now: node.judge(Stub(now), 0)


def test_the_same_process_with_the_same_view_has_no_differences(judged):
    assert judged(token="before", pid=7, a=1, b=2) == {"answers": True, "same": True, "differences": []}


def test_each_difference_is_said(judged):
    found = judged(token="after", pid=8, a=1, error="KeyError()")
    assert not found["same"]
    assert found["differences"] == ["b is None, was 2", "error is 'KeyError()', was None", "pid is 8, was 7"]


def test_a_program_that_nobody_reaches_does_not_answer(judged, monkeypatch):
    def refuse(_port):
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(node, "ask", refuse)
    monkeypatch.setattr(node.time, "sleep", lambda _seconds: None)
    assert judged()["answers"] is False


def test_the_record_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(node, "RECORDS", [tmp_path / "nowhere", tmp_path / "record"])
    assert node.record() == {"phase": "", "reason": "", "fresh": []}
    (tmp_path / "record").write_bytes(b"PHASE='failed'\nREASON='a=b \xe9'\nFRESH_UNITS='a.service b.service'\n")
    assert node.record() == {"phase": "failed", "reason": "a=b \ufffd", "fresh": ["a.service", "b.service"]}


def test_a_program_answers_with_its_token():
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    threading.Thread(target=service.serve, args=(port, lambda: {"a": 1}), daemon=True).start()
    for _number in range(50):
        try:
            answer = service.ask(port)
            break
        except ConnectionRefusedError:
            node.time.sleep(0.1)
    assert answer["a"] == 1 and answer["token"] == service.TOKEN
