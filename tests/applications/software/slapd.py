"""A directory: the account of an open connection, a search whose second page is asked for later, half a request"""

UNITS = ("slapd.service",)
PORTS = (389,)
PACKAGES = ("slapd",)
BASE, ROOT, PASSWORD = b"dc=nodomain", b"cn=admin,dc=nodomain", b"of-lab"
AFTER = """
systemctl stop slapd
slapmodify -n 0 <<END
dn: olcDatabase={1}mdb,cn=config
changetype: modify
replace: olcRootPW
olcRootPW: $(slappasswd -s of-lab)
END
chown -R openldap: /etc/ldap/slapd.d
systemctl start slapd
"""
_ENTRIES, _PAGE = 60, 25
_PAGED = b"1.2.840.113556.1.4.319"  # RFC 2696


def item(tag, *parts):
    """Return bytes: an element of BER (X.690) with a TAG."""
    body = b"".join(parts)
    size = bytes([len(body)]) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes([tag]) + size + body


def items(body):
    """Return the elements in BODY: (tag, content)."""
    found, at = [], 0
    while at < len(body):
        tag, size = body[at], body[at + 1]
        at += 2
        if size >= 128:
            many = size & 127
            size, at = int.from_bytes(body[at : at + many], "big"), at + many
        found.append((tag, body[at : at + size]))
        at += size
    return found


def number(value, tag=2):
    return item(tag, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def word(text, tag=4):
    return item(tag, text)


class Connection:
    def __init__(self, wire):
        self._wire, self._count = wire, 0

    def message(self, request, *controls):
        self._count += 1
        return item(0x30, number(self._count), request, *(item(0xA0, one) for one in controls))

    def send(self, data):
        self._wire.send(data)

    def _take(self):
        """Return the elements of the next message."""
        head = self._wire.take(2)
        size = head[1]
        if size >= 128:
            size = int.from_bytes(self._wire.take(size & 127), "big")
        return items(self._wire.take(size))

    def answer(self):
        """Return (tags of the messages before the result, cookie of the next page) of an answer; an error is a ValueError."""
        tags = []
        while True:
            _number, (tag, body), *controls = self._take()
            if tag in (0x64, 0x73):
                tags.append(tag)
                continue
            (_tag, code), _dn, (_text_tag, text), *_rest = items(body)
            if code != b"\0":
                raise ValueError(f"error {code[0]}: {text.decode(errors='replace')}")
            return tags, self._cookie(controls)

    @staticmethod
    def _cookie(controls):
        for _tag, body in controls:
            for _one, control in items(body):
                (_tag_name, _name), *_rest, (_tag_value, value) = items(control)
                ((_sequence, page),) = items(value)
                return items(page)[1][1]
        return b""

    def ask(self, request, *controls):
        self.send(self.message(request, *controls))
        return self.answer()


def bind():
    return item(0x60, number(3), word(ROOT), word(PASSWORD, 0x80))


def add(name):
    def attribute(key, *values):
        return item(0x30, word(key), item(0x31, *(word(value) for value in values)))

    return item(
        0x68,
        word(b"cn=%s,%s" % (name, BASE)),
        item(0x30, attribute(b"objectClass", b"organizationalRole"), attribute(b"cn", name)),
    )


def search():
    # All below the base that have a name of a role, and only their names (RFC 4511, section 4.5.1).
    scope = number(1, 10) + number(0, 10) + number(0) + number(0) + item(1, b"\0")
    return item(
        0x63, word(BASE), scope, item(0xA3, word(b"objectClass"), word(b"organizationalRole")), item(0x30, word(b"1.1"))
    )


def page(cookie=b""):
    return item(0x30, word(_PAGED), item(1, b"\xff"), word(item(0x30, number(_PAGE), word(cookie))))


class Client:
    def __init__(self, connect):
        self._first, self._second = Connection(connect(PORTS[0])), Connection(connect(PORTS[0]))
        self._cookie, self._count, self._half, self._turn = b"", 0, b"", 0
        for one in (self._first, self._second):
            one.ask(bind())
        for each in range(_ENTRIES):
            self._first.ask(add(b"entry-%d" % each))

    def before(self):
        self._turn += 1
        tags, self._cookie = self._first.ask(search(), page())
        self._count = len(tags)
        # Adding needs the account that this connection has.
        self._half = self._second.message(add(b"turn-%d" % self._turn))
        self._second.send(self._half[:20])

    def after(self):
        while self._cookie:
            tags, self._cookie = self._first.ask(search(), page(self._cookie))
            self._count += len(tags)
        self._second.send(self._half[20:])
        self._second.answer()
        expected = _ENTRIES + self._turn - 1
        return [f"{self._count} entries were found, expected {expected}"] * (self._count != expected)
