"""HTTP/1.1 in few lines, on connections that stay open."""


def ask(wire, path, method="GET", body=b""):
    """Return (status, body) of the answer to a request."""
    send(wire, path, method, body)
    return answer(wire)


def send(wire, path, method="GET", body=b""):
    head = f"{method} {path} HTTP/1.1\r\nHost: node\r\nContent-Length: {len(body)}\r\n\r\n"
    wire.send(head.encode() + body)


def answer(wire):
    status, headers = head(wire)
    if headers.get(b"transfer-encoding") == b"chunked":
        return status, b"".join(iter(lambda: chunk(wire), b""))
    return status, wire.take(int(headers.get(b"content-length", 0)))


def head(wire):
    """Return (status, headers) of the answer that comes next: names and values in small letters."""
    status = int(wire.line().split()[1])
    headers = {}
    while line := wire.line():
        name, _colon, value = line.partition(b":")
        headers[name.lower()] = value.strip().lower()
    return status, headers


def chunk(wire):
    """Return the next part of an answer that comes in chunks; b"": it was the last."""
    body = wire.take(int(wire.line().split(b";")[0], 16))
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
    """A client that asks for the same PATHS all the time, on two open connections, one with a request of which a half is sent."""

    def __init__(self, connect, port, *paths):
        self._first, self._second = connect(port), connect(port)
        self._was = {path: ask(self._first, path) for path in paths or ("/",)}
        self._half = next(iter(self._was))
        ask(self._second, self._half)

    def before(self):
        ask(self._first, self._half)
        self._second.send(f"GET {self._half} HTTP/1.1\r\nHo".encode())

    def after(self):
        found = [(path, ask(self._first, path)) for path in self._was]
        self._second.send(b"st: node\r\n\r\n")
        found.append((self._half, answer(self._second)))
        wrong = [(path, one) for path, one in found if one != self._was[path]]
        return [f"{path} was answered {one!r}, before {self._was[path]!r}" for path, one in wrong[:1]] + [
            f"{len(wrong)} of {len(found)} answers are not what they were"
        ] * (len(wrong) > 1)
