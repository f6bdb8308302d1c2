"""What a kernel says of its initcalls."""

from bench import initcalls

LOG = """[    0.201000] initcall ksysfs_init+0x0/0xa0 returned 0 after 20 usecs
[    0.901000] initcall pci_subsys_init+0x0/0x80 returned 0 after 38125 usecs
[    0.902000] initcall slow_one+0x0/0x80 returned -19 after 51000 usecs
[    1.014512] Run /sbin/init as init process
[    3.000000] initcall virtio_net_driver_init+0x0/0xff0 [virtio_net] returned 0 after 4000 usecs
"""


def test_the_slowest_comes_first_and_those_of_modules_are_left_out():
    found = initcalls.calls(LOG)
    assert found["init_s"] == 1.014512
    assert list(found["initcalls_ms"].items()) == [
        ("slow_one", 51.0),
        ("pci_subsys_init", 38.125),
        ("ksysfs_init", 0.02),
    ]
