"""An open transaction, a temporary table, a variable of the session; the data on a disk of their own"""

import struct

UNITS = ("mariadb.service",)
PORTS = (3306,)
PACKAGES = ("mariadb-server",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/etc/mysql/mariadb.conf.d/99-node.cnf": "[mariadbd]\nbind-address = 0.0.0.0\n",
}
DATA = "/var/lib/mysql"
# MariaDB 10.11 waits without O_NONBLOCK for the next packet of a connection whose poll(2) a signal, or CRIU 3.17.1, has interrupted.
WORKS = r"fd \d+ is 'socket 2000002', was 'socket 2004002'"
#: Run when the unit is active.
AFTER = """
mariadb -e "create database if not exists kup; create or replace user of_lab@'10.77.0.%' identified via mysql_native_password using '';
grant all on kup.* to of_lab@'10.77.0.%'; create or replace table kup.stock (id int primary key, text varchar(200)) engine=innodb"
"""
ROWS = 500
# Of the protocol: https://mariadb.com/kb/en/connection/
_CLIENT = 0x00000001 | 0x00000200 | 0x00008000 | 0x00080000  # long password, protocol 4.1, secure connection, plugin
_OK, _EOF, _ERROR = 0x00, 0xFE, 0xFF


class Connection:
    """An account without a password, and queries whose results are text."""

    def __init__(self, wire, user):
        self._wire = wire
        self._packet()
        self._send(struct.pack("<IIB23x", _CLIENT, 1 << 24, 45) + user + b"\0" + b"\0" + b"mysql_native_password\0", 1)
        answer = self._packet()
        if answer[0] == _EOF:
            # Another way to prove who it is: an empty password has an empty proof.
            self._send(b"", 3)
            answer = self._packet()
        if answer[0] != _OK:
            raise ValueError(f"MariaDB refuses {user.decode()}: {answer[1:]!r}")

    def _packet(self):
        head = self._wire.take(4)
        return self._wire.take(int.from_bytes(head[:3], "little"))

    def _send(self, data, number):
        self._wire.send(len(data).to_bytes(3, "little") + bytes([number]) + data)

    def query(self, text):
        """Return the rows of the result, none for a statement without one."""
        self._send(b"\x03" + text.encode(), 0)
        first = self._packet()
        if first[0] == _ERROR:
            raise ValueError(f"{text[:60]}: {first[9:].decode(errors='replace')}")
        if first[0] == _OK:
            return []
        for _column in range(first[0] + 1):
            self._packet()
        rows = []
        while (packet := self._packet())[0] != _EOF or len(packet) > 8:
            rows.append(_fields(packet))
        return rows


def _fields(packet):
    """Return the fields of a row, each shorter than 64 KiB."""
    fields, place = [], 0
    while place < len(packet):
        size, place = packet[place], place + 1
        if size == 0xFB:
            fields.append(None)
            continue
        if size == 0xFC:
            size, place = int.from_bytes(packet[place : place + 2], "little"), place + 2
        fields.append(packet[place : place + size].decode())
        place += size
    return fields


class Client:
    def __init__(self, connect):
        self._one, self._other = (Connection(connect(PORTS[0]), b"of_lab") for _number in range(2))
        self._one.query("use kup")
        self._one.query("create temporary table passing (id int primary key, text varchar(200)) engine=innodb")
        rows = ", ".join(f"({number}, repeat('t', {number % 200}))" for number in range(ROWS))
        self._one.query(f"insert into passing values {rows}")
        self._one.query("set @remembered = 'of before'")
        self._round = 0

    _HELD = "select count(*), sum(length(text)), min(@remembered), connection_id() from passing"

    def before(self):
        self._round += 1
        self._one.query("start transaction")
        for number in range(ROWS):
            self._one.query(f"insert into stock values ({self._round * ROWS + number}, 'row {number}')")
        self._was = self._one.query(self._HELD)

    def after(self):
        mine = f"select count(*), sum(length(text)) from kup.stock where id >= {self._round * ROWS}"
        texts = str(sum(len(f"row {number}") for number in range(ROWS)))
        found = {
            "the temporary table": (self._one.query(self._HELD), self._was),
            "what others see of the transaction": (self._other.query(mine), [["0", None]]),
            "what it sees itself": (self._one.query(mine), [[str(ROWS), texts]]),
        }
        self._one.query("commit")
        found["what others see after its end"] = (self._other.query(mine), [[str(ROWS), texts]])
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
