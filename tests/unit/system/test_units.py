"""A unit: its names, files and sockets as systemd tells them, and its cgroup freezer."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import processes, units
from ansible_collections.kup.fleet.plugins.module_utils._system.units import Unit


@pytest.fixture
def unit(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "CGROUPS", str(tmp_path))
    found = Unit.__new__(Unit)  # without asking systemd
    found.cgroup = "/system.slice/cache.service"
    (tmp_path / found.cgroup[1:]).mkdir(parents=True)
    return found, tmp_path / found.cgroup[1:] / "cgroup.freeze"


def test_processes_are_frozen_and_thawed(unit):
    found, switch = unit
    switch.write_text("")
    found.freeze()
    assert switch.read_text() == "1"
    found.thaw()
    assert switch.read_text() == "0"


@pytest.mark.parametrize(
    ("text", "frozen"), [("populated 1\nfrozen 0\n", False), ("populated 1\nfrozen 1\n", True), (None, True)]
)
def test_it_is_known_when_nobody_runs_any_more(unit, text, frozen):
    found, switch = unit
    if text is not None:
        (switch.parent / "cgroup.events").write_text(text)
    assert found.frozen is frozen


def test_without_such_a_file_nothing_is_done(tmp_path, unit):
    found, switch = unit
    switch.parent.rmdir()
    found.freeze()
    assert not list(tmp_path.rglob("cgroup.freeze"))


@pytest.mark.parametrize(
    ("policy", "allowed", "limited"),
    [("auto", "", False), ("", "", False), ("closed", "", True), ("auto", "/dev/fuse rw", True)],
)
def test_a_device_policy(unit, policy, allowed, limited):
    found, _switch = unit
    found.properties = {"DevicePolicy": policy, "DeviceAllow": allowed}
    assert found.device_policy is limited


@pytest.mark.parametrize(
    ("properties", "remote"),
    [
        ({"User": "app", "Group": "", "SupplementaryGroups": ""}, []),
        ({"User": "1000", "Group": "web", "SupplementaryGroups": "33 app"}, []),
        ({"User": "nobody", "Group": "nogroup", "SupplementaryGroups": ""}, []),
        ({"User": "ldap", "Group": "33", "SupplementaryGroups": "web staff"}, ["ldap", "staff"]),
        ({"User": "4711", "Group": "web2", "SupplementaryGroups": ""}, ["4711", "web2"]),
        # systemd makes the user and the group, but no supplementary group.
        ({"User": "made", "Group": "made", "SupplementaryGroups": "staff", "DynamicUser": "yes"}, ["staff"]),
    ],
)
def test_accounts_that_the_node_does_not_know_itself(unit, monkeypatch, properties, remote):
    files = {
        "/etc/passwd": ["root:x:0:0::/root:/bin/sh", "app:x:1000:1001::/:/bin/sh", "", "+::::::"],
        "/etc/group": ["web:x:33:", "app:x:1001:"],
    }
    monkeypatch.setattr(units.accounts, "read_lines", files.get)
    found, _switch = unit
    found.properties = {"DynamicUser": "no", **properties}
    assert found.remote_accounts == remote


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], "is empty on this node"),
        (["a", "a.service"], "names a.service more than once"),
        ([""], "'' is not the name"),
    ],
)
def test_a_list_of_units_names_at_least_one_and_each_once(names, says):
    with pytest.raises(KupError, match=says):
        units.full_names(names)


def test_units_get_their_full_names():
    assert units.full_names(["b", "a@1.service"]) == ["b.service", "a@1.service"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3s", 3000000),
        ("1min 2.5s", 62500000),
        ("1month 2w 3d 4h", (2629800 + 1209600 + 259200 + 14400) * 10**6),
        ("500ms 7us", 500007),
        ("0", 0),
        ("infinity", 0),
        ("", 0),
    ],
)
def test_times_as_systemctl_prints_them(text, value):
    assert units.microseconds(text) == value


def described(monkeypatch, listening=(), **properties):
    monkeypatch.setattr(
        units, "show", lambda name, *names: {key: dict(listening).get(f"{name} {key}", "") for key in names}
    )
    found = Unit.__new__(Unit)
    found.properties = {"FragmentPath": "", "DropInPaths": "", "TriggeredBy": "", "WatchdogUSec": "2s", **properties}
    return found


def test_the_text_has_all_drop_ins_in_order(tmp_path, monkeypatch):
    (tmp_path / "a.service").write_text("[Service]\n")
    (tmp_path / "b c.conf").write_bytes(b"# \xe4\nNice=1\n")
    (tmp_path / "d.conf").write_text("Nice=2\n")
    paths = f'"{tmp_path}/b c.conf" {tmp_path}/d.conf'
    found = described(monkeypatch, FragmentPath=f"{tmp_path}/a.service", DropInPaths=paths)
    assert found.drop_ins == [f"{tmp_path}/b c.conf", f"{tmp_path}/d.conf"]
    assert found.definition() == "[Service]\n\n# \udce4\nNice=1\n\nNice=2\n"
    assert found.missing_files == []
    assert found.watchdog == 2000000
    (tmp_path / "d.conf").unlink()
    assert found.missing_files == [f"{tmp_path}/d.conf"]


def test_sockets_that_listen_now_or_in_the_next_boot(monkeypatch):
    listening = {
        "a.socket ActiveState": "active",
        "b.socket UnitFileState": "enabled",
        "c.socket ActiveState": "failed",
    }
    found = described(monkeypatch, listening, TriggeredBy="a.socket b.socket c.socket a.timer")
    assert found.listening_for == ["a.socket", "b.socket"]


@pytest.mark.parametrize(
    "status", ["a\u2028MainPID=1", "a\x0cMainPID=1", "a\rMainPID=1", "a\x85MainPID=1", "MainPID=1"]
)
def test_a_service_cannot_choose_another_property_by_its_status(monkeypatch, status):
    said = f"MainPID=7\nStatusText={status}\nType=notify\n"
    monkeypatch.setattr(units, "run", lambda argv: types.SimpleNamespace(stdout=said))
    assert units.show("a.service", "MainPID", "StatusText", "Id") == {"MainPID": "7", "StatusText": status, "Id": ""}


@pytest.mark.parametrize(
    ("modules", "setting", "restricted"),
    [("lockdown,bpf", "~mqueue", True), ("lockdown,bpf", "ext4 xfs", True), ("lockdown,bpf", "~", False), ("lockdown", "~mqueue", False)],
)  # fmt: skip
def test_file_systems_that_a_unit_may_not_use(monkeypatch, modules, setting, restricted):
    monkeypatch.setattr(
        units, "show", lambda name, *names: {**dict.fromkeys(names, ""), "RestrictFileSystems": setting}
    )
    monkeypatch.setattr(units, "read_text", lambda path, default: f"{modules}\n")
    assert units.Unit("a.service").restricted_file_systems is restricted
