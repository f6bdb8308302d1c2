"""PHP as a service of its own: a script that is in the middle of what it reads, and has its first half in memory"""

import hashlib
import struct

UNITS = ("php@VERSION@-fpm.service",)
PORTS = (9000,)
PACKAGES = ("php-fpm", "php@VERSION@-fpm")
RELEASES = {"12": "8.2", "13": "8.4"}
HALF = 65536  # bytes, whole blocks of what PHP reads at once
SCRIPT = "/usr/local/lib/halves.php"
FILES = {
    SCRIPT: """<?php
$input = fopen('php://input', 'rb');
$first = '';
while (strlen($first) < HALF) $first .= fread($input, HALF - strlen($first));
echo getmypid(), "\\n";
flush();
$second = stream_get_contents($input);
echo md5($first . $second), "\\n";
""".replace("HALF", str(HALF)),
}
SETUP = """
sed -i -e 's/^listen = .*/listen = 0.0.0.0:9000/' /etc/php/@VERSION@/fpm/pool.d/www.conf
sed -i -e 's/^output_buffering = .*/output_buffering = Off/' /etc/php/@VERSION@/fpm/php.ini
"""
# https://fastcgi-archives.github.io/FastCGI_Specification.html
_BEGIN, _END, _PARAMS, _STDIN, _STDOUT, _STDERR = 1, 3, 4, 5, 6, 7
_RESPONDER, _KEEP = 1, 1
_MOST = 32768  # bytes of one record


class Request:
    """A request on a connection that stays open."""

    def __init__(self, wire, size):
        self._wire, self._said = wire, b""
        self._record(_BEGIN, struct.pack(">HB5x", _RESPONDER, _KEEP))
        self._record(
            _PARAMS,
            b"".join(
                bytes([len(name), len(value)]) + name + value
                for name, value in (
                    (b"SCRIPT_FILENAME", SCRIPT.encode()),
                    # PHP itself reads all of what is posted, before the script.
                    (b"REQUEST_METHOD", b"PUT"),
                    (b"CONTENT_TYPE", b"application/octet-stream"),
                    (b"CONTENT_LENGTH", str(size).encode()),
                )
            ),
        )
        self._record(_PARAMS, b"")

    def _record(self, kind, content):
        self._wire.send(struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content)

    def send(self, data):
        for begin in range(0, len(data), _MOST):
            self._record(_STDIN, data[begin : begin + _MOST])

    def _read(self):
        """Take one record; return whether it was the last."""
        _version, kind, _id, size, padding = struct.unpack(">BBHHBx", self._wire.take(8))
        content = self._wire.take(size)
        self._wire.take(padding)
        if kind == _STDERR and content:
            raise ValueError(content.decode(errors="replace"))
        self._said += content if kind == _STDOUT else b""
        return kind == _END

    def first_line(self):
        """Return the first line of the script's answer."""
        while self._said.count(b"\n", self._said.find(b"\r\n\r\n") + 4) < 1 or b"\r\n\r\n" not in self._said:
            if self._read():
                break
        return self._body()[0]

    def end(self):
        """Return all lines of the answer."""
        self._record(_STDIN, b"")
        while not self._read():
            pass
        return self._body()

    def _body(self):
        return self._said.partition(b"\r\n\r\n")[2].split(b"\n")


class Client:
    def __init__(self, connect):
        self._connect, self._data = connect, bytes(number % 251 for number in range(2 * HALF))
        self._request, self._pid = None, b""

    def before(self):
        # Not before: PHP closes a connection on which nothing comes for five seconds.
        self._request = Request(self._connect(PORTS[0]), len(self._data))
        self._request.send(self._data[:HALF])
        self._pid = self._request.first_line()

    def after(self):
        self._request.send(self._data[HALF:])
        found, expected = self._request.end()[:2], [self._pid, hashlib.md5(self._data).hexdigest().encode()]
        return [f"a divided request was answered {found!r}, expected {expected!r}"] * (found != expected)
