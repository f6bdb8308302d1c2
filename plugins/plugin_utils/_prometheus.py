# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Questions to a Prometheus, or to what answers as one: https://prometheus.io/docs/prometheus/latest/querying/api/."""

from __future__ import annotations

import contextlib
import json
import math
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError, printable
from ansible_collections.kup.fleet.plugins.plugin_utils import _address

_MOST = 1 << 20  # bytes of an answer
_PATIENCE = 10  # seconds for an answer
_LONGEST = 200  # characters of what it says of a query
_REFUSED = (400, 422)  # HTTP: the query is wrong, or cannot be evaluated
#: What a question raises.
ERRORS = (*_address.ERRORS, RecursionError)


def check(variable, place):
    """Check the value ``place`` of a variable: the address of a Prometheus.

    :raises KupError: it is none, or has what may be a secret.
    """
    _address.check(variable, place, "https://prometheus.example.net")
    if "?" in place or "#" in place:
        # There may be a token in it.
        raise KupError(f"{variable} has a query in its address, expected the address of a Prometheus alone.")


def named(variable, place):
    """The variable with what a message may have of its value."""
    parts = urlsplit(place)
    return f"{variable} ({parts.scheme}://{parts.netloc})"


def instant(place, query, what):
    """The elements of the vector that ``query`` gives now, each as Prometheus has it.

    :param what: name of what is missing where the answer has warnings.
    :raises: one of `ERRORS`.
    """
    return _result(place, "query", {"query": query}, "vector", what)


def over(place, query, begin, end, step):
    """The values of each series that ``query`` gives between two times: a list of lists of numbers, without those that are not finite.

    :param begin: seconds since the epoch; ``end``: the same; ``step``: seconds between two values.
    :raises: one of `ERRORS`.
    """
    question = {"query": query, "start": f"{begin:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
    return [_values(each) for each in _result(place, "query_range", question, "matrix", "values")]


def _values(series):
    pairs = series.get("values") if isinstance(series, dict) else None
    try:
        found = [float(text) for _moment, text in pairs if isinstance(text, str)]
    except (TypeError, ValueError) as error:
        raise ValueError("its answer has a series without values") from error
    return [value for value in found if math.isfinite(value)]


def _result(place, question, parameters, kind, what):
    address = f"{place.rstrip('/')}/api/v1/{question}?{urlencode(parameters)}"
    try:
        text = _address.read(address, _MOST + 1, _PATIENCE)
    except HTTPError as error:
        raise _refusal(error) from error
    known = _understood(text)
    data = known.get("data") if isinstance(known, dict) and known.get("status") == "success" else None
    if not isinstance(data, dict) or data.get("resultType") != kind or not isinstance(data.get("result"), list):
        raise ValueError("its answer is none of Prometheus")
    if known.get("warnings"):
        # Such as a store behind Thanos that is away.
        raise ValueError(f"its answer has warnings, so that {what} may be missing")
    return data["result"]


def _understood(text):
    if len(text) > _MOST:
        raise ValueError(f"its answer is longer than {_MOST} bytes")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError("its answer is no JSON") from error


def _refusal(error):
    """An error with what Prometheus itself says of a query, where it does."""
    with contextlib.suppress(*ERRORS, KeyError, TypeError), error:
        said = json.loads(error.read(_MOST))["error"] if error.code in _REFUSED else None
        if isinstance(said, str):
            return ValueError(f"HTTP status {error.code}, {printable(said[:_LONGEST])}")
    return error
