"""Drivers of a device."""

from ansible_collections.kup.fleet.plugins.module_utils._system import drivers


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
