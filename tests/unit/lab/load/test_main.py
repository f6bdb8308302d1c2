"""The load client's commands, against a real memcached on the loopback."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from lab.load import values
from lab.paths import REPO

LOAD = [sys.executable, "-m", "lab.load"]
KEYS, SIZE = 500, 256
# Generous: a test machine may be shared with virtual machines.
PATIENCE = 60


class Node:
    """A memcached process, the commands run against it, and a plain way to tamper with it."""

    def __init__(self, folder, memory=64):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = ["memcached", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-t", "1", "-m", str(memory)]
        if os.geteuid() == 0:
            command += ["-u", "nobody"]
        self.folder = folder
        self.process = subprocess.Popen(command)
        self.runs = []
        _wait_for(self._listens, "memcached listens")

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def say(self, request):
        """Send raw bytes and return the first answer's bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            return connection.recv(65536)

    def command(self, name, *arguments, keys=KEYS, size=SIZE):
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--keys", str(keys), "--size", str(size)]
        return [*LOAD, name, *where, *map(str, arguments)]

    def load(self, name, *arguments, **shape):
        """Run a command to its end."""
        command = self.command(name, *arguments, **shape)
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=REPO)

    def verify(self, *arguments):
        """Run verify; return (exit status, verdict, standard error)."""
        out = self.folder / "verdict.json"
        done = self.load("verify", "--out", out, *arguments)
        return done.returncode, json.loads(out.read_text()), done.stderr

    def start_run(self, *arguments, out="run.json"):
        """Start a run and wait until it has written something; return (process, status reader, path of the result)."""
        path = self.folder / out
        process = subprocess.Popen(self.command("run", "--out", path, "--idle", 3, *arguments), cwd=REPO)
        self.runs.append(process)
        status = self.folder / (out + ".status")

        def read():
            return json.loads(status.read_text()) if status.exists() else {}

        _wait_for(lambda: read().get("writes_acked", 0) > 0, "the run's first write")
        return process, read, path

    def freeze(self):
        """Stop the process and return once no thread of it runs any more: the signal alone is only a request."""
        self.process.send_signal(signal.SIGSTOP)
        _wait_for(lambda: self._thread_states() == {"T"}, "memcached stops")

    def _thread_states(self):
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return {(thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in threads}

    def stop(self):
        for process in self.runs:
            process.kill()
            process.wait()
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def _wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for: {what}"
        time.sleep(0.05)


def _wait_for_silence(status):
    """Wait until a run has a request under way that nobody answers: an answer may still be in the socket's buffer."""
    earlier = {"time": time.time(), "ops": None}

    def silent():
        nonlocal earlier
        before, earlier = earlier, max(earlier, status(), key=lambda state: state["time"])
        return earlier is not before and earlier["waiting"] and earlier["ops"] == before["ops"]

    _wait_for(silent, "a request under way")


def _end(run):
    process, _status, path = run
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    return json.loads(path.read_text())


@pytest.fixture(name="node")
def _node(tmp_path):
    node = Node(tmp_path)
    yield node
    node.stop()


@pytest.fixture(name="filled")
def _filled(node):
    done = node.load("fill")
    assert done.returncode == 0, done.stderr
    return node


def test_fill_then_verify_finds_every_key(filled):
    status, verdict, _text = filled.verify()
    assert status == 0
    assert (verdict["keys_expected"], verdict["keys_lost"], verdict["keys_wrong"]) == (KEYS, 0, 0)


def test_verify_finds_a_damaged_a_deleted_and_a_misplaced_value(filled):
    damaged = bytearray(values.value(7, 0, SIZE))
    damaged[-1] ^= 1
    assert filled.say(b"set kup:7 0 0 %d\r\n%s\r\n" % (SIZE, damaged)) == b"STORED\r\n"
    assert filled.say(b"delete kup:8\r\n") == b"DELETED\r\n"
    assert filled.say(b"set kup:9 0 0 %d\r\n%s\r\n" % (SIZE, values.value(10, 0, SIZE))) == b"STORED\r\n"
    status, verdict, text = filled.verify()
    assert status == 1
    assert (verdict["keys_lost"], verdict["keys_wrong"], verdict["keys_stale"]) == (1, 2, 0)
    assert verdict["examples"]["lost"][0]["key"] == "kup:8"
    assert [example["key"] for example in verdict["examples"]["wrong"]] == ["kup:7", "kup:9"]
    assert "kup:10 generation 0" in verdict["examples"]["wrong"][1]["found"]
    assert len(text.splitlines()) == 1


def test_run_keeps_its_connections_and_verify_knows_what_it_wrote(filled):
    run = filled.start_run()
    since = time.time()
    _wait_for(lambda: (run[1]()["last_write_acked_at"] or 0) > since, "a write after a point in time")
    result = _end(run)
    assert (result["connections_before"], result["connections_kept"], result["resets"]) == (4, 4, 0)
    assert result["ended_by"] == "SIGTERM"
    long_lived = result["long_lived"]
    assert (long_lived["wrong"], long_lived["missing"], long_lived["errors"]) == (0, 0, 0)
    assert long_lived["writes"] == sum(len(entry["history"]) for entry in result["writes"].values()) > 0
    assert result["probe"]["answered"] > 0

    status, verdict, _text = filled.verify("--state", run[2])
    assert (status, verdict["keys_lost"], verdict["keys_wrong"]) == (0, 0, 0)
    # Without the state the written keys are not what `fill` left: nothing passes by accident.
    status, verdict, _text = filled.verify()
    assert (status, verdict["keys_wrong"]) == (1, len(result["writes"]))


def test_verify_tells_a_stale_value_and_forgives_it_only_after_the_given_time(filled):
    result = _end(run := filled.start_run())
    key, entry = next(iter(result["writes"].items()))
    number, old = values.key_number(key), entry["acked"] - 1
    filled.say(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), SIZE, values.value(number, old, SIZE)))
    status, verdict, _text = filled.verify("--state", run[2])
    assert (status, verdict["keys_wrong"], verdict["keys_stale"]) == (1, 1, 1)
    assert filled.verify("--state", run[2], "--writes-until", entry["acked_at"])[0] == 1
    assert filled.verify("--state", run[2], "--writes-until", entry["acked_at"] - 0.001)[0] == 0


