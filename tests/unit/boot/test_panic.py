"""What makes a kernel on probation start anew instead of standing still, and how that ends."""

import pathlib
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec, panic

SHELL = pathlib.Path(__file__).parents[3] / "files/node/lib/panic.sh"


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """A node's settings, a directory; it has no detector of hard lock-ups."""
    monkeypatch.setattr(panic, "_SETTINGS", str(tmp_path))
    monkeypatch.setattr(panic, "_WATCHDOG", "/nonexistent")
    for name, value in {"panic": "30", "panic_on_oops": "0", "softlockup_panic": "0"}.items():
        (tmp_path / name).write_text(value + "\n")
    return tmp_path


def values(directory):
    return {path.name: path.read_text().strip() for path in directory.iterdir()}


def test_the_next_kernel_is_asked_for_what_this_one_has(settings):
    assert panic.words() == ["panic=1", "oops=panic", "sysctl.kernel.softlockup_panic=1"]


def test_the_command_line_is_stable_over_many_switches(settings):
    once = kexec.command_line("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro panic=30")
    assert once.startswith(
        "root=/dev/sda1 panic=30 rw quiet cryptomgr.notests=Y panic=1 oops=panic"
    )  # the last one counts
    assert kexec.command_line(once) == once
    # Also into a kernel that has fewer of them.
    (settings / "softlockup_panic").unlink()
    assert kexec.command_line(once) == once.replace(" sysctl.kernel.softlockup_panic=1", "")


@pytest.fixture
def node(settings, monkeypatch, tmp_path_factory):
    """Where a node says what it has of watchdogs, and what it was told by systemd's own interface."""
    place = tmp_path_factory.mktemp("node")
    (place / "holders" / "i6300esb").mkdir(parents=True)
    monkeypatch.setattr(panic, "_DRIVERS", str(place / "holders"))
    monkeypatch.setattr(panic, "_WATCHDOG", str(place))
    monkeypatch.setattr(panic, "_BUS", str(place / "bus"))
    (place / "nowayout").write_text("0\n")
    monkeypatch.setattr(panic, "_COMMAND_LINE", str(place / "cmdline"))
    monkeypatch.setattr(panic, "run", lambda argv, **_options: answer(place, argv))
    return place


def answer(place, argv):
    if argv[0] == "systemctl":
        return subprocess.CompletedProcess(argv, 0, (place / "version").read_text(), "")
    return (place / "told").write_text(" ".join(argv))


@pytest.mark.parametrize(
    ("state", "nowayout", "version", "bus", "fed"),
    [
        ("inactive", "0", "257.8-1", True, True),
        ("inactive", "0", "255 (255.4)", True, True),
        ("active", "0", "257.8-1", True, False),
        ("inactive", "1", "257", True, False),
        ("inactive", "0", "252.38-1", True, False),
        ("inactive", "0", "257", False, False),
        ("", "0", "257", True, False),
    ],
)
def test_a_watchdog_that_nobody_feeds_is_fed_during_an_update(node, state, nowayout, version, bus, fed):
    for name, text in {"state": state, "nowayout": nowayout, "version": f"systemd {version}"}.items():
        (node / name).write_text(text + "\n")
    if bus:
        (node / "bus").touch()
    line = kexec.command_line("root=/dev/sda1")
    assert (panic.WATCHDOG_WORD in line.split()) == fed
    assert kexec.command_line(line) == line


def test_the_drivers_of_watchdogs_are_those_that_need_the_core(node, monkeypatch):
    assert panic.watchdog_drivers() == ["i6300esb"]
    monkeypatch.setattr(panic, "_DRIVERS", "/nonexistent")
    assert panic.watchdog_drivers() == []


@pytest.mark.parametrize("word", ["", "systemd.watchdog_sec=30", panic.WATCHDOG_WORD])
def test_only_a_watchdog_that_the_update_had_fed_is_let_alone_afterwards(node, word):
    (node / "cmdline").write_text(f"root=/dev/sda1 {word}\n")
    panic.put_back("")
    told = (node / "told").read_text() if (node / "told").exists() else ""
    assert told.endswith("RuntimeWatchdogUSec t 0") == (word == panic.WATCHDOG_WORD)


def test_the_shell_knows_the_watchdogs_word():
    assert panic.WATCHDOG_WORD in SHELL.read_text().replace("\\", "")


def arm(directory):
    kept = panic.settings()
    for path in directory.iterdir():
        path.write_text("1")
    return kept


def test_afterwards_the_node_has_its_own_settings(settings):
    kept = arm(settings)
    assert kept == "panic=30 panic_on_oops=0 softlockup_panic=0"
    (settings / "softlockup_panic").unlink()  # the new kernel lacks it
    panic.put_back(kept)
    assert values(settings) == {"panic": "30", "panic_on_oops": "0"}


def test_a_value_that_the_new_kernel_refuses_stops_nothing(settings):
    kept = arm(settings)
    (settings / "panic").unlink()
    (settings / "panic").mkdir()  # cannot be written to
    panic.put_back(kept)
    assert (settings / "panic_on_oops").read_text().strip() == "0"


def test_a_record_of_an_older_version_has_none(settings):
    before = values(settings)
    panic.put_back("")
    assert values(settings) == before
