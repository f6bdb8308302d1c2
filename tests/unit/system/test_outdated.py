# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Units that run code which is not on disk any more; with real processes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import outdated, processes


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program of a package, as it were, and a process that runs it."""
    monkeypatch.setattr(outdated, "_PACKAGED", (str(tmp_path),))
    path = tmp_path / "cat"
    shutil.copy(shutil.which("cat"), path)
    with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        # A program that answers has all of its mappings.
        child.stdin.write(b"here\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"here\n"
        yield path, child.pid
        child.kill()


def test_a_file_that_is_there_is_up_to_date(program):
    _path, pid = program
    assert outdated.of_process(pid) == (set(), True)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_file_that_was_removed_or_replaced_is_not(program, is_replaced):
    path, pid = program
    path.unlink()
    if is_replaced:
        path.write_text("the next version")
    assert outdated.of_process(pid) == ({str(path)}, True)


def test_only_packages_have_code_that_an_upgrade_replaces(program, monkeypatch):
    path, pid = program
    monkeypatch.setattr(outdated, "_PACKAGED", ("/usr/",))
    path.unlink()
    assert outdated.of_process(pid) == (set(), True)


def test_a_name_that_ends_like_a_removed_file(program):
    path, pid = program
    (path.parent / "cat (deleted)").write_text("")
    path.unlink()
    # Which of both is meant cannot be told: the unit is not blamed.
    assert outdated.of_process(pid) == (set(), True)


def test_a_process_with_too_many_mappings_is_not_read_to_its_end(program, monkeypatch):
    _path, pid = program
    monkeypatch.setattr(outdated, "_LINES", 2)
    assert outdated.of_process(pid)[1] is False


def test_one_that_has_ended_says_nothing():
    child = subprocess.Popen(["true"])
    child.wait()
    assert outdated.of_process(child.pid) == (set(), True)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("7f00-7f01 r-xp 00000000 08:01 77 /usr/lib/libc.so.6 (deleted)", "/usr/lib/libc.so.6"),
        ("7f00-7f01 r--p 00000000 08:01 77 /usr/lib/libc.so.6 (deleted)", ""),
        ("7f00-7f01 rw-p 00000000 08:01 77 /usr/lib/locale/locale-archive (deleted)", ""),
        ("7f00-7f01 r-xp 00000000 08:01 77 /usr/lib/libc.so.6", ""),
        ("7f00-7f01 r-xp 00000000 00:01 77 /memfd:doublemapper (deleted)", ""),
        ("7f00-7f01 r-xp 00000000 08:01 77 /tmp/orcexec.x (deleted)", ""),
        ("7f00-7f01 rwxp 00000000 00:00 0", ""),
        ("", ""),
        ("7f00-7f01 r-xp 00000000 08:01 77 /opt/a  b\\012c (deleted)", "/opt/a  b\\012c"),
    ],
)
def test_lines(line, path):
    assert outdated._replaced(line) == path


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("/system.slice/nginx.service", "nginx.service"),
        ("/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/evil.service", "user@1000.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        ("/init.scope", "init.scope"),
        ("/system.slice/x\n.service", "(no unit)"),
        ("/", "(no unit)"),
        ("", "(no unit)"),
    ],
)
def test_the_unit_is_the_one_that_systemd_restarts(cgroup, unit):
    assert outdated.unit_of(cgroup) == unit


@pytest.fixture
def node(monkeypatch):
    """Processes of a node: dict pid → (control group, paths)."""
    found = {}
    monkeypatch.setattr(processes, "all_pids", lambda: sorted(found))
    monkeypatch.setattr(outdated, "of_process", lambda pid: (found[pid][1], True))
    monkeypatch.setattr(processes.Process, "cgroup", property(lambda self: found[self.pid][0]))
    return found


def test_files_of_a_unit_are_counted_once(node):
    libraries = {f"/usr/lib/lib{number}.so" for number in range(12)}
    node.update({1: ("/init.scope", set()), 2: ("/system.slice/a.service", libraries)})
    node.update(
        {3: ("/system.slice/a.service/worker", libraries), 4: ("/system.slice/b.service", {"/usr/lib/\x1b.so"})}
    )
    found = outdated.find()
    assert [(each["unit"], each["count"]) for each in found.units] == [("a.service", 12), ("b.service", 1)]
    assert (len(found.units[0]["files"]), found.units[1]["files"]) == (10, ["\\x1b.so"])
    assert found.complete


def test_it_ends_after_some_seconds_and_says_so(node):
    node.update({pid: ("/system.slice/a.service", {"/usr/lib/x.so"}) for pid in range(1, 9)})
    times = iter(range(0, 100, 4))
    found = outdated.find(lambda: next(times))
    assert (found.units[0]["count"], found.complete) == (1, False)


def test_so_many_units_are_not_all_named(node):
    node.update({pid: (f"/system.slice/a{pid:04}.service", {"/usr/lib/x.so"}) for pid in range(1, 200)})
    found = outdated.find()
    assert (len(found.units), found.complete) == (100, False)
