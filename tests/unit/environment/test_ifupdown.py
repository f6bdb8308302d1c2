"""ifupdown in a boot whose interfaces have their addresses already."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import ifupdown

# Debian 13's; and Debian 12's of an interface that udev has found.
MANAGER = """[Service]
Type=oneshot
EnvironmentFile=-/etc/default/networking
ExecStart=/usr/sbin/ifup -a --read-environment
ExecStart=-/bin/sh -c 'if [ -f /run/network/restart-hotplug ]; then /usr/sbin/ifup -a --read-environment --allow=hotplug; fi'
ExecStop=/usr/sbin/ifdown -a --read-environment --exclude=lo
"""
HOTPLUG = "[Service]\nExecStart=/bin/sh -ec 'ifup --allow=hotplug %I; ifquery --state %I'\nExecStop=/sbin/ifdown %I\n"


@pytest.fixture
def drop_ins(monkeypatch, tmp_path):
    def make(**texts):
        monkeypatch.setattr(ifupdown, "_PROGRAM", str(tmp_path / "ifup"))
        (tmp_path / "ifup").touch()
        known = {ifupdown.MANAGER: MANAGER, "ifup@kup.service": HOTPLUG, **texts}
        monkeypatch.setattr(ifupdown, "definition", known.get)
        return ifupdown.drop_ins()

    return make


def test_each_call_goes_on_after_an_error(drop_ins):
    assert drop_ins() == {
        "networking.service": "[Service]\n"
        "ExecStart=\n"
        "ExecStart=/usr/sbin/ifup --ignore-errors -a --read-environment\n"
        "ExecStart=-/bin/sh -c 'if [ -f /run/network/restart-hotplug ]; "
        "then /usr/sbin/ifup --ignore-errors -a --read-environment --allow=hotplug; fi'\n",
        "ifup@.service": "[Service]\n"
        "ExecStart=\n"
        "ExecStart=/bin/sh -ec 'ifup --ignore-errors --allow=hotplug %I; ifquery --state %I'\n",
    }


@pytest.mark.parametrize("line", ["/opt/net/start", "/usr/sbin/ifup -a \\", ""])
def test_another_service_of_this_name_is_left_alone(drop_ins, line):
    assert set(drop_ins(**{ifupdown.MANAGER: f"[Service]\nExecStart={line}\n"})) == {ifupdown.HOTPLUG}


def test_a_service_that_has_the_drop_in_gets_the_same(drop_ins):
    found = drop_ins()

    assert drop_ins(**{ifupdown.MANAGER: MANAGER + found[ifupdown.MANAGER]}) == found


def test_a_node_without_it_has_none(drop_ins, monkeypatch):
    drop_ins()
    monkeypatch.setattr(ifupdown, "_PROGRAM", "/none/ifup")

    assert ifupdown.drop_ins() == {}
