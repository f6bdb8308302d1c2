"""The gate's checks against a server of this machine."""

import contextlib
import http.server
import socketserver
import threading
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import gate, record

SECRET = "hunter2"


@contextlib.contextmanager
def serving(handler):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def answering(text, stay=True):
    """A handler that sends ``text`` byte by byte after one line, and then waits for its client or not."""

    class Handler(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self):
            self.rfile.readline()
            for letter in text:
                self.wfile.write(letter.encode())
                self.wfile.flush()
            if stay:
                self.rfile.read(1)

    return Handler


def number(port, **more):
    return {"name": "items", "address": f"127.0.0.1:{port}", "send": "stats\r\n", "pattern": r"items (\d+)", **more}


def test_a_number_is_read_whole_though_it_comes_in_pieces():
    with serving(answering("STAT items 123456\r\nEND\r\n")) as port:
        assert gate.read_number(number(port)) == 123456


def test_a_number_at_the_end_of_the_answer():
    with serving(answering("items 42", stay=False)) as port:
        assert gate.read_number(number(port)) == 42


def test_an_answer_without_the_number():
    with serving(answering("ERROR\r\n", stay=False)) as port, pytest.raises(KupError, match="expected a match"):
        gate.read_number(number(port))


@pytest.mark.parametrize("pattern", ["items", "(STAT)", "("])
def test_a_pattern_that_gives_no_number(pattern):
    with (
        serving(answering("STAT items 1\r\n", stay=False)) as port,
        pytest.raises(KupError, match="did not tell items"),
    ):
        gate.read_number(number(port, pattern=pattern))


def test_nobody_answers():
    with serving(answering("")) as port:
        pass
    with pytest.raises(KupError, match="did not tell items"):
        gate.read_number(number(port))
    failures, _numbers = gate.judge([], [port], [], [], [])
    assert failures and failures[0].startswith(f"Port {port} does not answer")


@pytest.fixture
def remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "STATE", str(tmp_path))
    monkeypatch.setattr(gate, "NUMBERS", str(tmp_path / "numbers.json"))
    gate.remember({"items": 100.0})


@pytest.mark.parametrize(
    ("now", "share", "passes"),
    [(100, None, True), (99, None, False), (99, 0.9, True), (89, 0.9, False), (0, 0, True), (101, 1.0, True)],
)
def test_numbers_are_judged_by_their_share(remembered, now, share, passes):
    with serving(answering(f"items {now}\r\n")) as port:
        failures, numbers = gate.judge([], [port], [], [], [number(port, at_least=share)])
    assert not failures if passes else "before the switch" in failures[0]
    assert numbers == {"items": {"before": 100, "now": now}}


def test_a_number_that_was_not_remembered_is_only_told(remembered):
    with serving(answering("items 1\r\n")) as port:
        failures, numbers = gate.judge([], [], [], [], [number(port, name="others")])
    assert not failures
    assert numbers == {"others": {"before": None, "now": 1}}


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        ({"argv": ["true"]}, None),
        (
            {"argv": ["false", "hunter2"]},
            "Command 1 of kup_gate_commands (false) ended with 1, expected 0: it said nothing",
        ),
        ({"argv": ["false"], "rc": 1}, None),
        ({"argv": ["echo", "ready now"], "stdout": "^ready"}, None),
        ({"argv": ["echo", "not yet"], "stdout": "^ready"}, "(echo) printed 'not yet', expected a match of '^ready'"),
        (
            {"argv": ["/no/such/command", "hunter2"]},
            "Command 1 of kup_gate_commands (/no/such/command) is not installed",
        ),
        ({"argv": ["no such command --password hunter2"]}, "Command 1 of kup_gate_commands is not installed"),
        ({"argv": ["hunter2 " * 40]}, "Command 1 of kup_gate_commands cannot be started: File name too long."),
        (
            {"argv": ["/etc/passwd"]},
            "Command 1 of kup_gate_commands (/etc/passwd) cannot be started: Permission denied.",
        ),
        (
            {"argv": ["sh", "-c", "sleep 5; hunter2"], "timeout": 1},
            "Command 1 of kup_gate_commands (sh) did not end within 1 s.",
        ),
    ],
)
def test_commands(command, failure):
    failures, _numbers = gate.judge([], [], [command], [], [])
    assert failures == [] if failure is None else failure in failures[0]
    assert SECRET not in str(failures)


def test_each_command_is_found_again_by_its_number():
    failures, _numbers = gate.judge([], [], [{"argv": ["true"]}, {"argv": ["false"]}], [], [])
    assert failures[0].startswith("Command 2 of kup_gate_commands (false) ")


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 503)
        self.end_headers()
        self.wfile.write(b"all is well")

    def log_message(self, *_arguments):
        pass


