"""What key number i holds in generation g: every byte follows from (i, g), so that a verifier can compare whole values.

A value is a head, `kup:<i> <g>` and a newline, and a SHAKE-128 stream seeded with that head. The head is there for
diagnosis only (it says which value was found in the wrong place); right or wrong is decided by comparing all bytes.
"""

import hashlib
import re

# The head must fit in the smallest value: 4 + 8 digits of key + 1 + up to 10 digits of generation + 1 = 24 bytes.
MIN_SIZE = 32
# memcached's own default for the largest item (-I 1m).
MAX_SIZE = 1 << 20
MAX_KEYS = 10**8

_HEAD = re.compile(rb"kup:(\d{1,8}) (\d{1,10})\n")


def key_name(number):
    """Return the key (str) of a key number."""
    return f"kup:{number}"


def key_number(name):
    """Return the number of a key as `key_name` makes it; ValueError for anything else."""
    prefix, colon, digits = name.partition(":")
    if prefix != "kup" or not colon or not digits.isdecimal():
        raise ValueError(f"key {name!r} is not of the form kup:<number>")
    return int(digits)


def value(number, generation, size):
    """Return the `size` bytes that key `number` holds in `generation` (0 is what `fill` wrote)."""
    head = b"kup:%d %d\n" % (number, generation)
    return head + hashlib.shake_128(head).digest(size - len(head))


def origin(found):
    """Return (number, generation) when `found` is a whole, undamaged value of some key, else None."""
    match = _HEAD.match(found)
    if not match:
        return None
    number, generation = int(match[1]), int(match[2])
    return (number, generation) if value(number, generation, len(found)) == found else None


def describe(found, expected):
    """Say in a few words how the bytes `found` differ from `expected`."""
    whole = origin(found)
    if whole:
        what = f"the whole value of {key_name(whole[0])} generation {whole[1]}"
        return what if len(found) == len(expected) else f"{what} cut to {len(found)} of {len(expected)} bytes"
    if len(found) != len(expected):
        return f"{len(found)} bytes instead of {len(expected)}"
    wrong = [place for place, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    return f"{len(wrong)} of {len(expected)} bytes differ, the first at {wrong[0]}, the last at {wrong[-1]}"
