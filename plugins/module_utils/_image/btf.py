# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Layouts of structures, from the type information that a kernel carries in itself (Documentation/bpf/btf.rst)."""

from __future__ import annotations

import struct

from .._errors import KupError

_MAGIC = 0xEB9F
_STRUCT = 4

# kind → bytes that follow its 12-byte head: (always, for each member)
_FOLLOWS = {
    1: (4, 0),  # INT
    2: (0, 0),  # PTR
    3: (12, 0),  # ARRAY
    4: (0, 12),  # STRUCT
    5: (0, 12),  # UNION
    6: (0, 8),  # ENUM
    7: (0, 0),  # FWD
    8: (0, 0),  # TYPEDEF
    9: (0, 0),  # VOLATILE
    10: (0, 0),  # CONST
    11: (0, 0),  # RESTRICT
    12: (0, 0),  # FUNC
    13: (0, 8),  # FUNC_PROTO
    14: (4, 0),  # VAR
    15: (0, 12),  # DATASEC
    16: (0, 0),  # FLOAT, 5.13
    17: (4, 0),  # DECL_TAG, 5.16
    18: (0, 0),  # TYPE_TAG, 5.17
    19: (0, 12),  # ENUM64, 6.0
}


def layouts(btf, wanted):
    """Look up the structures with the names ``wanted``.

    :returns: name → (size in bytes, {member: offset in bytes}); a structure that is not there, or not unique, is missing.
    :raises KupError: not BTF, or BTF with parts that are not known.
    """
    if len(btf) < 24 or struct.unpack_from("<HB", btf) != (_MAGIC, 1):
        raise KupError(
            "The kernel has no type information (BTF), expected CONFIG_DEBUG_INFO_BTF; this kernel is not supported."
        )
    head, types_at, types_size, names_at, names_size = struct.unpack_from("<5I", btf, 4)
    types = btf[head + types_at : head + types_at + types_size]
    names = btf[head + names_at : head + names_at + names_size]
    if len(types) != types_size or len(names) != names_size:
        raise KupError("The kernel's type information is cut off; the image is damaged.")
    places = {offset: name for name in wanted for offset in _places(names, name)}
    found, several = {}, set()
    try:
        for name_at, flag, members, size, at in _structures(types):
            if name_at in places:
                name = places[name_at]
                layout = size, dict(_members(types, names, flag, members, at))
                if found.setdefault(name, layout) != layout:
                    several.add(name)
    except (struct.error, ValueError) as error:
        raise KupError(f"The kernel's type information cannot be read ({error}); the image is damaged.") from error
    return {name: layout for name, layout in found.items() if name not in several}


def _places(names, name):
    """Offsets of ``name`` as a whole string."""
    text = b"\0" + name.encode("ascii") + b"\0"
    at = names.find(text)
    while at >= 0:
        yield at + 1
        at = names.find(text, at + 1)


def _structures(types):
    """Yield (name, flag, members, size, place of the members) of each structure."""
    head = struct.Struct("<III").unpack_from
    at = 0
    while at < len(types):
        name_at, info, size = head(types, at)
        kind, members = info >> 24 & 0x1F, info & 0xFFFF
        at += 12
        if kind not in _FOLLOWS:
            raise KupError(
                f"The kernel's type information has the kind {kind}, expected 1 to 19; this kernel is not supported."
            )
        if kind == _STRUCT:
            yield name_at, info >> 31, members, size, at
        always, each = _FOLLOWS[kind]
        at += always + each * members


def _members(types, names, flag, count, at):
    for name_at, _type, offset in struct.iter_unpack("<III", types[at : at + 12 * count]):
        bits = offset & 0xFFFFFF if flag else offset
        end = names.index(b"\0", name_at)
        yield names[name_at:end].decode("ascii"), bits // 8
