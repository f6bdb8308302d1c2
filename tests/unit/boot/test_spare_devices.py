# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which devices nobody uses, by a tree as sysfs has it."""

import os
import threading

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import spare_devices

DRIVE, CARD = "0000:01:00.0", "0000:02:00.0"


class Machine:
    """A fake /sys, /dev and /proc below a directory; device files are plain files, whose numbers ``opened`` knows."""

    def __init__(self, root):
        self.root = root
        for path in (
            "sys/bus/pci/devices",
            "sys/bus/pci/drivers/nvme",
            "sys/bus/pci/drivers/ixgbe",
            "sys/class/block",
            "dev",
            "proc/1/fd",
        ):
            (root / path).mkdir(parents=True)
        self.opened = set()

    def write(self, path, text=""):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def device(self, address, kind, driver):
        own = f"sys/devices/pci0000:00/{address}"
        self.write(f"{own}/class", f"{kind}\n")
        (self.root / f"sys/bus/pci/devices/{address}").symlink_to(self.root / own)
        if driver:
            (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(exist_ok=True)
            (self.root / own / "driver").symlink_to(self.root / f"sys/bus/pci/drivers/{driver}")
        return own

    def drive(self, address=DRIVE, name="nvme1", driver="nvme", disks=("n1",)):
        own = self.device(address, "0x010802", driver)
        self.write(f"{own}/nvme/{name}/dev", f"240:{name[4:]}\n")
        for number, disk in enumerate(disks):
            place = f"{own}/nvme/{name}/{name}{disk}"
            self.write(f"{place}/dev", f"259:{number}\n")
            (self.root / place / "holders").mkdir()
            (self.root / f"sys/class/block/{name}{disk}").symlink_to(self.root / place)
            self.write(f"dev/{name}{disk}")
        return own

    def card(self, address=CARD, name="eth1", flags="0x1002"):
        own = self.device(address, "0x020000", "ixgbe")
        self.write(f"{own}/net/{name}/flags", f"{flags}\n")
        return own


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = Machine(tmp_path)
    for name, path in (("_PCI", "sys/bus/pci"), ("_BLOCK", "sys/class/block"), ("_DEV", "dev"), ("_LIST", "list")):
        monkeypatch.setattr(spare_devices, name, str(tmp_path / path))
    monkeypatch.setattr(spare_devices, "_TARGET", str(tmp_path / "sys/module/nvmet"))
    monkeypatch.setattr(spare_devices, "_QUIET", 0)
    monkeypatch.setattr(spare_devices.device_users, "numbers", lambda: made.opened)
    return made


def test_a_drive_and_a_card_that_nobody_uses(machine):
    machine.drive()
    machine.card()
    assert spare_devices.find() == [(DRIVE, "nvme"), (CARD, "ixgbe")]


def test_a_drive_without_disks(machine):
    machine.drive(disks=())
    assert spare_devices.find() == [(DRIVE, "nvme")]


@pytest.mark.parametrize(
    "use",
    [
        lambda machine, own: machine.write(f"{own}/nvme/nvme1/nvme1n1/holders/dm-0"),
        lambda machine, _own: os.unlink(machine.root / "dev/nvme1n1"),
        lambda machine, _own: machine.opened.add((259, 0)),
        lambda machine, _own: machine.opened.add((240, 1)),
        lambda machine, _own: (machine.root / "sys/module/nvmet").mkdir(parents=True),
    ],
    ids=["other-device", "exclusive", "disk-open", "controller-open", "lent"],
)
def test_a_drive_in_use_stays(machine, use):
    use(machine, machine.drive())
    assert spare_devices.find() == []


def test_a_drive_that_somebody_reads_meanwhile_stays(machine, monkeypatch):
    machine.card()
    stat = machine.write(f"{machine.drive()}/nvme/nvme1/nvme1n1/stat", "1 2 3\n")
    assert spare_devices.find() == [(DRIVE, "nvme"), (CARD, "ixgbe")]
    monkeypatch.setattr(spare_devices.time, "sleep", lambda _seconds: stat.write_text("2 2 3\n"))
    assert spare_devices.find() == [(CARD, "ixgbe")]


@pytest.mark.parametrize("odd", ["flags", "dev", "class"])
def test_a_device_that_tells_nothing_sensible_stays(machine, odd):
    machine.drive()
    own = machine.card()
    machine.write({"flags": f"{own}/net/eth1/flags", "dev": f"{own}/ptp/ptp0/dev", "class": f"{own}/class"}[odd], "\n")
    assert spare_devices.find() == [(DRIVE, "nvme")]


def test_a_node_without_pci_has_none(machine, monkeypatch):
    monkeypatch.setattr(spare_devices, "_PCI", str(machine.root / "none"))
    assert spare_devices.find() == []


def test_a_drive_with_several_paths_stays(machine):
    machine.drive(disks=("c0n1",))
    assert spare_devices.find() == []


def test_a_drive_that_a_virtual_machine_has_stays(machine):
    machine.drive(driver="vfio-pci")
    machine.device("0000:03:00.0", "0x010802", "")
    assert spare_devices.find() == []


@pytest.mark.parametrize(
    "use",
    [
        lambda machine, own: machine.write(f"{own}/net/eth1/flags", "0x1003"),
        lambda machine, own: machine.write(f"{own}/net/eth1/upper_bond0"),
        lambda machine, own: machine.write(f"{own}/net/eth1/master"),
        lambda machine, own: machine.write(f"{own}/net/eth2/flags", "0x1003"),
        lambda machine, own: machine.write(f"{own}/sriov_numvfs", "2"),
        lambda machine, own: machine.write(f"{own}/physfn"),
        lambda machine, own: os.replace(
            (machine.root / "mlx4_core").symlink_to("nowhere/mlx4_core") or machine.root / "mlx4_core",
            machine.root / own / "driver",
        ),
        # In another network namespace it is not seen.
        lambda machine, own: os.rename(machine.root / own / "net/eth1", machine.root / "elsewhere"),
    ],
    ids=["up", "bond", "bridge", "second-port", "virtual-functions", "virtual-function", "many-ports", "namespace"],
)
def test_a_card_in_use_stays(machine, use):
    use(machine, machine.card())
    assert spare_devices.find() == []


def test_other_devices_stay(machine):
    machine.device("0000:04:00.0", "0x030000", "ixgbe")
    machine.device("0000:05:00.0", "0x010601", "nvme")
    assert spare_devices.find() == []


def test_all_let_go_at_once_and_are_taken_back(machine, monkeypatch):
    machine.drive()
    machine.card()
    both = threading.Barrier(2, timeout=20)
    written = []

    def write(address, driver, verb):
        both.wait()  # one after the other would never come here
        written.append((verb, address, driver))

    monkeypatch.setattr(spare_devices, "_write", write)
    devices = spare_devices.SpareDevices(True)
    devices.let_go()
    assert devices.wait(20) == []
    assert (machine.root / "list").read_text() == f"{DRIVE} nvme\n{CARD} ixgbe\n"
    devices.take_back(20)
    assert sorted(written) == sorted(
        (verb, *device) for verb in ("unbind", "bind") for device in ((DRIVE, "nvme"), (CARD, "ixgbe"))
    )
    assert not (machine.root / "list").exists()


def test_a_driver_that_hangs_is_not_waited_for(machine, monkeypatch):
    machine.drive()
    hangs = threading.Event()
    monkeypatch.setattr(spare_devices, "_write", lambda *_words: hangs.wait(60))
    devices = spare_devices.SpareDevices(True)
    devices.let_go()
    assert devices.wait(0.05) == [DRIVE]
    hangs.set()


def test_a_driver_is_told_by_its_file(machine):
    spare_devices._write(DRIVE, "nvme", "unbind")
    assert (machine.root / "sys/bus/pci/drivers/nvme/unbind").read_text() == DRIVE
    spare_devices._write(DRIVE, "gone", "unbind")


def test_where_nobody_wants_it_nothing_is_done(machine, monkeypatch):
    machine.drive()
    monkeypatch.setattr(spare_devices, "_write_all", lambda *_words: pytest.fail("told"))
    devices = spare_devices.SpareDevices(False)
    devices.let_go()
    assert devices.wait(1) == []
    assert not (machine.root / "list").exists()


def test_a_list_that_another_switch_has_left_is_taken_back(machine):
    machine.write("list", f"{DRIVE} nvme\n")
    spare_devices.SpareDevices(True).take_back(20)
    assert (machine.root / "sys/bus/pci/drivers/nvme/bind").read_text() == DRIVE
