"""Pure parts of what prepares a switch: sockets, packets to hold, command lines, boot loader entries."""

import re
import struct
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import grub as boot_loader
from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec, panic
from ansible_collections.kup.fleet.plugins.module_utils._criu import command
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import sockets as inet_sockets
from ansible_collections.kup.fleet.plugins.module_utils._update import info, network_lock

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"


def word(text):
    """An address as /proc/net prints it, on a machine of either byte order."""
    return words(bytes(int(part) for part in text.split(".")))


def words(packed):
    return "".join(f"{each:08X}" for each in struct.unpack(f"={len(packed) // 4}I", packed))


def socket(protocol="tcp", local="127.0.0.1:11211", remote="0.0.0.0:0", state="0A", inode=7, six=None):
    def end(text, packed):
        address, _colon, port = text.rpartition(":")
        return f"{words(packed) if packed else word(address)}:{int(port):04X}"

    ends = six or (None, None)
    row = (
        f"0: {end(local, ends[0])} {end(remote, ends[1])} {state} 00000000:00000000 00:00000000 00000000 0 0 {inode} 1"
    )
    return inet_sockets.Socket(protocol, row)


def test_a_listener():
    listener = socket()
    assert (listener.local, listener.inode) == (("127.0.0.1", 11211), 7)
    assert listener.listening
    assert not listener.connected


def test_a_connection():
    connection = socket(remote="10.77.0.1:40000", state="01")
    assert connection.remote == ("10.77.0.1", 40000)
    assert connection.connected
    assert not connection.listening


@pytest.mark.parametrize("state", ["04", "05", "08"])
def test_a_connection_that_is_closing_has_still_a_peer(state):
    assert socket(remote="10.77.0.1:40000", state=state).connected


def test_addresses_of_ipv6_and_ipv4_in_ipv6():
    loopback = bytes(15) + b"\1"
    mapped = bytes(10) + b"\xff\xff" + bytes([10, 77, 0, 1])
    found = socket("tcp6", "x:11211", "x:40000", "01", six=(loopback, mapped))
    assert (found.local, found.remote) == (("::1", 11211), ("10.77.0.1", 40000))


def test_datagram_sockets():
    assert socket("udp", state="07").listening
    assert not socket("udp", local="127.0.0.1:0", state="07").listening


def test_only_sockets_of_the_process_are_its_own(tmp_path):
    (tmp_path / "net").mkdir()
    row = "0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 %d 1"
    (tmp_path / "net" / "tcp").write_text("\n".join([HEADER, row % 11, row % 12, ""]))
    process = types.SimpleNamespace(path=str(tmp_path), descriptors=lambda: [(3, "socket:[12]"), (4, "/dev/null")])
    assert [found.inode for found in inet_sockets.of_process(process)] == [12]


def rules(*sockets):
    return [line.strip() for line in network_lock.ruleset(sockets).splitlines() if line.strip().endswith(" drop")]


def test_a_server_is_held_by_port_with_its_connections():
    held = rules(socket(), socket(remote="10.77.0.1:40000", state="01"))
    assert held == ["tcp dport 11211 drop", "tcp sport 11211 drop"]


def test_a_connection_to_elsewhere_is_held_by_both_ends():
    held = rules(socket(local="10.77.0.11:50000", remote="10.77.0.1:5432", state="01"))
    assert held == [
        "ip saddr 10.77.0.1 tcp sport 5432 ip daddr 10.77.0.11 tcp dport 50000 drop",
        "ip saddr 10.77.0.11 tcp sport 50000 ip daddr 10.77.0.1 tcp dport 5432 drop",
    ]


def test_a_server_on_both_families_is_one_rule():
    assert len(rules(socket(), socket("tcp6", "x:11211", "x:0", six=(bytes(16), bytes(16))))) == 2


def test_criu_s_own_packets_pass_before_anything_is_dropped():
    text = network_lock.ruleset([socket()])
    for chain in text.split("chain ")[1:]:
        assert chain.index(f"mark {command.SOCKET_MARK:#x} accept") < chain.index("drop")


def test_a_ruleset_replaces_the_one_before():
    assert network_lock.ruleset([]).startswith("table inet kup\ndelete table inet kup\ntable inet kup {")


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("BOOT_IMAGE=/boot/vmlinuz-6.12 root=UUID=1 ro console=ttyS0", "root=UUID=1 console=ttyS0 rw quiet"),
        ("root=/dev/sda1 rw quiet initrd=\\initrd.img", "root=/dev/sda1 rw quiet"),
        ("root=/dev/sda1 quiet rootwait crashkernel=256M", "root=/dev/sda1 rootwait crashkernel=256M rw quiet"),
        ("root=/dev/sda1 ro kup_ppp.table=0x1000,0x2 quiet", "root=/dev/sda1 rw quiet"),
    ],
)
def test_command_line_of_the_next_kernel(current, expected):
    assert kexec.command_line(current) == " ".join([expected, *panic.words()])


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


def test_lockdown_and_memory():
    assert info.lockdown("none [integrity] confidentiality\n") == "integrity"
    assert info.lockdown("") == "none"
    assert info.memory("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:     500 kB\n") == {
        "total": 1024000,
        "available": 512000,
    }
