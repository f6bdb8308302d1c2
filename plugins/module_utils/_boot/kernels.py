# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The kernels of a node, and the choice among them."""

from __future__ import annotations

import os
import re

from .._errors import KupError
from .._run import run

_PACKAGE = "linux-image-"
_SELECTOR = re.compile(r"newest|\d+\.\d+[-+.~A-Za-z0-9]*")
_PACKAGE = "linux-image-"


def running():
    """Release of the running kernel, e.g. ``6.12.9-cloud-amd64``."""
    return os.uname().release


def flavour(release):
    """What follows the version and ABI numbers: ``6.12.9+deb13-cloud-amd64`` → ``cloud-amd64``."""
    return re.sub(r"^[0-9.]+([-+~](rc|deb|bpo)?[0-9.]+(deb[0-9.]+)?)*(\+bpo|\+deb[0-9]+)*-", "", release)


def kind(release):
    """What a release has in common with those in its place on other nodes, distribution and flavour.

    ``7.2.12+deb13-cloud-amd64`` → ``+deb13-cloud-amd64``, ``6.1.0-25-amd64`` → ``-amd64``.
    """
    return re.sub(r"^\d[\d.]*([-~]rc\d+)?(-\d+)?", "", release)


def order(release):
    """Sort key that puts 6.9 before 6.12."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d]+", release)]


def installed():
    """Releases with an image in /boot and modules, oldest first."""
    releases = [name[len("vmlinuz-") :] for name in os.listdir("/boot") if name.startswith("vmlinuz-")]
    return sorted((release for release in releases if os.path.isdir(f"/lib/modules/{release}")), key=order)


def matches(selector, release):
    """Whether ``selector`` means ``release``: the release itself, a series such as ``7.2``, or ``newest``."""
    return selector in ("newest", release) or bool(re.match(rf"{re.escape(selector)}[-.+~]", release))


def check_selector(selector, name="kup_kernel"):
    """Refuse a selector that cannot mean a kernel.

    :param name: of the variable that has it.
    :raises KupError: neither ``newest`` nor a version.
    """
    if not _SELECTOR.fullmatch(selector):
        raise KupError(f"{name} is {selector!r}, expected 'newest', a series such as '7.2' or a whole release.")


def choose(selector):
    """The installed release that ``selector`` means: newest of the running kernel's flavour; None if there is none."""
    check_selector(selector)
    wanted = flavour(running())
    fitting = [
        release
        for release in installed()
        if matches(selector, release) and (release == selector or flavour(release) == wanted)
    ]
    return fitting[-1] if fitting else None


def package(selector):
    """Name of the newest package that would bring such a kernel, from the apt lists; None if there is none."""
    check_selector(selector)
    if not os.path.exists("/usr/bin/apt-cache"):
        return None
    wanted = flavour(running())
    names = run(["apt-cache", "pkgnames", _PACKAGE]).stdout.split()
    releases = [release for release in map(in_package, names) if release.endswith(wanted) and release[:1].isdigit()]
    fitting = sorted((r for r in releases if matches(selector, r) and flavour(r) == wanted), key=order)
    while fitting:
        # A name may be known only because another package mentions it.
        shown = run(["apt-cache", "policy", f"{_PACKAGE}{fitting[-1]}"]).stdout
        if "Candidate:" in shown and "Candidate: (none)" not in shown:
            return f"{_PACKAGE}{fitting[-1]}"
        fitting.pop()
    return None


def in_package(name):
    """The release that the package ``name`` brings: ``linux-image-6.1.0-25-amd64`` → ``6.1.0-25-amd64``; empty for none."""
    return (name or "").removeprefix(_PACKAGE)
