"""HTTP/1.1 in few lines, on connections that stay open."""


def ask(wire, path, method="GET", body=b""):
    """Return (status, body) of the answer to a request."""
    send(wire, path, method, body)
    return answer(wire)


def send(wire, path, method="GET", body=b""):
    head = f"{method} {path} HTTP/1.1\r\nHost: node\r\nContent-Length: {len(body)}\r\n\r\n"
    wire.send(head.encode() + body)


def answer(wire):
    status = int(wire.line().split()[1])
    headers = {}
    while line := wire.line():
        name, _colon, value = line.partition(b":")
        headers[name.lower()] = value.strip().lower()
    if headers.get(b"transfer-encoding") == b"chunked":
        return status, _chunks(wire)
    return status, wire.take(int(headers.get(b"content-length", 0)))


def _chunks(wire):
    body = b""
    while size := int(wire.line().split(b";")[0], 16):
        body += wire.take(size)
        wire.line()
    wire.line()
    return body


class Remembering:
    """A client of a service of the tests that remembers what it is sent (PUT /KEY, GET /KEY), on two open connections."""

    def __init__(self, connect, port, pairs):
        self._pairs = pairs
        self._first, self._second = connect(port), connect(port)
        for key, value in pairs:
            ask(self._first, f"/{key.decode()}", "PUT", value)

    def before(self):
        # A request whose second half comes after the update.
        self._second.send(b"GET /" + self._pairs[0][0] + b" HTTP/1.1\r\nHost: ")

    def after(self):
        wrong = sum(ask(self._first, f"/{key.decode()}") != (200, value) for key, value in self._pairs)
        self._second.send(b"node\r\n\r\n")
        found = answer(self._second)
        return [f"{wrong} of {len(self._pairs)} values are not what they were"] * bool(wrong) + [
            f"the divided request was answered {found!r}"
        ] * (found != (200, self._pairs[0][1]))


class Serving:
    """A client of a web server: two open connections, one with a request of which a half is sent."""

    def __init__(self, connect, port, path="/"):
        self._path = path
        self._first, self._second = connect(port), connect(port)
        self._was = ask(self._first, path)
        ask(self._second, path)

    def before(self):
        ask(self._first, self._path)
        self._second.send(f"GET {self._path} HTTP/1.1\r\nHo".encode())

    def after(self):
        found = [ask(self._first, self._path)]
        self._second.send(b"st: node\r\n\r\n")
        found.append(answer(self._second))
        return [f"a request was answered {one!r}, before {self._was!r}" for one in found if one != self._was]
