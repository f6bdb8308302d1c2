"""The clients' own parsers, against bytes that the servers send."""

import json
import socket
import struct

import pytest

from tests.applications import dns, http
from tests.applications.software import (
    mariadb,
    mosquitto,
    php_fpm,
    postfix,
    postgresql,
    prometheus,
    rabbitmq,
    redis,
    slapd,
)
from tests.applications.wire import Wire


@pytest.fixture(name="said")
def _said():
    """Return a function that returns a wire on which the other side has said DATA, and closed it."""
    sockets = []

    def say(data):
        mine, other = socket.socketpair()
        sockets.extend((mine, other))
        other.sendall(data)
        other.shutdown(socket.SHUT_WR)
        wire = object.__new__(Wire)
        wire._socket, wire._reader = mine, mine.makefile("rb")
        return wire

    yield say
    for one in sockets:
        one.close()


def test_an_end_in_the_middle_is_a_lost_connection(said):
    with pytest.raises(ConnectionResetError):
        said(b"half a li").line()
    with pytest.raises(ConnectionResetError):
        said(b"abc").take(4)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"+OK\r\n", b"OK"), (b":7\r\n", 7), (b"$-1\r\n", None), (b"$3\r\na\r\n\r\n", b"a\r\n"), (b"*2\r\n:1\r\n$1\r\nx\r\n", [1, b"x"])],
)  # fmt: skip
def test_replies_of_redis(said, data, expected):
    assert redis.reply(said(data)) == expected


def test_an_error_of_redis_is_no_value(said):
    assert isinstance(redis.reply(said(b"-ERR EXEC without MULTI\r\n")), ValueError)


def packet(number, data):
    return len(data).to_bytes(3, "little") + bytes([number]) + data


def test_a_result_of_mariadb(said):
    wire = said(
        packet(0, b"\x0a11.8") + packet(2, b"\0\0\0") + packet(1, b"\x02") + packet(2, b"column") * 2 + packet(4, b"\xfe\0\0\0\0")
        + packet(5, b"\x03500\xfb") + packet(6, b"\xfc\x2c\x01" + b"x" * 300 + b"\x01y") + packet(7, b"\xfe\0\0\0\0")
    )  # fmt: skip
    assert mariadb.Connection(wire, b"of_lab").query("select") == [["500", None], ["x" * 300, "y"]]


def test_a_refusal_of_mariadb(said):
    wire = said(packet(0, b"\x0a11.8") + packet(2, b"\xff\x15\x04#28000Access denied"))
    with pytest.raises(ValueError, match="refuses of_lab"):
        mariadb.Connection(wire, b"of_lab")


def frame(kind, payload):
    return bytes([kind]) + b"\0\1" + len(payload).to_bytes(4, "big") + payload + b"\xce"


def test_a_message_of_rabbitmq(said):
    hello = b"".join(
        frame(1, bytes([0, klass, 0, method])) for klass, method in ((10, 10), (10, 30), (10, 41), (20, 11))
    )
    declared = frame(1, bytes([0, 50, 0, 11]) + b"\x01q" + (19).to_bytes(4, "big") + b"\0\0\0\0")
    got = frame(1, bytes([0, 60, 0, 71]) + (3).to_bytes(8, "big") + b"\0\0\0") + frame(2, b"header") + frame(3, b"hi")
    connection = rabbitmq.Connection(said(hello + declared + got + frame(1, bytes([0, 60, 0, 72, 0]))))
    assert connection.declare(b"q") == 19
    assert connection.get(b"q") == (3, b"hi")
    assert connection.get(b"q") is None


def test_answers_of_web_servers(said):
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n"
    wire = said(b"HTTP/1.1 404 Not Found\r\nContent-length: 2\r\n\r\nno" + chunked + b"HTTP/1.1 204 No Content\r\n\r\n")
    assert [http.answer(wire) for _number in range(3)] == [(404, b"no"), (200, b"abcde"), (204, b"")]


