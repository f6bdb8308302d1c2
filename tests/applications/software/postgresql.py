"""An open transaction with a cursor, a temporary table, a prepared statement, a lock of a session, a subscription"""

import struct

UNITS = ("postgresql@@VERSION@-main.service",)
PORTS = (5432,)
PACKAGES = ("postgresql", "postgresql-@VERSION@")
RELEASES = {"12": "15", "13": "17"}
FILES = {"/etc/postgresql/@VERSION@/main/conf.d/node.conf": "listen_addresses = '*'\n"}
SETUP = """
grep -q of_lab /etc/postgresql/@VERSION@/main/pg_hba.conf || echo 'host kup of_lab 10.77.0.0/16 trust' >>/etc/postgresql/@VERSION@/main/pg_hba.conf
"""
#: Run when the unit is active.
AFTER = """
cd /
su postgres -c "psql -qc 'create role of_lab login'" || :
su postgres -c "psql -qc 'create database kup owner of_lab'" || :
"""
ROWS = 500
# Of the protocol: https://www.postgresql.org/docs/17/protocol-message-formats.html
_VERSION = 3 << 16


class Connection:
    """A trusted account, and queries whose results are text."""

    def __init__(self, wire, user, database):
        self._wire = wire
        #: What the server has told of its own accord: (channel, text).
        self.notified = []
        words = b"user\0" + user + b"\0database\0" + database + b"\0\0"
        wire.send(struct.pack("!ii", 8 + len(words), _VERSION) + words)
        self._rows()

    def _message(self):
        kind, size = struct.unpack("!ci", self._wire.take(5))
        return kind, self._wire.take(size - 4)

    def _rows(self):
        """Return the rows that come before the server is ready for the next query."""
        rows, wrong = [], None
        while True:
            kind, data = self._message()
            if kind == b"D":
                rows.append(_fields(data))
            elif kind == b"A":
                self.notified.append(tuple(word.decode() for word in data[4:].split(b"\0")[:2]))
            elif kind == b"E":
                wrong = data.replace(b"\0", b" ").decode(errors="replace")
            elif kind == b"Z":
                break
        if wrong:
            raise ValueError(f"PostgreSQL says {wrong}")
        return rows

    def query(self, text):
        self._wire.send(b"Q" + struct.pack("!i", 5 + len(text)) + text.encode() + b"\0")
        return self._rows()


def _fields(data):
    fields, place = [], 2
    for _number in range(struct.unpack_from("!h", data)[0]):
        (size,) = struct.unpack_from("!i", data, place)
        place += 4
        fields.append(None if size < 0 else data[place : place + size].decode())
        place += max(size, 0)
    return fields


class Client:
    _HELD = "select count(*), sum(length(text)), pg_backend_pid() from passing"

    def __init__(self, connect):
        self._one, self._other = (Connection(connect(PORTS[0]), b"of_lab", b"kup") for _number in range(2))
        self._one.query("drop table if exists stock; create table stock (id int primary key, text varchar(200))")
        self._one.query(
            f"create temporary table passing as select id, repeat('t', id % 200) as text from generate_series(1, {ROWS}) as id"
        )
        self._one.query("prepare add (int) as insert into stock values ($1, 'row ' || $1)")
        self._one.query("select pg_advisory_lock(77)")
        self._other.query("listen news")
        self._round = 0

    def before(self):
        self._round += 1
        self._one.query("begin")
        for number in range(ROWS):
            self._one.query(f"execute add ({self._round * ROWS + number})")
        self._one.query("notify news, 'of the transaction'")
        self._one.query("declare reading cursor for select id from passing order by id")
        self._one.query("fetch 10 from reading")
        self._was = self._one.query(self._HELD)
        self._other.notified.clear()

    def after(self):
        first = self._round * ROWS
        mine = f"select count(*), sum(length(text)) from stock where id >= {first}"
        texts = str(sum(len(f"row {number}") for number in range(first, first + ROWS)))
        found = {
            "the temporary table": (self._one.query(self._HELD), self._was),
            "the cursor": (self._one.query("fetch 2 from reading"), [["11"], ["12"]]),
            "what others see of the transaction": (self._other.query(mine), [["0", None]]),
            "what it sees itself": (self._one.query(mine), [[str(ROWS), texts]]),
            "the lock of the session": (self._other.query("select pg_try_advisory_lock(77)"), [["f"]]),
        }
        self._one.query(f"execute add ({first - 1 + 10 * ROWS})")
        self._one.query("commit")
        found["what others see after its end"] = (self._other.query(mine)[0][0], str(ROWS + 1))
        found["the news"] = (self._other.notified, [("news", "of the transaction")])
        self._one.query(f"delete from stock where id = {first - 1 + 10 * ROWS}")
        return [f"{name} is {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
