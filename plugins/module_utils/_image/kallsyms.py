# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The table of symbols that a kernel carries in itself (kernel/kallsyms.c), in every layout from 5.10 to 7.3.

======== =====================================================================================================
to 6.3   offsets, relative base, number, names, markers, (6.1.y, 6.2: order of names,) tokens, token index;
         per-CPU symbols are absolute
6.4      number, names, markers, tokens, token index, offsets, relative base
6.15     the same, and no symbol is absolute any more
7.0      no relative base: an offset counts from its own place
======== =====================================================================================================

No symbols name the tables themselves: they are found by their necessary content.
"""

from __future__ import annotations

import itertools
import struct

from .._errors import KupError

# The digits are always tokens for themselves: names end in them too often and in too many ways.
_DIGITS = b"".join(b"%d\0" % digit for digit in range(10))
_TOKENS = 256
_PER_MARKER = 256
_MOST = 2_000_000


class Symbols:
    """Symbols of one kernel.

    :ivar layout: release in which this layout came, e.g. ``6.4``, for people.
    """

    def __init__(self, layout, names, addresses):
        self.layout = layout
        self._addresses = {}
        self._ambiguous = set()
        for name, address in zip(names, addresses, strict=True):
            if self._addresses.setdefault(name, address) != address:
                self._ambiguous.add(name)

    def __len__(self):
        return len(self._addresses)

    def __contains__(self, name):
        return name in self._addresses

    def __getitem__(self, name):
        """Address of the one symbol ``name``.

        :raises KupError: there is none, or there are several.
        """
        if name not in self._addresses:
            raise KupError(f"The kernel has no symbol {name}, expected one; this kernel is not supported.")
        if name in self._ambiguous:
            raise KupError(f"The kernel has several symbols {name}, expected one; this kernel is not supported.")
        return self._addresses[name]

    def end_of(self, name):
        """Address of the first symbol behind ``name``, where its function ends at the latest."""
        start = self[name]
        behind = [address for address in self._addresses.values() if address > start]
        if not behind:
            raise KupError(f"The kernel has no symbol behind {name}, expected some; this kernel is not supported.")
        return min(behind)


def parse(memory, base):
    """Read the symbols of the kernel whose ``memory`` (bytes-like) begins at the virtual address ``base``.

    :raises KupError: the tables are not where they are expected, or do not fit each other.
    """
    memory = bytes(memory)
    tokens_at, tokens, index_end = _tokens(memory)
    found = {}
    for names_at, count in itertools.chain(_before_tokens(memory, tokens_at), _behind_base(memory, base)):
        spans = _spans(memory, names_at, count)
        if not spans:
            continue
        names = _expand(memory, spans, tokens)
        for layout, addresses in _candidates(memory, base, names_at, index_end, count):
            if names and _is_right(names, addresses, base, len(memory)):
                found[layout, names_at] = names, addresses
    if len(found) != 1:
        raise KupError(
            f"The kernel's symbols fit {len(found)} of the known layouts, expected one; this kernel is not supported."
        )
    ((layout, _at), (names, addresses)) = found.popitem()
    return Symbols(layout, [name[1:] for name in names], addresses)


def _tokens(memory):
    """Find the token table: return (its place, the 256 tokens, end of the token index)."""
    digits = memory.find(_DIGITS)
    while digits >= 0:
        behind = digits
        for _token in range(ord("0"), _TOKENS):
            behind = memory.find(b"\0", behind) + 1
        for alignment in (4, 8):
            index_at = -(-behind // alignment) * alignment
            if index_at + 2 * _TOKENS > len(memory):
                continue
            index = struct.unpack_from(f"<{_TOKENS}H", memory, index_at)
            start = digits - index[ord("0")]
            tokens = memory[max(start, 0) : behind].split(b"\0")[:-1]
            lengths = itertools.accumulate((len(token) + 1 for token in tokens[:-1]), initial=0)
            if start > 0 and len(tokens) == _TOKENS and tuple(lengths) == index:
                return start, tokens, index_at + 2 * _TOKENS
        digits = memory.find(_DIGITS, digits + 1)
    raise KupError("The kernel's symbol table was not found, expected CONFIG_KALLSYMS; this kernel is not supported.")


def _before_tokens(memory, tokens_at):
    """Yield (place, number) where names may begin if their markers end at ``tokens_at``.

    Markers are ascending offsets into the names, the first is 0, one for each 256 names.
    """
    most = min(_MOST // _PER_MARKER, tokens_at // 4)
    words = struct.unpack_from(f"<{most}I", memory, tokens_at - 4 * most)
    last = len(words) - (2 if words[-1] == 0 else 1)  # one word of padding
    first = last
    while first > 0 and 0 < words[first - 1] < words[first]:
        first -= 1
    if first == 0 or words[first - 1] != 0:
        return
    markers_at = tokens_at - 4 * (len(words) - first + 1)
    markers = last - first + 2
    # The names of the last marker take the rest.
    highest = markers_at - words[last]
    for at in range(highest - highest % 4, max(8, highest - _PER_MARKER * 512), -4):
        for count in struct.unpack_from("<I", memory, at - 4) + struct.unpack_from("<I", memory, at - 8):
            if -(-count // _PER_MARKER) == markers:
                yield at, count


def _behind_base(memory, base):
    """Yield (place, number) where names may begin if the relative base stands before their number."""
    at = memory.find(struct.pack("<Q", base))
    while at >= 0:
        if at % 8 == 0 and at + 16 <= len(memory):
            count, padding = struct.unpack_from("<II", memory, at + 8)
            if _PER_MARKER <= count <= _MOST and not padding:
                yield at + 16, count
        at = memory.find(struct.pack("<Q", base), at + 1)


def _spans(memory, at, count):
    """Return (start, end) of each of the ``count`` packed names at ``at``; None if the right markers do not follow them."""
    spans, markers, start = [], [], at
    try:
        for number in range(count):
            if not number % _PER_MARKER:
                markers.append(at - start)
            length = memory[at]
            at += 1
            if length & 0x80:  # from 6.1 on: a second byte for long names
                length = length & 0x7F | memory[at] << 7
                at += 1
            spans.append((at, at + length))
            at += length
    except IndexError:
        return None
    expected = struct.pack(f"<{len(markers)}I", *markers)
    places = {-(-at // alignment) * alignment for alignment in (4, 8)}
    return spans if any(memory[place : place + len(expected)] == expected for place in places) else None


def _expand(memory, spans, tokens):
    token = tokens.__getitem__
    try:
        return [b"".join(map(token, memory[start:end])).decode("ascii") for start, end in spans]
    except UnicodeDecodeError:
        return None


def _candidates(memory, base, names_at, index_end, count):
    """Yield (layout, addresses) for each layout under which the tables would have room."""
    # to 6.3: before the number (8 bytes) the relative base, and before that, aligned, the offsets
    start = names_at - 16 - -(-4 * count // 8) * 8
    if start >= 0:
        relative = struct.unpack_from("<Q", memory, names_at - 16)[0]
        yield "5.10", _with_absolute(struct.unpack_from(f"<{count}i", memory, start), relative)
    end = index_end + 4 * count
    behind = -(-end // 8) * 8
    if behind + 8 <= len(memory):
        offsets = struct.unpack_from(f"<{count}i", memory, index_end)
        relative = struct.unpack_from("<Q", memory, behind)[0]
        yield "6.4", _with_absolute(offsets, relative)
        yield "6.15", [relative + (offset & 0xFFFFFFFF) for offset in offsets]
        yield "7.0", [base + place + offset for place, offset in zip(range(index_end, end, 4), offsets, strict=True)]


def _with_absolute(offsets, relative):
    return [offset if offset >= 0 else relative - 1 - offset for offset in offsets]


def _is_right(names, addresses, base, size):
    """Whether the kernel's first byte has the address that it must have, and nearly everything else lies in order behind it."""
    if base not in (address for name, address in zip(names, addresses, strict=True) if name[1:] == "_text"):
        return False
    inside = sum(base <= address <= base + 2 * size for address in addresses)
    return inside > len(addresses) * 0.9
