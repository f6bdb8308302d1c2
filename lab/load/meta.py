"""memcached's meta protocol, as far as the load client speaks it: `mg` (read), `ms` (write) and their answers.

The text is in memcached's doc/protocol.txt; the answers `HD`, `VA`, `EN` are those of 1.6.12 and later.
"""

STORED = b"HD"
VALUE = b"VA"
MISSING = b"EN"

# A line longer than this is no answer of memcached: its longest are SERVER_ERROR texts.
_LONGEST_LINE = 2048


class ProtocolError(Exception):
    """The peer sent bytes that are no answer of the meta protocol."""


def read_request(key):
    """Return the request (bytes) for the value of `key` (str)."""
    return b"mg %s v\r\n" % key.encode()


def write_request(key, value):
    """Return the request (bytes) that stores `value` (bytes) under `key` (str)."""
    return b"ms %s %d\r\n%s\r\n" % (key.encode(), len(value), value)


def value_length(line):
    """Return the length in the answer line `VA <length> …`; ProtocolError when there is none."""
    words = line.split()
    if len(words) < 2 or not words[1].isdigit():
        raise ProtocolError(f"answer {line!r} has no length")
    return int(words[1])


def parse(buffer):
    """Parse the first answer in `buffer` (bytes-like).

    Return None while it is incomplete, else (line, value, used): the answer's line without its end, the value's bytes
    (None for an answer without a value) and how many bytes of the buffer the answer took.
    """
    end = buffer.find(b"\r\n")
    if end < 0:
        if len(buffer) > _LONGEST_LINE:
            raise ProtocolError(f"{len(buffer)} bytes without a line end, starting {bytes(buffer[:40])!r}")
        return None
    line = bytes(buffer[:end])
    if not line.startswith(VALUE + b" "):
        return line, None, end + 2
    start = end + 2
    stop = start + value_length(line)
    if len(buffer) < stop + 2:
        return None
    if not buffer.startswith(b"\r\n", stop):
        raise ProtocolError(f"a value of {stop - start} bytes is not followed by a line end")
    return line, bytes(buffer[start:stop]), stop + 2
