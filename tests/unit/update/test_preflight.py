"""The preflight: what it looks at, what it returns, and that nothing is left out."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocked, Blocker
from ansible_collections.kup.fleet.plugins.module_utils._criu.examination import Findings
from ansible_collections.kup.fleet.plugins.module_utils._engines.base import DANGERS
from ansible_collections.kup.fleet.plugins.module_utils._engines.registry import Choice, Wish
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system.distribution import Distribution
from ansible_collections.kup.fleet.plugins.module_utils._update import preflight, record

DEVICE = Blocker("device-descriptor", "descriptor 3 (/dev/fuse)", "is a device", "close it", "a.service", "a[7]")


class Unit:
    """A unit as systemd would describe it."""

    rss, shmem = 1000 << 20, 10 << 20
    processes = (1, 2)
    active = True
    main_pid = 7
    containers = drop_ins = missing_files = listening_for = remote_accounts = late_credentials = ()
    watchdog = 0
    restricted_file_systems = False

    def __init__(self, name):
        self.name = name
        self.properties = {"LoadState": "loaded", "ActiveState": "active", "Id": name, "NFileDescriptorStore": "0"}
        self.properties["MemoryDenyWriteExecute"] = "no"


class Engine:
    """An engine that stops units by name."""

    def __init__(self, *stopped):
        self._stopped = stopped

    survives = frozenset(DANGERS)

    def unit_blockers(self, unit):
        return [Blocker("swapped-out", "", "is out", "make room", unit.name)] if unit.name in self._stopped else []

    def memory_forecast(self, rss, freeze_target):
        return freeze_target


@pytest.fixture
def fit(monkeypatch):
    """A node that is fit, with the parts to change: each attribute is what a function of the library returns."""
    parts = types.SimpleNamespace(
        distribution=Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)"),
        running="6.12.1",
        target="7.2.12",
        package=None,
        record=record.Record(),
        tools={"criu", "kexec", "nft", "ip"},
        kexec=[],
        grub=[],
        criu="4.2",
        said="",
        found={},
        engine=Engine(),
        choice=Choice("foam", "", ("Engine ppp: It cannot; do.",)),
        packages=[],
        free=4000 << 20,
        lost="",
        devices={},
        filter=preflight.packet_filter.Filter(),
        filter_said="",
        drift={},
        mounts=[],
        locked="",
        labels=[],
        run_files=preflight.run_files.Use(),
        rehearsed=[],
    )
    monkeypatch.setattr(preflight.forecast, "run", lambda words: types.SimpleNamespace(stdout="4000000\n"))
    monkeypatch.setattr(preflight.rehearsal, "blockers", lambda unit: list(parts.rehearsed))
    monkeypatch.setattr(preflight.distribution, "look", lambda: parts.distribution)
    monkeypatch.setattr(preflight, "Unit", Unit)
    monkeypatch.setattr(preflight.sysctls, "collect", lambda: {"vm/swappiness": "1"})
    monkeypatch.setattr(preflight.run_files, "find", lambda unit: parts.run_files)
    monkeypatch.setattr(preflight.sysctls, "drift", lambda settings: dict(parts.drift))
    monkeypatch.setattr(preflight.node_kernels, "running", lambda: parts.running)
    monkeypatch.setattr(preflight.node_kernels, "choose", lambda selector: parts.target)
    monkeypatch.setattr(preflight.node_kernels, "package", lambda selector: parts.package)
    monkeypatch.setattr(preflight.node_kernels, "installed", lambda: [parts.running])
    monkeypatch.setattr(preflight.records, "load", lambda: parts.record)
    monkeypatch.setattr(preflight.shutil, "which", lambda tool: tool if tool in parts.tools else None)
    monkeypatch.setattr(preflight.kexec, "blockers", lambda target: list(parts.kexec))
    monkeypatch.setattr(preflight.grub, "blockers", lambda: list(parts.grub))
    monkeypatch.setattr(preflight.criu_command, "version", lambda: parts.criu)
    monkeypatch.setattr(preflight.criu_command, "check", lambda: parts.said)
    monkeypatch.setattr(
        preflight.examination, "examine", lambda unit, carried, criu: Findings(blockers=parts.found.get(unit.name, []))
    )
    monkeypatch.setattr(preflight.criu_carried, "of", lambda units: frozenset())
    monkeypatch.setattr(preflight.criu_seen, "version", lambda: parts.criu)
    monkeypatch.setattr(preflight.registry, "ENGINES", {"foam": parts.engine, "criu": parts.engine})
    monkeypatch.setattr(preflight.registry, "packages", lambda engine, kernels: parts.packages)
    monkeypatch.setattr(preflight.registry, "images_bytes", lambda engine, disk, rss, shmem: rss)
    monkeypatch.setattr(preflight.processes, "HAS_PSUTIL", True)
    monkeypatch.setattr(preflight.seen.filesystems, "of", lambda path: parts.devices.get(path, path))
    monkeypatch.setattr(preflight.seen.filesystems, "why_lost", lambda path: parts.lost)
    monkeypatch.setattr(preflight.seen, "_free", lambda path: parts.free)
    monkeypatch.setattr(preflight.seen, "_device", lambda path: parts.devices.get(path, 1))

    def choose(wish, images, kernels, units, daemon):
        if isinstance(parts.choice, Exception):
            raise parts.choice
        return parts.choice

    monkeypatch.setattr(preflight.registry, "choose", choose)
    monkeypatch.setattr(preflight.mounts, "of_unit", lambda unit: parts.mounts)
    monkeypatch.setattr(preflight.security_profiles, "of_unit", lambda unit: parts.labels)
    monkeypatch.setattr(preflight.mounts, "locked_root", lambda: parts.locked)
    monkeypatch.setattr(preflight.packet_filter, "record", lambda: parts.filter)
    monkeypatch.setattr(preflight.packet_filter, "why_not_loadable", lambda recorded: parts.filter_said)
    return parts


def examine(*units, engine="auto", images="/srv/images", **more):
    return preflight.examine("7.2", units or ["a.service"], images, Wish(engine), "run", **more)


def codes(verdict):
    assert verdict["problems"] == [blocker["sentence"] for blocker in verdict["blockers"]]
    return [blocker["code"] for blocker in verdict["blockers"]]


def test_what_a_rehearsal_has_shown_is_told(fit):
    fit.rehearsed = [Blocker("dump-refused", "", "cannot be dumped", "change it", "a.service")]
    verdict = examine()
    assert codes(verdict) == ["dump-refused"]
    assert not verdict["units"][0]["movable"]


ROCKY = Distribution("rocky", "9.4", "Rocky \x1b[2JLinux 9.4")


@pytest.mark.parametrize("target", ["7.2.12", "6.12.1", None])
def test_a_distribution_that_was_never_tried_is_refused_in_one_sentence(fit, target):
    expected = set(examine())
    fit.distribution, fit.target, fit.tools = ROCKY, target, set()
    fit.record = record.Record(fit.record, PHASE="committed")
    verdict = examine()
    assert codes(verdict) == ["untried-distribution"]
    # Neither up to date nor in need of packages.
    assert (verdict["needs_update"], verdict["missing"], verdict["package"]) == (True, [], None)
    assert (verdict["running"], verdict["phase"]) == ("6.12.1", "committed")
    assert set(verdict) == expected


def test_a_distribution_that_was_never_tried_is_a_note_at_ones_own_risk(fit):
    fit.distribution = ROCKY
    verdict = examine(any_distribution=True)
    assert codes(verdict) == []
    assert verdict["target"] == "7.2.12"
    assert verdict["notes"] == [
        r"The distribution Rocky \x1b[2JLinux 9.4 is one on which nobody has tried an update, expected Debian 12, 13, 14 or testing; "
        "kup_any_distribution goes on at your own risk."
    ]


def test_without_a_unit_there_is_nothing_to_judge(fit):
    with pytest.raises(KupError, match="kup_units is empty on this node"):
        preflight.examine("7.2", [], "/srv/images", Wish(), "run")


def test_file_systems_that_a_restore_waits_for(fit):
    fit.mounts = [preflight.mounts.Mount("/srv", "ext4", "/dev/sdb1", True, "", "")]
    verdict = examine()
    assert codes(verdict) == []
    assert verdict["units"][0]["mounts"] == ["/srv"]


def test_file_systems_that_the_next_boot_would_not_have(fit):
    fit.mounts = [preflight.mounts.Mount("/srv", "ext4", "/dev/sdb1", False, "", "")]
    fit.locked = "root_crypt"
    verdict = examine()
    assert codes(verdict) == ["mount-by-hand", "root-locked"]
    assert verdict["units"][0]["movable"] is False


def test_a_security_label_that_would_be_lost(fit):
    fit.labels = [preflight.security_profiles.Label("system_u:system_r:unconfined_t:s0", False, "")]
    assert codes(examine()) == ["security-label"]


def test_a_packet_filter_that_cannot_be_loaded_early(fit):
    fit.filter_said = "Error: Interface does not exist"
    assert codes(examine()) == ["packet-filter"]
    fit.tools.remove("nft")  # and nothing can be told
    assert codes(examine()) == []


def test_a_fit_node(fit):
    verdict = examine("a.service", "b.service")
    assert codes(verdict) == []
    assert verdict["needs_update"]
    assert (verdict["running"], verdict["target"], verdict["engine"]) == ("6.12.1", "7.2.12", "foam")
    assert verdict["engine_reasons"] == ["Engine ppp: It cannot; do."]
    assert verdict["missing"] == []
    assert verdict["disk_needed"] == 2600 << 20
    assert [(unit["unit"], unit["movable"], unit["rss_bytes"]) for unit in verdict["units"]] == [
        ("a.service", True, 1000 << 20),
        ("b.service", True, 1000 << 20),
    ]


def test_files_in_memory_are_judged(fit, monkeypatch):
    fit.run_files = preflight.run_files.Use(elsewhere={"/run/udev/x"})
    monkeypatch.setattr(preflight.run_files, "survey", lambda uses: (1, 17 << 20))
    verdict = examine()
    assert codes(verdict) == ["run-files-size", "run-directory"]
    assert not verdict["units"][0]["movable"]


def test_what_would_be_lost_with_a_plain_boot_is_noted(fit):
    assert examine()["notes"] == []
    fit.drift = {"vm/swappiness": "60"}
    assert "vm.swappiness = 1 (sysctl.d: 60)" in examine()["notes"][0]


def test_what_stands_in_the_way_of_a_unit(fit):
    fit.found = {"b.service": [DEVICE]}
    verdict = examine("a.service", "b.service")
    assert verdict["blockers"] == [DEVICE.as_dict()]
    assert [unit["movable"] for unit in verdict["units"]] == [True, False]
    assert [unit["details"] for unit in verdict["units"]] == [[], [DEVICE.as_dict()]]
    assert verdict["units"][1]["problems"] == [DEVICE.sentence()]


@pytest.mark.parametrize(
    ("part", "value", "code"),
    [
        ("target", None, "kernel-unknown"),
        ("kexec", [Blocker("kexec-off", "kexec", "is off", "reboot")], "kexec-off"),
        ("grub", [Blocker("boot-loader", "It", "is not GRUB", "no")], "boot-loader"),
        ("criu", "4.1.1", "criu-kernel"),
        ("said", "no userns", "criu-check"),
        ("lost", "on tmpfs", "images-lost"),
        ("free", 1000 << 20, "images-room"),
        ("devices", {preflight.seen.RUNTIME: 2, "/usr": 1}, "runtime-mount"),
        ("devices", {preflight.seen.STATE: 2}, "state-mount"),
        ("choice", Blocked([Blocker("machine", "It", "is odd", "no", engine="ppp")]), "machine"),
        ("engine", Engine("a.service"), "swapped-out"),
    ],
)
def test_each_part_of_the_node_counts(fit, monkeypatch, part, value, code):
    setattr(fit, part, value)
    monkeypatch.setitem(preflight.registry.ENGINES, "foam", fit.engine)
    assert codes(examine()) == [code]


def test_a_runtime_on_the_file_system_of_usr_is_early(fit):
    fit.devices = {preflight.seen.RUNTIME: 2, "/usr": 2}
    assert codes(examine()) == []


def test_a_unit_that_cannot_be_moved_is_not_asked_of_the_engine(fit, monkeypatch):
    fit.found = {"a.service": [DEVICE]}
    monkeypatch.setitem(preflight.registry.ENGINES, "foam", Engine("a.service"))
    assert codes(examine()) == ["device-descriptor"]


def test_a_node_that_is_up_to_date_has_only_its_record_judged(fit):
    fit.target = fit.running
    fit.kexec = [Blocker("kexec-off", "kexec", "is off", "reboot")]
    fit.found, fit.free, fit.lost = {"a.service": [DEVICE]}, 0, "on tmpfs"
    verdict = examine()
    assert not verdict["needs_update"]
    assert codes(verdict) == []
    assert verdict["units"][0]["details"] == [DEVICE.as_dict()]
    fit.record = record.Record(PHASE="prepared", OWNER="other", OWNER_UNTIL="99999999999")
    assert codes(examine()) == ["run-at-work"]


def test_a_node_on_probation_needs_its_update_and_has_its_images(fit):
    fit.running = "7.2.12"
    fit.record = record.Record(PHASE="probation", KERNEL_NEW="7.2.12", OWNER="run")
    fit.free = 0
    verdict = examine()
    assert verdict["needs_update"]
    assert codes(verdict) == []


def test_two_kernels_take_room_where_images_and_state_share_it(fit):
    fit.devices = {"/srv/images": "root", preflight.seen.STATE: "root"}
    assert examine()["disk_needed"] == (1300 + 320) << 20


@pytest.mark.parametrize(
    ("tool", "package"),
    [("criu", "criu"), ("kexec", "kexec-tools"), ("nft", "nftables"), ("ip", "iproute2")],
)
def test_a_missing_tool_is_a_missing_package(fit, tool, package):
    fit.tools = fit.tools - {tool}
    verdict = examine()
    assert codes(verdict) == []
    assert verdict["missing"] == [package]
    # What it takes to judge is not there.
    assert (verdict["engine"] is None) == (tool == "criu")


def test_without_psutil_the_rest_is_judged(fit, monkeypatch):
    monkeypatch.setattr(preflight.processes, "HAS_PSUTIL", False)
    monkeypatch.setattr(Unit, "rss", property(lambda self: pytest.fail("psutil is not there")))
    verdict = examine()
    assert verdict["missing"] == ["python3-psutil"]
    assert verdict["units"][0]["rss_bytes"] == 0
    assert verdict["units"][0]["movable"]
    fit.found = {"a.service": [DEVICE]}
    assert codes(examine()) == ["device-descriptor"]


def test_packages_of_the_engine_are_missing_as_well(fit):
    fit.packages = ["linux-headers-7.2.12"]
    fit.tools = fit.tools - {"nft"}
    assert examine()["missing"] == ["linux-headers-7.2.12", "nftables"]


def test_a_kernel_that_a_package_brings(fit):
    fit.target, fit.package = None, "linux-image-7.2.12"
    verdict = examine()
    assert codes(verdict) == []
    assert (verdict["target"], verdict["package"], verdict["release"]) == (None, "linux-image-7.2.12", "7.2.12")


@pytest.mark.parametrize("target", ["7.2.12", None])
def test_the_release_is_that_of_the_installed_kernel_or_none(fit, target):
    fit.target = target
    assert examine()["release"] == (target or "")


@pytest.mark.parametrize(
    ("setting", "running", "target", "refused"),
    [
        ("yes", "6.12.1-amd64", "6.1.0-56-amd64", True),
        ("no", "6.12.1-amd64", "6.1.0-56-amd64", False),
        ("yes", "6.1.0-56-amd64", "6.12.1-amd64", False),
        ("yes", "6.1.0-55-amd64", "6.1.0-56-amd64", False),
    ],
)
def test_what_the_new_kernel_cannot_deny_any_more_is_refused(fit, monkeypatch, setting, running, target, refused):
    class Strict(Unit):
        def __init__(self, name):
            super().__init__(name)
            self.properties["MemoryDenyWriteExecute"] = setting

    monkeypatch.setattr(preflight, "Unit", Strict)
    fit.running, fit.target = running, target
    verdict = examine()
    assert ("write-execute" in codes(verdict)) == refused
    assert not refused or verdict["blockers"][-1]["unit"] == "a.service"


@pytest.mark.parametrize(("looks", "refused"), [(1, False), (2, False), (3, True)])
def test_what_has_passed_a_moment_later_is_no_blocker(fit, monkeypatch, looks, refused):
    blocker = Blocker("connected-unix-socket", "", "asks D-Bus", "end it", "a.service")
    found = iter([[blocker]] * looks)
    monkeypatch.setattr(
        preflight.examination, "examine", lambda unit, carried, criu: Findings(blockers=next(found, []))
    )
    assert codes(examine()) == (["connected-unix-socket"] if refused else [])


@pytest.mark.parametrize(("choice", "stopped"), [("foam", True), ("criu", False)])
def test_the_page_daemon_needs_a_short_path(fit, choice, stopped):
    fit.choice = Choice(choice)
    verdict = examine(images="/srv/" + "a" * 90)
    assert codes(verdict) == (["socket-path"] if stopped else [])
    assert not stopped or verdict["blockers"][0]["unit"] == "a.service"


@pytest.mark.parametrize(
    ("name", "properties", "code", "says"),
    [
        ("redis.service", {"Id": "redis-server.service"}, "unit-alias", "another name of redis-server.service"),
        (r"cache@a\x2db.service", {}, "unit-name", "has a backslash in its name"),
        ("no.service", {"LoadState": "not-found", "Id": "x"}, "unit-unknown", "no.service is not-found on this node"),
    ],
)
def test_a_unit_that_cannot_be_is_not_looked_into(fit, monkeypatch, name, properties, code, says):
    class Odd(Unit):
        def __init__(self, name):
            super().__init__(name)
            self.properties.update(properties)

    monkeypatch.setattr(preflight, "Unit", Odd)
    monkeypatch.setattr(preflight.examination, "examine", lambda unit: pytest.fail("it was looked into"))
    verdict = preflight.judge_unit(name)
    (blocker,) = verdict["details"]
    assert (blocker["code"], blocker["unit"], blocker["object"]) == (code, name, "")
    assert says in verdict["problems"][0]
    assert not verdict["movable"]


@pytest.mark.parametrize("images", ["images", "/srv/check points", "/srv/100%", "/srv/a\\b", '/srv/"a"', "/srv/$a"])
def test_a_directory_that_a_unit_file_would_change_is_refused(images):
    with pytest.raises(KupError, match="expected an absolute path without"):
        examine(images=images)


def test_the_outage_is_expected_before_anything_is_frozen(fit):
    # The jump, the running boot's start, early boot; the freeze; CRIU for one unit with two processes.
    assert examine()["outage_s"] == pytest.approx(3.0 + 4.0 + 2.5 + 0.3 + 1.0 + 0.02, abs=0.05)
    assert examine(freeze_target=2.0)["outage_s"] == pytest.approx(12.5, abs=0.05)


def test_the_outage_is_told_for_each_engine(fit):
    fit.choice = Choice("foam", "")
    verdict = examine()
    assert verdict["outages_s"] == {"foam": verdict["outage_s"], "criu": verdict["outage_s"]}
    assert (verdict["engine"], verdict["disk_checkpoint"]) == ("foam", "")


def test_the_last_update_of_a_node_tells_the_outage_better_than_its_boot(fit):
    fit.record = record.Record(PHASE="committed", START_SECONDS="20.5")
    assert examine()["outage_s"] == pytest.approx(20.5 + 0.3 + 1.02, abs=0.05)


def test_no_outage_is_expected_of_a_node_that_needs_no_update(fit):
    fit.running = fit.target
    assert examine(leases={"a": 1})["outage_s"] is None


@pytest.mark.parametrize(("seconds", "found"), [(10, ["lease"]), (10.8, []), (30, [])])
def test_a_lease_that_the_outage_outlasts_is_refused(fit, seconds, found):
    verdict = examine(leases={"a": seconds})
    assert codes(verdict) == found
    if found:
        assert verdict["problems"][0].startswith(
            "a.service has a lease of 10 s elsewhere (lease_s), and the outage is expected to be 10.8 s; hand its lease"
        )


def test_a_lease_does_not_keep_a_node_on_probation_from_being_committed(fit):
    fit.record = record.Record(PHASE="probation", KERNEL_NEW=fit.target, OWNER="run")
    fit.running = fit.target
    assert codes(examine(leases={"a": 1})) == []
