"""CRIU's complaints: the cause of a failure."""

import dataclasses
import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import command as criu_command
from ansible_collections.kup.fleet.plugins.module_utils._criu import connection_lock, examination, program


def test_a_tree_that_does_not_lead_its_session_is_restored_in_one_of_the_same_id(tmp_path):
    findings = dataclasses.replace(FINDINGS, session=41)
    words = criu_command.restore_command("/images", findings, "/run/kup/a.pid", True, False)
    assert words[:5] == ["/usr/local/lib/kup/environment", "in-session", "41", "/usr/sbin/criu", "restore"]
    assert "--shell-job" in words
    inside = criu_command.restore_command(f"{tmp_path}/images", findings, "/run/kup/a.pid", True, True)
    assert inside[:3] == ["/proc/1/root/usr/local/lib/kup/environment", "in-session", "41"]
    assert "--shell-job" not in criu_command.restore_command("/images", FINDINGS, "/run/kup/a.pid", True, False)


def test_the_first_error_of_criu_is_the_cause(tmp_path):
    (tmp_path / "dump.log").write_text("fine\nError (a.c:1): the cause\nError (b.c:2): a consequence\n")
    assert criu_command.complaint(str(tmp_path), "dump", 1) == "Error (a.c:1): the cause"


def test_what_criu_says_of_its_page_server_is_no_cause(tmp_path):
    cork = "Error (criu/util.c:1078): Unable to restore TCP_CORK (1): Operation not supported\n"
    (tmp_path / "dump.log").write_text(f"{cork}Error (a.c:1): the cause\n")
    assert criu_command.complaint(str(tmp_path), "dump", 1) == "Error (a.c:1): the cause"
    (tmp_path / "dump.log").write_text(cork)
    assert criu_command.complaint(str(tmp_path), "dump", 1).endswith("exit code 1")


@pytest.mark.parametrize(("blocks", "says"), [(0, "no room is left"), (9, "exit code 1")])
def test_a_criu_that_could_not_even_write_its_log(monkeypatch, tmp_path, blocks, says):
    monkeypatch.setattr(os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=blocks))
    assert says in criu_command.complaint(str(tmp_path), "dump", 1)


FINDINGS = examination.Findings(lock=connection_lock.NONE)


def test_a_restore_on_the_node():
    words = criu_command.restore_command("/images", FINDINGS, "/run/kup/a.pid", True, False)
    assert words[:4] == ["/usr/sbin/criu", "restore", "--images-dir", "/images"]
    assert words[words.index("--pidfile") + 1] == "/run/kup/a.pid"


def test_a_restore_in_the_namespace_of_a_unit(tmp_path):
    """All comes from the node, and no path leads through a link, which the unit's own view may have elsewhere."""
    (tmp_path / "place").mkdir()
    (tmp_path / "images").symlink_to(tmp_path / "place")
    words = criu_command.restore_command(f"{tmp_path}/images", FINDINGS, "/run/kup/a.pid", True, True)
    assert words[words.index("--images-dir") + 1] == f"/proc/1/root{tmp_path}/place"
    assert words[words.index("--pidfile") + 1] == "/proc/1/root/run/kup/a.pid"
    loader, libraries, criu = (
        words[place] for place in (0, words.index("--library-path") + 1, words.index("restore") - 1)
    )
    assert words[1] == "--inhibit-cache"
    for path in (loader, libraries, criu):
        assert os.path.realpath(path[len("/proc/1/root") :]) == path[len("/proc/1/root") :]
    assert (os.path.dirname(loader), os.path.basename(criu)) == (libraries, "criu")
    assert words[words.index("--libdir") + 1] == f"/proc/1/root{program.INSIDE}"
    assert "--no-default-config" in words


def test_the_way_of_attached_segments():
    """CRIU dumps the node's IPC namespace as if it were the unit's, and restores into the node's."""
    findings = dataclasses.replace(FINDINGS, segments=True)
    words = criu_command.dump_command(7, "/images", findings, program.Program())
    assert words[:5] == ["/usr/bin/unshare", "--ipc", "--", "criu", "dump"]
    words = criu_command.restore_command("/images", findings, "/run/kup/a.pid", True, False)
    assert words[words.index("--join-ns") + 1] == "ipc:/proc/1/ns/ipc"
    assert "--join-ns" not in criu_command.restore_command("/images", FINDINGS, "/run/kup/a.pid", True, False)