def test_a_second_run_goes_on_from_the_first_ones_state(filled):
    first = filled.start_run()
    _end(first)
    result = _end(second := filled.start_run("--state", first[2], out="second.json"))
    assert result["long_lived"]["wrong"] == 0
    assert filled.verify("--state", second[2])[0] == 0


def test_a_stopped_server_is_an_outage_but_no_loss(filled):
    run = filled.start_run()
    filled.process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    filled.process.send_signal(signal.SIGCONT)
    since = time.time()
    _wait_for(lambda: (run[1]()["last_write_acked_at"] or 0) > since, "a write after the stop")
    result = _end(run)
    assert result["outage_s"] >= 1.4
    longest = max(result["outages"], key=lambda outage: outage["seconds"])
    assert longest["end"] - longest["start"] == pytest.approx(longest["seconds"], abs=0.01)
    assert result["long_lived"]["longest_gap"]["seconds"] >= 1.4
    assert (result["connections_kept"], result["resets"]) == (4, 0)
    assert filled.verify("--state", run[2])[0] == 0


def test_a_killed_server_is_reset_connections_and_an_open_outage(filled):
    run = filled.start_run()
    filled.process.kill()
    filled.process.wait()
    _wait_for(lambda: run[1]()["resets"] == 4 and run[1]()["probe_last_answer_age_s"] > 0.2, "all resets noticed")
    result = _end(run)
    assert (result["connections_before"], result["connections_kept"], result["resets"]) == (4, 0, 4)
    assert result["long_lived"]["lost_at"]
    assert all(connection["why"].startswith("reset") and connection["lost_at"] for connection in result["idle"])
    assert result["outages"][-1]["end"] is None
    assert result["probe"]["failed"]["refused"] > 0


def test_a_write_without_an_answer_stays_in_flight(filled):
    run = filled.start_run("--write-percent", 100, "--finish-limit", 0.5)
    filled.freeze()
    _wait_for_silence(run[1])
    result = _end(run)
    under_way = [entry for entry in result["writes"].values() if entry["in_flight"] is not None]
    assert [entry["in_flight"] - entry["acked"] for entry in under_way] == [1]
    assert result["connections_kept"] == 0
    assert result["resets"] == 0
    filled.process.send_signal(signal.SIGCONT)
    assert filled.verify("--state", run[2])[0] == 0


def test_fill_says_when_memcached_is_too_small(tmp_path):
    node = Node(tmp_path, memory=4)
    try:
        refused = node.load("fill", keys=5000, size=1024)
        evicting = node.load("fill", keys=14000, size=200)
    finally:
        node.stop()
    for done in (refused, evicting):
        assert done.returncode == 1
        assert "-m" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert "need at least" in refused.stderr


def test_run_on_an_empty_node_says_to_fill_it(node):
    done = node.load("run", "--out", node.folder / "run.json")
    assert done.returncode == 1
    assert "fill" in done.stderr
    assert not (node.folder / "run.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fill", "--host", "h", "--keys", "0"], "'0' is not a whole number from 1"),
        (["fill", "--host", "h", "--keys", "9", "--size", "31"], "'31' is not a whole number from 32 to 1048576"),
        (["fill", "--host", "h", "--keys", "9", "--size", "1048577"], "'1048577' is not"),
        (["fill", "--host", "h", "--keys", "9", "--port", "65536"], "'65536' is not"),
        (["fill", "--keys", "9"], "--host"),
        (["run", "--host", "h", "--keys", "9", "--out", "/nowhere/x"], "existing directory"),
        (["run", "--host", "h", "--keys", "9", "--out", "x", "--state", "x"], "--state file too"),
        (["run", "--host", "h", "--keys", "9", "--out", "x", "--seconds", "nan"], "'nan' is not a number from"),
        (["run", "--host", "h", "--keys", "9", "--out", "x", "--probe-interval", "1"], "attempts at a time"),
        (["run", "--host", "h", "--keys", "9", "--out", "x", "--probe-interval", "60"], "would count as an outage"),
        (["verify", "--host", "h", "--keys", "9", "--out", "x", "--writes-until", "5"], "--writes-until needs --state"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, says):
    command = [*LOAD, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=REPO)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_node_that_does_not_answer_is_named():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        command = [*LOAD, "fill", "--host", "127.0.0.1", "--port", str(port), "--keys", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=REPO)
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