def test_an_answer_of_a_web_server_without_an_end(said):
    wire = said(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    assert http.head(wire) == (200, {b"transfer-encoding": b"chunked"})
    assert http.chunk(wire) == b"abc"


def message(kind, data):
    return kind + (4 + len(data)).to_bytes(4, "big") + data


def test_results_and_notifications_of_postgresql(said):
    wire = said(
        message(b"R", bytes(4)) + message(b"K", bytes(8)) + message(b"Z", b"I")
        + message(b"T", bytes(6)) + message(b"D", b"\0\2" + (3).to_bytes(4, "big") + b"500" + b"\xff" * 4)
        + message(b"A", bytes(4) + b"news\0of before\0") + message(b"C", b"SELECT 1\0") + message(b"Z", b"T")
        + message(b"E", b"SERROR\0Mno such table\0\0") + message(b"Z", b"E")
    )  # fmt: skip
    connection = postgresql.Connection(wire, b"of_lab", b"kup")
    assert connection.query("select") == [["500", None]]
    assert connection.notified == [("news", "of before")]
    with pytest.raises(ValueError, match="no such table"):
        connection.query("select")


def records(*parts):
    return b"".join(
        struct.pack(">BBHHBx", 1, kind, 1, len(content), 3) + content + b"\0\0\0" for kind, content in parts
    )


def test_an_answer_of_fastcgi_in_parts(said):
    wire = said(
        records(
            (6, b"Content-type: text/html\r\n"), (6, b"\r\n12"), (6, b"3\n"), (6, b"digest\n"), (6, b""), (3, bytes(8))
        )
    )
    request = php_fpm.Request(wire, 8)
    assert request.first_line() == b"123"
    assert request.end() == [b"123", b"digest", b""]


def test_what_php_complains_of_is_an_error(said):
    request = php_fpm.Request(said(records((7, b"PHP message: no file"))), 8)
    with pytest.raises(ValueError, match="no file"):
        request.end()


def test_an_answer_of_a_name_server(said):
    name = b"\4name\2of\3lab\0"
    record = struct.pack(">HHIH", 16, 1, 60, 7) + b"\6text 1"
    body = struct.pack(">6H", 7, 0x8400, 1, 1, 0, 0) + name + struct.pack(">HH", 16, 1) + b"\xc0\x0c" + record
    assert dns.answer(said(struct.pack(">H", len(body)) + body)) == (7, 0, ["text 1"])
    assert dns.question(7, "name.of.lab")[2:].startswith(struct.pack(">6H", 7, 0x0100, 1, 0, 0, 1) + name)


def test_messages_of_mosquitto(said):
    long = b"x" * 300
    connection = mosquitto.Connection(
        said(
            b"\x20\2\0\0\x90\3\0\1\1\x32\xb1\2\0\1t\0\7" + long + b"\x31\4\0\1tk\x40\2\0\1",
        ),
        b"me",
    )
    connection.subscribe(b"t")
    assert connection.message() == (b"t", long, b"\0\7")
    assert connection.message() == (b"t", b"k", None)
    with pytest.raises(ValueError, match="kind 4, expected 3"):
        connection.message()


def test_pages_of_a_directory(said):
    def result(*controls):
        body = slapd.number(1) + slapd.item(0x65, slapd.item(10, b"\0"), slapd.word(b""), slapd.word(b""))
        return slapd.item(0x30, body, *controls)

    entry = slapd.item(0x30, slapd.number(1), slapd.item(0x64, slapd.word(b"x" * 300)))
    page = slapd.item(0x30, slapd.item(2, b"\0"), slapd.word(b"next"))
    control = slapd.item(0xA0, slapd.item(0x30, slapd.word(b"1.2.3"), slapd.word(page)))
    connection = slapd.Connection(said(entry + entry + result(control) + result()))
    assert connection.answer() == ([0x64, 0x64], b"next")
    assert connection.answer() == ([], b"")


def test_a_refusal_of_a_directory(said):
    refused = slapd.item(0x65, slapd.item(10, b"\x31"), slapd.word(b""), slapd.word(b"invalid credentials"))
    with pytest.raises(ValueError, match="error 49: invalid credentials"):
        slapd.Connection(said(slapd.item(0x30, slapd.number(1), refused))).answer()


def test_numbers_of_a_directory_are_signed():
    assert slapd.number(127) == b"\2\1\x7f"
    assert slapd.number(128) == b"\2\2\0\x80"


def test_answers_of_a_mail_server(said):
    wire = said(b"220 node\r\n250-node\r\n250-SIZE 1\r\n250 SMTPUTF8\r\n503 no sender\r\n")
    connection = postfix.Connection(wire)
    with pytest.raises(ValueError, match="503 no sender, expected 250"):
        connection.say(b"RCPT TO:<root@localhost>")


def measured(*samples):
    return {"result": [{"value": [9, sample]} for sample in samples]}


def answers(*several):
    bodies = [json.dumps({"status": "success", "data": data}).encode() for data in several]
    return b"".join(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


STARTED = {"startTime": "2026-11-25T19:30:32Z"}


@pytest.mark.parametrize(
    ("now", "found"),
    [(measured("7.5"), []), (measured(), ["its oldest sample is [], was ['7.5']"])],
    ids=["kept", "lost"],
)
def test_the_oldest_measurement_is_waited_for_and_has_to_be_there_again(said, monkeypatch, now, found):
    monkeypatch.setattr(prometheus.time, "sleep", lambda seconds: None)
    wires = [said(answers(STARTED, measured(), measured("7.5"), STARTED, now)), said(answers(STARTED))]
    client = prometheus.Client(lambda port: wires.pop(0))
    client.before()
    assert client.after() == found


def test_a_database_without_measurements_cannot_be_tried(said, monkeypatch):
    monkeypatch.setattr(prometheus, "_PATIENCE", -1)
    client = prometheus.Client(lambda port: said(answers(STARTED, measured())))
    with pytest.raises(ValueError, match="no measurement of itself"):
        client.before()
