# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses that a rollout asks: only what is there is read, within bounds, and no secret gets into a message."""

from __future__ import annotations

import http.client
import netrc
import time
from urllib.parse import urlsplit

from ansible.module_utils import urls

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

_BEGINNINGS = ("http://", "https://")
#: What `read` raises; `urllib.error.HTTPError` is an OSError.
ERRORS = (OSError, ValueError, http.client.HTTPException, urls.ConnectionError)
_LONGEST = 120  # characters of an error in a message


def is_one(place):
    return place.startswith(_BEGINNINGS)


def check(variable, place, example):
    """Check the value ``place`` of a variable.

    :raises KupError: it is no address, or has an account.
    """
    try:
        parts = urlsplit(place)
        is_good = is_one(place) and bool(parts.hostname) and not any(char <= " " for char in place)
        has_account = "@" in parts.netloc
    except ValueError:
        is_good = has_account = False
    if has_account:
        # The sentence does not have the value, in which there may be a password.
        raise KupError(f"{variable} has an account in its address, expected one without; put it into ~/.netrc.")
    if not is_good:
        raise KupError(f"{variable} is {place!r}, expected an address such as {example!r}.")


def read(place, most, seconds):
    """The first bytes of what an address answers, ``most`` at most. No redirection is followed.

    :param seconds: for each part of the answer, and about as long for the whole.
    :raises: one of `ERRORS`: it does not answer in time, or with another status than 200.
    """
    deadline = time.monotonic() + seconds
    parts = []
    with _opened(place, seconds) as answer:
        if answer.status != http.client.OK:
            raise ValueError(f"HTTP status {answer.status}")
        while most and (part := answer.read1(most)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no whole answer within {seconds} s")
            parts.append(part)
            most -= len(part)
    return b"".join(parts)


def _opened(place, seconds):
    try:
        return urls.open_url(place, timeout=seconds, follow_redirects="none", decompress=False)
    except netrc.NetrcParseError:
        # Its text may have a password, and so has what it is raised from.
        raise OSError("~/.netrc is broken") from None


def shortened(error):
    """The text of one of `ERRORS` for a message."""
    return " ".join(str(error).split())[:_LONGEST]
