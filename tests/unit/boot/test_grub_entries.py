"""GRUB's entries: the one of a kernel, and whether the saved entry is what boots."""

import re

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub as boot_loader
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

GRUB = """
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="${saved_entry}"
fi
menuentry 'Debian GNU/Linux' --class debian --class gnu-linux $menuentry_id_option 'gnulinux-simple-U1' {
  linux  /boot/vmlinuz-7.2.12+deb13-cloud-amd64 root=UUID=U1 ro
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-U1' {
  menuentry 'Debian GNU/Linux, with Linux 7.2.12+deb13-cloud-amd64' --class gnu $menuentry_id_option 'gnulinux-7.2.12+deb13-cloud-amd64-advanced-U1' {
  }
  menuentry 'Debian, with Linux 7.2.12+deb13-cloud-amd64 (recovery mode)' $menuentry_id_option 'gnulinux-7.2.12+deb13-cloud-amd64-recovery-U1' {
  }
  menuentry 'Debian GNU/Linux, with Linux 6.12.117+deb13-cloud-amd64' --class gnu $menuentry_id_option 'gnulinux-6.12.117+deb13-cloud-amd64-advanced-U1' {
  }
}
"""


@pytest.fixture
def grub(tmp_path, monkeypatch):
    path = tmp_path / "grub.cfg"
    path.write_text(GRUB)
    monkeypatch.setattr(boot_loader, "_CONFIGURATION", str(path))
    return path


@pytest.mark.parametrize("release", ["7.2.12+deb13-cloud-amd64", "6.12.117+deb13-cloud-amd64"])
def test_the_boot_loader_s_entry(grub, release):
    assert boot_loader.entry(release) == f"gnulinux-advanced-U1>gnulinux-{release}-advanced-U1"


@pytest.mark.parametrize("release", ["6.12.117+deb13", "7.2", "6.1.0-49-cloud-amd64"])
def test_a_kernel_without_an_entry_is_refused(grub, release):
    with pytest.raises(KupError, match=f"no entry for kernel {re.escape(release)};"):
        boot_loader.entry(release)


def test_whether_the_saved_entry_is_what_boots(grub):
    assert boot_loader.pinned()
    grub.write_text(GRUB.replace("${saved_entry}", "0"))
    assert not boot_loader.pinned()
