"""What makes a kernel under trial start anew instead of standing still, and how that ends."""

import pathlib
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _kexec, _panic

LIBRARY = pathlib.Path(__file__).parents[3] / "files" / "node" / "lib.sh"


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """A node's settings, a directory; it has no detector of hard lock-ups."""
    monkeypatch.setattr(_panic, "_SETTINGS", str(tmp_path))
    for name, value in {"panic": "30", "panic_on_oops": "0", "softlockup_panic": "0"}.items():
        (tmp_path / name).write_text(value + "\n")
    return tmp_path


def values(directory):
    return {path.name: path.read_text().strip() for path in directory.iterdir()}


def test_the_next_kernel_is_asked_for_what_this_one_has(settings):
    assert _panic.words() == ["panic=1", "oops=panic", "sysctl.kernel.softlockup_panic=1"]


def test_the_command_line_is_stable_over_many_switches(settings):
    once = _kexec.command_line("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro panic=30")
    assert once.startswith("root=/dev/sda1 panic=30 rw quiet panic=1 oops=panic")  # the last one counts
    assert _kexec.command_line(once) == once
    # Also into a kernel that has fewer of them.
    (settings / "softlockup_panic").unlink()
    assert _kexec.command_line(once) == once.replace(" sysctl.kernel.softlockup_panic=1", "")


def arm(directory):
    kept = _panic.settings()
    for path in directory.iterdir():
        path.write_text("1")
    return kept


def test_afterwards_the_node_has_its_own_settings(settings):
    kept = arm(settings)
    assert kept == "panic=30 panic_on_oops=0 softlockup_panic=0"
    (settings / "softlockup_panic").unlink()  # the new kernel lacks it
    _panic.put_back(kept)
    assert values(settings) == {"panic": "30", "panic_on_oops": "0"}


def test_a_value_that_the_new_kernel_refuses_stops_nothing(settings):
    kept = arm(settings)
    (settings / "panic").unlink()
    (settings / "panic").mkdir()  # cannot be written to
    _panic.put_back(kept)
    assert (settings / "panic_on_oops").read_text().strip() == "0"


def test_a_record_of_an_older_version_has_none(settings):
    before = values(settings)
    _panic.put_back("")
    assert values(settings) == before


def test_the_shell_does_the_same(settings):
    before = values(settings)
    kept = arm(settings)
    text = LIBRARY.read_text().replace("/proc/sys/kernel/", f"{settings}/")
    script = f"set -e\n{text}\nPANIC='{kept}'\ncalm_down\necho went on"
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "went on\n"
    assert values(settings) == before
