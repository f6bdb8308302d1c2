# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections between units: what the program is told, and what a failure says."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import examination
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system.unix_sockets import UnixSocket
from ansible_collections.kup.fleet.plugins.module_utils._update import pairs


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a program of this shell code."""

    def make(code):
        path = tmp_path / "fingerprint"
        path.write_text(f"#!/bin/sh\n{code}\n")
        path.chmod(0o755)
        monkeypatch.setattr(pairs, "_PROGRAM", str(path))

    return make


def checkpoint(tmp_path, name, listed="", journal=(), ends=True):
    directory = tmp_path / name
    directory.mkdir()
    if listed:
        (directory / "pairs").write_text(listed)
    findings = examination.Findings(journal=dict(enumerate(journal)), ends=ends)
    return types.SimpleNamespace(unit=types.SimpleNamespace(name=name), directory=str(directory), findings=findings)


def trees(**units):
    return {f"{unit}.service": [types.SimpleNamespace(pid=pid) for pid in pids] for unit, pids in units.items()}


TREES = trees(a=[7, 8], b=[9])


def test_the_program_is_told_of_all_units_and_says_which_have_ends(program, tmp_path):
    program('cat >"$2/told"; echo "$1" >>"$2/told"; echo b.service 31; echo a.service 30; echo b.service 32')
    units = [
        checkpoint(tmp_path, "a.service", "30\n5\nodd\n", journal=[5]),
        checkpoint(tmp_path, "b.service", "31\n32\n"),
    ]
    pairs.take(units, TREES, str(tmp_path))
    place = tmp_path / "pairs"
    assert (place / "told").read_text() == (
        "unit a.service\nsocket 30\nprocess 7\nprocess 8\nunit b.service\nsocket 31\nsocket 32\nprocess 9\ntake-pairs\n"
    )
    assert (place / "units").read_text() == "a.service\nb.service\n"
    assert [os.stat(path).st_mode & 0o777 for path in (place, place / "units")] == [0o700, 0o600]


def test_without_connections_nothing_is_left(program, tmp_path):
    program("cat >/dev/null")
    pairs.take([checkpoint(tmp_path, "a.service"), checkpoint(tmp_path, "b.service")], TREES, str(tmp_path))
    assert not (tmp_path / "pairs").exists()


def test_a_unit_alone_needs_no_program(program, tmp_path):
    program("exit 1")
    pairs.take([checkpoint(tmp_path, "a.service", ends=False)], TREES, str(tmp_path))
    assert not (tmp_path / "pairs").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [("echo 'a.service waits for b.service.' >&2; exit 1", "a.service waits"), ("exit 2", "exit code 2")],
)
def test_what_cannot_be_taken_is_told(program, tmp_path, code, said):
    program(f"cat >/dev/null; {code}")
    with pytest.raises(KupError, match=f"connections between the units cannot be taken: {said}"):
        pairs.take([checkpoint(tmp_path, "a.service")], TREES, str(tmp_path))


@pytest.mark.parametrize(
    ("peer", "held", "refused"),
    [
        (UnixSocket("/run/db", 41, 30), (), "/run/db"),
        (UnixSocket("", 41, 30), (), "a process"),
        (UnixSocket("/run/db", 41, 30), ("socket:[41]",), ""),
        (None, (), ""),
    ],
    ids=["named", "unnamed", "carried", "closed"],
)
def test_a_rehearsal_looks_where_the_ends_lead(tmp_path, monkeypatch, peer, held, refused):
    rows = [UnixSocket("", 30, peer.inode if peer else 0), *([peer] if peer else [])]
    monkeypatch.setattr(pairs.unix_sockets, "table", lambda: {each.inode: each for each in rows})
    monkeypatch.setattr(pairs.carried, "links", lambda units: frozenset(held))
    one = checkpoint(tmp_path, "a.service", "30\n")
    if not refused:
        pairs.refuse_strangers(one, [])
        return
    with pytest.raises(
        KupError, match=rf"^a\.service has a unix connection to {refused}, which is not carried; add the unit"
    ):
        pairs.refuse_strangers(one, [])