@pytest.mark.parametrize(
    ("path", "expected", "failure"),
    [
        ("/", {}, None),
        ("/", {"content": "well$"}, None),
        ("/", {"content": "broken"}, "expected a match of 'broken'"),
        ("/", {"status": 204}, "status 200, expected 204"),
        ("/other", {}, "status 503, expected 200"),
        ("/other", {"status": 503}, None),
        ("/other", {"status": 503, "content": "well"}, None),
        ("/other", {"status": 503, "content": "broken"}, "expected a match"),
    ],
)
def test_uris(path, expected, failure):
    with serving(Web) as port:
        failures, _numbers = gate.judge([], [], [], [{"url": f"http://127.0.0.1:{port}{path}", **expected}], [])
    assert failures == [] if failure is None else failure in failures[0]


@pytest.mark.parametrize(
    "url",
    [
        "no URL",
        "magic://127.0.0.1/",
        "hunter2@127.0.0.1/",
        "http://127.0.0.1:x/",
        "http://me:hunter2@127.0.0.1/",
        "http://me:hunter2/@127.0.0.1/",
        "http://me:hunter2?@127.0.0.1/",
        "http://127.0.0.1/a b?hunter2",
        "http://127.0.0.1\t/?hunter2",
        "file:///no/such/file?hunter2",
        "ftp:///hunter2",
        "http:///hunter2",
        "http://[::1/?hunter2",
    ],
)
def test_what_is_no_uri_is_told_by_its_number(url):
    failures, _numbers = gate.judge([], [], [], [{"url": "http://127.0.0.1:9/"}, {"url": url}], [])
    shown = failures[1].partition(" does not answer after ")[0]
    assert shown in ("URI 2 of kup_gate_uris", "http://127.0.0.1/")
    assert SECRET not in failures[1]


@pytest.mark.parametrize(
    ("user", "more", "shown"),
    [("", "/health?token=hunter2", "/health"), ("", "?hunter2", ""), ("", "/a#hunter2", "/a"), ("me:hunter2@", "", "")],
)
def test_neither_the_user_nor_the_query_of_an_uri_is_told(user, more, shown):
    with serving(Web) as port:
        pass
    failures, _numbers = gate.judge([], [], [], [{"url": f"http://{user}127.0.0.1:{port}{more}"}], [])
    assert failures[0].startswith(f"http://127.0.0.1:{port}{shown} does not answer after ")
    assert SECRET not in failures[0]


@pytest.mark.parametrize("more", [{"status": 204}, {"content": "broken"}])
def test_an_answer_that_is_not_as_expected_names_no_query(more):
    with serving(Web) as port:
        failures, _numbers = gate.judge([], [], [], [{"url": f"http://127.0.0.1:{port}/other?hunter2", **more}], [])
    assert failures[0].startswith(f"http://127.0.0.1:{port}/other answered ")
    assert SECRET not in failures[0]


def test_a_server_of_something_else_has_a_cause():
    with serving(answering("SSH-2.0-hello\r\n", stay=False)) as port:
        failures, _numbers = gate.judge([], [], [], [{"url": f"http://127.0.0.1:{port}/"}], [])
    assert failures[0].endswith(" s: it sent no answer in HTTP (BadStatusLine).")


def test_nothing_that_was_sent_to_ask_for_a_number_is_told():
    with serving(answering("ERROR\r\n", stay=False)) as port:
        asked = [number(port, send="AUTH hunter2\r\n"), number(port, send="AUTH hunter2\r\n", pattern="(")]
        failures, _numbers = gate.judge([], [], [], [], asked)
    assert len(failures) == 2
    assert SECRET not in str(failures)


@pytest.mark.parametrize("port", ["memcache", "127.0.0.1:99999"])
def test_what_is_no_port(port):
    failures, _numbers = gate.judge([], [port], [], [], [])
    assert failures[0].startswith(f"Port {port} does not answer")


def test_every_failure_is_told():
    with serving(answering("")) as port:
        pass
    failures, _numbers = gate.judge([], [port], [{"argv": ["false"]}], [{"url": f"http://127.0.0.1:{port}/"}], [])
    assert len(failures) == 3


@pytest.mark.parametrize(
    ("phase", "restored", "main_pid", "restarts", "state", "anew"),
    [
        ("probation", "812\n", 812, "0", "active", False),
        ("probation", "812\n", 1400, "1", "active", True),
        ("probation", "812\n", 0, "0", "failed", True),
        ("probation", "812\n", 1400, "0", "active", False),  # somebody has asked for that
        ("probation", None, 1400, "1", "active", False),
        ("fell_back", "812\n", 1400, "1", "active", False),
    ],
)
def test_a_unit_that_ended_on_trial_is_told_from_the_restored_one(
    tmp_path, monkeypatch, phase, restored, main_pid, restarts, state, anew
):
    monkeypatch.setattr(gate, "RUN", str(tmp_path))
    monkeypatch.setattr(record, "load", lambda: record.Record(PHASE=phase))
    if restored:
        (tmp_path / "cache.service.pid").write_text(restored)
    properties = {"NRestarts": restarts, "ActiveState": state}
    unit = types.SimpleNamespace(name="cache.service", main_pid=main_pid, properties=properties)
    assert gate.started_anew(unit) == anew


