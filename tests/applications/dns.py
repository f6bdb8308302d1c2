"""DNS in few lines (RFC 1035): over TCP (section 4.2.2) on connections that stay open, and by datagrams."""

import struct

_TXT, _IN, _RECURSE = 16, 1, 0x0100
_OPTION_KEEPALIVE = 11  # RFC 7828


def question(number, name):
    """Return the bytes that ask for the text of NAME."""
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b".")) + b"\0"
    # With EDNS, and the wish that the connection stays open.
    wish = b"\0" + struct.pack(">HHIHHH", 41, 1232, 0, 4, _OPTION_KEEPALIVE, 0)
    body = struct.pack(">6H", number, _RECURSE, 1, 0, 0, 1) + labels + struct.pack(">HH", _TXT, _IN) + wish
    return struct.pack(">H", len(body)) + body


def answer(wire):
    """Return (number, error code, texts) of the next answer."""
    (size,) = struct.unpack(">H", wire.take(2))
    return _read(wire.take(size))


def _read(body):
    number, flags, questions, answers = struct.unpack(">4H", body[:8])
    at, texts = 12, []
    for _question in range(questions):
        at = _skip_name(body, at) + 4
    for _answer in range(answers):
        at = _skip_name(body, at)
        kind, _class, _ttl, length = struct.unpack(">HHIH", body[at : at + 10])
        at += 10
        if kind == _TXT:
            texts.append(body[at + 1 : at + 1 + body[at]].decode())
        at += length
    return number, flags & 15, texts


def _skip_name(body, at):
    while body[at]:
        if body[at] >= 0xC0:
            return at + 2
        at += 1 + body[at]
    return at + 1


class Asking:
    """A client that has one connection with half a question, and one that asks for names and gets the texts that it EXPECTS."""

    def __init__(self, connect, port, expected):
        self._connect, self._port, self._expected = connect, port, expected
        self._first = self._second = None
        self._number = 0

    def _ask(self, wire, name):
        self._number += 1
        wire.send(question(self._number, name))
        return answer(wire) == (self._number, 0, [self._expected[name]])

    def before(self):
        # Not before: a server soon closes a connection on which nothing was asked.
        self._first, self._second = self._connect(self._port), self._connect(self._port)
        name = next(iter(self._expected))
        if not (self._ask(self._first, name) and self._ask(self._second, name)):
            raise ValueError(f"{name} is not answered as it should be before the update")
        self._half = question(7, name)
        self._second.send(self._half[:9])

    def after(self):
        wrong = [name for name in self._expected if not self._ask(self._first, name)]
        self._second.send(self._half[9:])
        found, expected = answer(self._second), (7, 0, [next(iter(self._expected.values()))])
        return [f"{name} is answered otherwise" for name in wrong] + [
            f"the divided question was answered {found!r}"
        ] * (found != expected)


class Cached:
    """A client that asks by datagrams for the texts of NAMES, which a cache has to remember."""

    def __init__(self, connect, port, names):
        self._wire = connect(port, datagrams=True)
        self._was = {name: self._ask(number, name) for number, name in enumerate(names)}

    def _ask(self, number, name):
        self._wire.send(question(number, name)[2:])
        found = _read(self._wire.take())
        if found[:2] != (number, 0) or not found[2]:
            raise ValueError(f"{name} was answered {found!r}")
        return found[2]

    def before(self):
        if self.after():
            raise ValueError("the names are not remembered before the update")

    def after(self):
        wrong = sum(self._ask(number, name) != self._was[name] for number, name in enumerate(self._was))
        return [f"{wrong} of {len(self._was)} names are not answered as they were"] * bool(wrong)
