# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When systemd is not the first process of a boot to the new kernel, and that it gets what it had to do without."""

import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import first_process, kexec
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

WORD = "init=/usr/local/lib/kup/environment"


class Node:
    """A node with the staged kernel in ``place``, and units in ``units``."""

    def __init__(self, folder, monkeypatch):
        self.place, self.units, self.ran = folder / "kernel", folder / "units", []
        self.library, self.init, self.needed = folder / "libbpf.so.1", folder / "systemd", "libc.so.6 => /lib/libc.so.6"
        self.library.write_text("")
        self.built, self.codes, self.told = "+BPF_FRAMEWORK", [], folder / "state/without-bpf"
        for name in ("kernel", "units/a.service.d"):
            (folder / name).mkdir(parents=True)
        (self.place / "cmdline").write_text("root=/dev/sda rw quiet\n")
        (self.units / "a.service").write_text("[Service]\n#RestrictFileSystems=ext4\nExecStart=/bin/true\n")
        (self.units / "gone.service").symlink_to("nowhere")
        monkeypatch.setattr(first_process, "_LIBRARY", str(self.library))
        monkeypatch.setattr(first_process, "_INIT", str(self.init))
        monkeypatch.setattr(first_process, "RUNTIME", "/")
        monkeypatch.setattr(first_process, "STATE", str(folder / "state"))
        monkeypatch.setattr(first_process, "WITHOUT_BPF", str(self.told))
        monkeypatch.setattr(first_process, "run", self._run)

    def _run(self, command, check=True):
        self.ran.append(" ".join(command))
        said = {"ldd": self.needed, "systemctl --version": f"systemd 257\n+PAM {self.built}"}
        answer = said.get(self.ran[-1], said.get(command[0], f"{self.units} /not/there\n"))
        return subprocess.CompletedProcess(command, self.codes.pop() if self.codes else 0, answer, "")

    def word(self):
        """The word of the next boot, which is told the same by the file."""
        word = first_process.prepare(str(self.place))
        assert (self.told / "libbpf.so.1").exists() == bool(word)
        return word


@pytest.fixture
def node(tmp_path, monkeypatch):
    return Node(tmp_path, monkeypatch)


def test_the_new_kernel_starts_another_first_process(node):
    assert node.word() == WORD


@pytest.mark.parametrize("name", ["b.service", "a.service.d/local.conf"])
@pytest.mark.parametrize("line", ["  RestrictFileSystems = ext4 tmpfs", "SocketBindDeny=any"])
def test_not_where_a_unit_needs_what_systemd_would_lack(node, name, line):
    (node.units / name).write_text(f"[Service]\n{line}\n")
    assert node.word() == ""


def test_not_where_nothing_is_gained(node):
    node.library.unlink()
    assert node.word() == ""


def test_not_where_systemd_was_built_without_it(node):
    node.built = "-BPF_FRAMEWORK"
    assert node.word() == ""


def test_what_units_need_may_change(node):
    assert node.word() == WORD
    (node.units / "elsewhere").mkdir()
    (node.units / "elsewhere/local.conf").write_text("[Service]\nSocketBindAllow=tcp:80\n")
    (node.units / "b.service.d").symlink_to("elsewhere")
    assert node.word() == ""


def test_not_where_init_would_not_start_at_all(node):
    node.needed = "libbpf.so.1 => /lib/libbpf.so.1"
    assert node.word() == ""


def test_not_where_init_is_another_program(node, monkeypatch):
    monkeypatch.setattr(first_process, "_INIT", "/usr/bin/env")
    assert node.word() == ""


def test_not_where_an_initramfs_or_the_operator_chooses_it(node):
    (node.place / "initrd").write_text("")
    assert node.word() == ""
    (node.place / "initrd").unlink()
    (node.place / "cmdline").write_text("root=/dev/sda init=/usr/bin/other rw\n")
    assert node.word() == ""


def test_not_from_another_file_system(node, monkeypatch):
    monkeypatch.setattr(first_process, "RUNTIME", "/proc")
    assert node.word() == ""


def test_the_next_kernel_is_not_told_by_this_one():
    assert kexec.command_line(f"root=/dev/sda {WORD}").split()[:1] == ["root=/dev/sda"]
    assert WORD not in kexec.command_line(f"root=/dev/sda {WORD}")
    assert "init=/usr/bin/other" in kexec.command_line("init=/usr/bin/other").split()


@pytest.fixture
def begun(node, monkeypatch):
    """A node that has begun without, and the folder that says so."""
    monkeypatch.setattr(first_process, "read_text", lambda path: {"/proc/cmdline": f"quiet {WORD}\n"}[path])
    monkeypatch.setattr(first_process.time, "sleep", lambda seconds: None)
    node.told.mkdir(parents=True)
    return node.told


ANSWERS = "systemctl show --property=Version"


def test_after_the_commit_systemd_has_all_again(node, begun):
    assert first_process.leave_to_systemd(dry=True)
    assert node.ran == []
    node.codes = [0, 1, 1, 0]  # from the last to the first
    assert first_process.leave_to_systemd()
    assert node.ran == ["systemctl daemon-reexec", ANSWERS, ANSWERS, ANSWERS]
    assert not begun.exists()
    assert not first_process.leave_to_systemd()


def test_a_systemd_that_does_not_come_back_is_told_of_again(node, begun, monkeypatch):
    monkeypatch.setattr(first_process, "_PATIENCE", -1)
    node.codes = [1, 0]
    with pytest.raises(KupError, match="has not answered for"):
        first_process.leave_to_systemd()
    assert node.told.exists()


def test_a_boot_that_began_with_init_needs_nothing(node, begun, monkeypatch):
    monkeypatch.setattr(first_process, "read_text", lambda path: "quiet\n")
    assert first_process.leave_to_systemd()
    assert node.ran == []
    assert not node.told.exists()