@pytest.fixture
def unit(monkeypatch):
    """A unit as the gate sees it: restored, and running since."""
    seen = types.SimpleNamespace(
        name="cache.service",
        active=True,
        main_pid=812,
        cgroup="/system.slice/cache.service",
        processes=[types.SimpleNamespace(pid=812)],
        properties={"ActiveState": "active", "NRestarts": "0"},
    )
    monkeypatch.setattr(gate, "Unit", lambda name: seen)
    monkeypatch.setattr(gate.pending_memory, "lost", lambda name: False)
    monkeypatch.setattr(gate, "started_anew", lambda found: False)
    monkeypatch.setattr(gate.record, "load", record.Record)
    return seen


def test_a_soak_notices_another_boot_and_a_unit_that_was_started_anew(unit, monkeypatch):
    monkeypatch.setattr(gate.timeline, "boot_id", lambda: "1-2")
    assert gate.soak("1-2", ["cache.service"]) == []
    assert gate.soak("1-3", ["cache.service"]) == [
        "The node has restarted since its update: its boot is 1-2, expected 1-3."
    ]
    unit.properties["NRestarts"] = "1"
    assert gate.soak("1-2", ["cache.service"]) == ["cache.service has ended since its update and was started anew."]


def failures_of_unit():
    return gate.judge(["cache.service"], [], [], [], [])[0]


def test_a_unit_as_it_should_be(unit):
    assert failures_of_unit() == []


def test_a_unit_that_is_not_active(unit):
    unit.active, unit.properties["ActiveState"] = False, "failed"
    assert failures_of_unit() == ["cache.service is failed, expected active."]


def test_a_unit_whose_memory_could_not_be_brought_in(unit, monkeypatch):
    monkeypatch.setattr(gate.pending_memory, "lost", lambda name: name == "cache.service")
    assert "cache.service could not be brought in" in failures_of_unit()[0]


@pytest.mark.parametrize(("phase", "fails"), [("probation", True), ("fell_back", False)])
def test_a_unit_that_is_not_as_it_was_goes_back(unit, monkeypatch, phase, fails):
    monkeypatch.setattr(gate.fingerprint, "differences", lambda name: ["TCP_CORK is 0, was 1", "more"])
    monkeypatch.setattr(gate.record, "load", lambda: record.Record(PHASE=phase))
    failures = gate.judge([unit.name], [], [], [], [])[0]
    expected = f"{unit.name} is not as it was before the switch, in 2 respects; the first: TCP_CORK is 0, was 1."
    assert failures == [expected] * fails


def test_a_unit_that_was_started_anew(unit, monkeypatch):
    monkeypatch.setattr(gate, "started_anew", lambda found: found is unit)
    assert failures_of_unit()[0].startswith("cache.service ended after its restore")


def test_a_unit_whose_main_process_is_elsewhere(unit):
    unit.processes = [types.SimpleNamespace(pid=900)]
    assert "main process 812, which is not in its control group" in failures_of_unit()[0]


@pytest.mark.parametrize(
    ("phase", "policies", "passes"),
    [
        ("probation", "", False),
        ("probation", "cache.service=stop", False),
        ("probation", "cache.service=continue", True),
        ("fell_back", "", True),
    ],
)
def test_a_unit_that_was_started_fresh(unit, monkeypatch, phase, policies, passes):
    found = record.Record(PHASE=phase, FRESH_UNITS="cache.service", ON_FAILURE=policies, REASON="its file is gone")
    monkeypatch.setattr(gate.record, "load", lambda: found)
    assert failures_of_unit() == ([] if passes else ["cache.service was started fresh: its file is gone"])


def test_a_unit_that_this_boot_started_fresh_was_not_started_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "RUN", str(tmp_path))
    monkeypatch.setattr(gate.record, "load", lambda: record.Record(PHASE="probation"))
    (tmp_path / "cache.service.pid").write_text("812")
    properties = {"NRestarts": "1", "ActiveState": "active"}
    unit = types.SimpleNamespace(name="cache.service", main_pid=900, properties=properties)
    assert gate.started_anew(unit)
    (tmp_path / "cache.service.fresh").touch()
    assert not gate.started_anew(unit)
    assert gate.runs_anew(unit)


def test_units_that_lost_state_are_named(monkeypatch):
    lost, anew = set(), set()
    monkeypatch.setattr(gate, "Unit", lambda name: types.SimpleNamespace(name=name))
    monkeypatch.setattr(gate.pending_memory, "lost", lost.__contains__)
    monkeypatch.setattr(gate, "started_anew", lambda unit: unit.name in anew)
    both = record.Record(UNITS="a.service b.service")
    assert gate.lost_state(both) == []
    lost.add("a.service")
    assert gate.lost_state(both) == ["a.service"]
    anew.add("b.service")
    assert gate.lost_state(both) == ["a.service", "b.service"]


@pytest.mark.parametrize(("restored", "anew"), [(None, False), ("812", True), ("4", False)])
def test_a_unit_with_another_main_process_runs_anew_whoever_has_started_it(tmp_path, monkeypatch, restored, anew):
    monkeypatch.setattr(gate, "RUN", str(tmp_path))
    if restored:
        (tmp_path / "cache.service.pid").write_text(f"{restored}\n")
    assert gate.runs_anew(types.SimpleNamespace(name="cache.service", main_pid=4)) == anew
