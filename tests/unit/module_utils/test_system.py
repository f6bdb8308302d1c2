"""What is read from the system: drivers of a device, file systems, CRIU's complaints, routes."""

import os
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import command as criu_command
from ansible_collections.kup.fleet.plugins.module_utils._system import drivers, filesystems, network


def put_driver(device, name, module=None):
    driver = device.parents[1] / "drivers" / name
    driver.mkdir(parents=True)
    if module:
        (driver.parents[1] / "modules" / module).mkdir(parents=True)
        (driver / "module").symlink_to(f"../../modules/{module}")
    device.mkdir(parents=True, exist_ok=True)
    (device / "driver").symlink_to(driver)


def test_a_device_hangs_on_all_drivers_above_it(tmp_path):
    card = tmp_path / "bus" / "port" / "card"
    put_driver(card, "virtio-pci", "virtio_pci")
    put_driver(card.parent, "pcieport")
    put_driver(card / "disk", "sd")
    assert drivers.chain(str(card / "disk")) == {"virtio_pci", "sd_mod"}


def test_a_directory_that_is_not_there_yet_is_judged_by_its_parent(tmp_path):
    assert filesystems.existing(f"{tmp_path}/a/b/c") == str(tmp_path)


def mounted(monkeypatch, text, fragment=""):
    monkeypatch.setattr(filesystems, "run", lambda command: types.SimpleNamespace(stdout=text))
    monkeypatch.setattr(filesystems, "show", lambda name, *properties: {"FragmentPath": fragment})


def test_of_stacked_mounts_the_last_counts(monkeypatch):
    mounted(monkeypatch, "/images systemd-1 autofs\n/images /dev/sdb1 ext4\n")
    assert filesystems.of("/images") == filesystems.FileSystem("/images", "/dev/sdb1", "ext4")


@pytest.mark.parametrize(
    ("text", "fragment", "fits"),
    [
        ("/ /dev/sda1 ext4\n", "", True),
        ("/images /dev/pmem0 ext4\n", "/run/systemd/generator/images.mount", True),
        ("/images /dev/pmem0 ext4\n", "", False),
        ("/run tmpfs tmpfs\n", "/usr/lib/systemd/system/run.mount", False),
        ("/images /dev/zram0 ext4\n", "/run/systemd/generator/images.mount", False),
    ],
)
def test_images_must_be_there_in_the_next_boot(monkeypatch, text, fragment, fits):
    mounted(monkeypatch, text, fragment)
    assert (filesystems.why_lost("/images") == "") == fits


def test_the_first_error_of_criu_is_the_cause(tmp_path):
    (tmp_path / "dump.log").write_text("fine\nError (a.c:1): the cause\nError (b.c:2): a consequence\n")
    assert criu_command.complaint(str(tmp_path), "dump", 1) == "Error (a.c:1): the cause"


@pytest.mark.parametrize(("blocks", "says"), [(0, "no room is left"), (9, "exit code 1")])
def test_a_criu_that_could_not_even_write_its_log(monkeypatch, tmp_path, blocks, says):
    monkeypatch.setattr(os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=blocks))
    assert says in criu_command.complaint(str(tmp_path), "dump", 1)


def test_a_gateway_is_reached_before_what_is_behind_it(monkeypatch):
    monkeypatch.setattr(network, "read_text", lambda *arguments: "1500")
    monkeypatch.setattr(network, "_addresses", lambda name: [])
    monkeypatch.setattr(network, "_routes", lambda name: ["default via 10.0.0.1", "10.0.0.1 scope link"])
    routes = [command for command in network.Link("ens3").commands if command.startswith("route")]
    assert routes == ["route replace 10.0.0.1 scope link dev ens3", "route replace default via 10.0.0.1 dev ens3"]
