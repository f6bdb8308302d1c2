"""The boot default: which kernel GRUB starts, and how that is undone."""

import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

OLD, NEW = "6.12.1", "7.2.1"
MENU = """
set default="{default}"
menuentry 'Debian' $menuentry_id_option 'gnulinux-simple-U' {{ linux /boot/vmlinuz-{newest} root=UUID=U }}
submenu 'Advanced' $menuentry_id_option 'gnulinux-advanced-U' {{
\tmenuentry 'new' $menuentry_id_option 'gnulinux-7.2.1-advanced-U' {{
\tmenuentry 'old' $menuentry_id_option 'gnulinux-6.12.1-advanced-U' {{
"""


@pytest.fixture
def node(monkeypatch, tmp_path):
    """GRUB's files and tools: what they were asked for is in ``node.asked``; the environment block is a dict."""
    found = types.SimpleNamespace(asked=[], environment={}, pin=tmp_path / "default/kup.cfg", newest=NEW)

    def configure():
        default = "${saved_entry}" if found.pin.exists() else "0"
        (tmp_path / "grub.cfg").write_text(MENU.format(default=default, newest=found.newest))

    def run(argv, **_options):
        found.asked.append(argv[0])
        if argv[0] == "update-grub":
            configure()
        elif argv[0] == "grub-set-default":
            found.environment["saved_entry"] = argv[1]
        elif argv[2] == "set":
            found.environment.update([argv[3].split("=", 1)])
        elif argv[2] == "unset":
            found.environment.pop(argv[3], None)
        said = "".join(f"{key}={value}\n" for key, value in found.environment.items())
        return subprocess.CompletedProcess(argv, 0, said, "")

    monkeypatch.setattr(grub, "run", run)
    monkeypatch.setattr(grub, "_flush", lambda: found.asked.append("settled"))
    monkeypatch.setattr(grub, "_CONFIGURATION", str(tmp_path / "grub.cfg"))
    monkeypatch.setattr(grub, "_PIN", str(found.pin))
    configure()
    return found


def test_pin_makes_the_kernel_the_default_whatever_else_is_installed(node):
    assert grub.pin(OLD)
    assert grub.pinned()
    assert grub.default() == "gnulinux-advanced-U>gnulinux-6.12.1-advanced-U"
    assert not grub.pin(OLD), "a second time changes nothing"


def test_a_kernel_without_an_entry_is_refused_before_anything_is_asked_for(node):
    with pytest.raises(KupError, match=r"no entry for kernel 5\.10"):
        grub.set_default("5.10")
    assert node.environment == {}


def test_unpin_ends_the_pin_where_grub_itself_starts_the_kernel(node):
    grub.pin(OLD)
    grub.unpin(NEW)
    assert grub.default().endswith("gnulinux-7.2.1-advanced-U")
    assert not node.pin.exists() and not grub.pinned()


def test_unpin_keeps_the_saved_entry_where_grub_would_start_another_kernel(node):
    node.newest = "7.3.1"
    grub.pin(OLD)
    grub.unpin(NEW)
    assert grub.default().endswith("gnulinux-7.2.1-advanced-U")
    assert grub.pinned()


@pytest.mark.parametrize("saved", ["", "gnulinux-simple-U"])
def test_recall_undoes_a_pin_exactly(node, saved):
    if saved:
        node.environment["saved_entry"] = saved
    remembered = grub.remember()
    grub.pin(OLD)
    grub.recall(remembered)
    assert grub.default() == saved
    assert not node.pin.exists() and not grub.pinned()


def test_each_change_is_brought_to_where_grub_reads_it(node):
    grub.pin(OLD)
    assert node.asked[-2:] == ["grub-set-default", "settled"]
