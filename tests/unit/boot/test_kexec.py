"""Loading a preserved kernel, unloading it, and the jump."""

import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


@pytest.fixture
def asked(monkeypatch):
    """The calls of kexec(8): a list."""
    calls = []

    def run(argv, **_options):
        calls.append(argv)
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(kexec, "run", run)
    return calls


def test_a_loaded_kernel_is_unloaded(asked, monkeypatch):
    monkeypatch.setattr(kexec, "loaded", lambda: True)
    kexec.unload()
    assert asked == [["kexec", "--unload"]]


def test_where_no_kernel_is_loaded_nothing_is_asked_for(asked, monkeypatch):
    monkeypatch.setattr(kexec, "loaded", lambda: False)
    kexec.unload()
    assert asked == []


def test_a_kernel_is_loaded_with_what_is_preserved_beside_it(asked, monkeypatch, tmp_path):
    monkeypatch.setattr(kexec, "KERNELS", str(tmp_path))
    place = tmp_path / "7.2.1"
    place.mkdir()
    (place / "cmdline").write_text("root=/dev/sda1 rw quiet\n")
    (place / "initrd").write_text("")
    kexec.load("7.2.1", "crashkernel=200M")
    line = "--command-line=root=/dev/sda1 rw quiet crashkernel=200M"
    assert asked == [["kexec", "--kexec-syscall-auto", "--load", f"{place}/vmlinuz", line, f"--initrd={place}/initrd"]]


def test_a_jump_that_comes_back_is_an_error(asked):
    with pytest.raises(KupError, match="came back"):
        kexec.execute()
    assert asked == [["kexec", "--no-sync", "--exec"]]
