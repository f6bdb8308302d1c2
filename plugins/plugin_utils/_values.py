# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of variables as users give them: in YAML, as text on a command line, as lines of text in a survey.

What such a text can only mean in one way is taken for it. Everything else is refused in one sentence.
"""

from __future__ import annotations

import json
import re

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

_LONGEST = 120  # characters of a value in a message
_TRUE, _FALSE = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


def unset(value):
    """Whether ``value`` is what an empty field of a survey leaves."""
    return value is None or (isinstance(value, str) and not value.strip())


def shown(value):
    """``value`` as a message has it: a long one has no end there."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def coerce(name, value, option):
    """``value`` of the variable ``name`` as its type.

    :param option: its description in an argument specification: a dict with ``type``, ``elements``, ``choices``.
    :raises KupError: it is of another type; the sentence begins with ``name``.
    """
    value = _KINDS[option.get("type", "str")](name, value, option)
    choices = option.get("choices")
    if choices and isinstance(value, list):
        refuse_strange(name, value, choices)
    elif choices and value not in choices:
        raise KupError(f"{name} is {shown(value)}, expected one of {', '.join(choices)}.")
    return value


def refuse_strange(name, elements, choices):
    """:raises KupError: one of ``elements`` of the variable ``name`` is none of ``choices``."""
    for element in elements:
        if element not in choices:
            raise KupError(f"{name} has the element {shown(element)}, expected {', '.join(choices)}.")


def _text(name, value, option):
    # YAML has another word for "off".
    if value is False and "off" in option.get("choices", ()):
        return "off"
    if not isinstance(value, str):
        raise KupError(f"{name} is {shown(value)}, expected a text{_quoted(name, value)}.")
    return value


def _quoted(name, value):
    return f', in quotes as in {name}: "{value}"' if isinstance(value, (int, float)) else ""


def _whole(name, value, _option):
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value).strip()):
        raise KupError(f"{name} is {shown(value)}, expected a whole number.")
    return int(value)


def _number(name, value, _option):
    if isinstance(value, bool) or not re.fullmatch(r"\d+(\.\d+)?", str(value).strip()):
        raise KupError(f"{name} is {shown(value)}, expected a number such as 0.3.")
    return float(value)


def _flag(name, value, _option):
    word = str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise KupError(f"{name} is {shown(value)}, expected true or false.")
    return word in _TRUE


def _list(name, value, option):
    kind = option.get("elements", "raw")
    if isinstance(value, str):
        value = _from_text(name, value, kind)
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        # Checks may hold what is secret, such as a header with a token.
        raise KupError(f"{name} is {'no list' if kind == 'dict' else shown(value)}, expected a list.")
    return [_element(name, element, kind) for element in value]


def _from_text(name, text, kind):
    """The elements of a text: of a list in JSON; else its lines, or what has commas between."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError as error:
            raise KupError(f"{name} is a text that begins as a list and is none in JSON: {error}.") from error
    if kind == "dict":
        raise KupError(f"{name} is a text, expected a list of dictionaries.")
    return [part.strip() for part in re.split(r"[\n,]", text) if part.strip()]


def _element(name, element, kind):
    if kind == "raw":
        return element
    if kind == "dict":
        if not isinstance(element, dict):
            raise KupError(f"{name} has an element that is no dictionary, expected dictionaries only.")
        return element
    wrong = f"{name} has the element {shown(element)}, expected "
    if isinstance(element, bool) or not isinstance(element, (int, str)):
        raise KupError(f"{wrong}a {'whole number' if kind == 'int' else 'text'}.")
    if kind == "int" and not re.fullmatch(r"\d+", str(element)):
        raise KupError(f"{wrong}a whole number.")
    return int(element) if kind == "int" else str(element)


def _dictionary(name, value, option):
    if isinstance(value, str):
        value = _from_pairs(name, value)
    if not isinstance(value, dict):
        raise KupError(f"{name} is {shown(value)}, expected a dictionary.")
    known = option.get("options", {})
    strange = sorted(set(value) - set(known), key=str)
    if known and strange:
        raise KupError(f"{name} has the key {strange[0]!r}, expected only {', '.join(known)}.")
    return value


def _from_pairs(name, text):
    """The dictionary that a text means: one in JSON; else lines with a name, a colon, and what it stands for."""
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise KupError(f"{name} is a text that begins as a dictionary and is none in JSON: {error}.") from error
    pairs = [line.partition(":") for line in text.splitlines() if line.strip()]
    for key, colon, _meaning in pairs:
        if not key.strip() or not colon:
            raise KupError(
                f"{name} has the line {shown(key + colon)}, expected a dictionary, in lines such as 'NAME: VALUE'."
            )
    return {key.strip(): meaning.strip() for key, _colon, meaning in pairs}


_KINDS = {
    "str": _text,
    "path": _text,
    "int": _whole,
    "float": _number,
    "bool": _flag,
    "list": _list,
    "dict": _dictionary,
    "raw": lambda _name, value, _option: value,
}
