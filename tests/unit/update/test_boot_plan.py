"""The boot plan: which files it has, and what of a unit's own text is in force while it is restored."""

import dataclasses
import os
import types

import fakeplan
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import examination
from ansible_collections.kup.fleet.plugins.module_utils._environment import mounts, security_profiles
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import unit_templates
from ansible_collections.kup.fleet.plugins.module_utils._system.private_places import Place
from ansible_collections.kup.fleet.plugins.module_utils._update import boot_plan, boot_units, watchdogs

UNIT = r"""[Unit]
Description=memcached daemon
After=network.target \
    remote-fs.target
Documentation=man:memcached(1)
ConditionPathExists=/etc/memcached.conf
FailureAction=reboot
StopWhenUnneeded=yes
Requires=epmd.service \
    names.service
BindsTo = key.service
Upholds=helper.service
Wants=other.service
PartOf=group.target

[Service]
Type=notify
ExecStart=/usr/bin/memcached -m 64 \
  -p 11211 \
  -u memcache
ExecReload=/bin/kill -HUP $MAINPID
Environment=A=1 \
  B=2
  TimeoutStartSec=5
TimeoutStopSec=9
RuntimeMaxSec=1d
RemainAfterExit=yes
Restart=always
RestartSec=3
LimitNOFILE=4096
MemoryMax=1G
MemoryLimit=1G
StartupCPUWeight=7
MemorySwapMax=0
PrivateTmp=true
StandardError=inherit

[Install]
WantedBy=multi-user.target
"""


def test_a_unit_keeps_its_limits_and_loses_what_starts_it_afresh_or_late():
    assert boot_units.restored_text(UNIT) == (
        "[Unit]\nDescription=memcached daemon\nDocumentation=man:memcached(1)\n"
        "Wants=epmd.service \\\n    names.service\nWants = key.service\nWants=helper.service\nWants=other.service\n\n[Service]\n"
        "TimeoutStopSec=9\nLimitNOFILE=4096\nMemorySwapMax=0\nPrivateTmp=true\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


@pytest.fixture(autouse=True)
def copied(monkeypatch):
    """The files below /run/systemd that a plan keeps."""
    found = []
    monkeypatch.setattr(boot_units.shutil, "copyfile", lambda path, copy: found.append((path, copy)))
    return found


@pytest.fixture
def write(monkeypatch, tmp_path):
    return lambda **values: fakeplan.write(monkeypatch, tmp_path, **values)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_all_files_of_a_plan(write):
    plan = write()
    assert files(plan) == {
        *("frames", "resources", "control-groups", "apply-again", "notifications"),
        *("links", "addresses", "routes", "network-lock.nft", "last-pid", "processes", "nonlocal-bind"),
        *("packets.nft", "filter/rules.nft", "lock-owner/table.nft", "lock-owner/commands", "lock-owner/answers"),
        *(
            "overcommit",
            "environment/0-clock.plan",
            "environment/1-sysctls.plan",
            "environment/2-files.plan",
            "environment/contents/1",
        ),
        *(
            f"restore/{name}.service"
            for name in ("kup-early", "kup-restore-done", "kup-restore-failed", "cache", "store")
        ),
        *(
            f"restore/sysinit.target.wants/{name}.service"
            for name in ("kup-early", "kup-restore-done", "cache", "store")
        ),
        *(f"restore/{name}.service.d/zz-kup-restore.conf" for name in ("cache", "store")),
        "restore/store.service.d/zz-kup-restored-view.conf",
        "restore/store.service.d/zz-kup-restored-devices.conf",
        "restore/kup-crash.service.d/restoring.conf",
        "restore/device.d/kup-restoring.conf",
        "restore/system-modprobe.slice.d/kup-restoring.conf",
        *(f"ahead/{name}.service.d/kup-ahead.conf" for name in ("cache", "store")),
        *(f"pages/kup-paged-{name}.service" for name in ("cache", "store")),
        *(
            f"probation/kup-{name}"
            for name in ("crash.service", "deadline.service", "deadline.timer", "shutdown.service")
        ),
        *(f"probation/kup-watch.{kind}" for kind in ("service", "timer")),
        *(
            f"probation/sysinit.target.wants/kup-{name}"
            for name in ("crash.service", "deadline.timer", "shutdown.service")
        ),
        "probation/timers.target.wants/kup-watch.timer",
    }
    assert all(path.exists() for path in plan.rglob("*"))  # no link leads nowhere
    assert (plan / "last-pid").read_text() == "4711\n"


def test_a_shutdown_is_noted_before_the_units_end(write):
    text = lines(write() / "probation/kup-shutdown.service")
    assert {"After=cache.service store.service", "Conflicts=shutdown.target", "RemainAfterExit=yes"} <= set(text)


def test_files_and_attributes_of_all_trees(monkeypatch, tmp_path):
    commands = []
    trees = {"/a": [types.SimpleNamespace(pid=number) for number in (4, 7)], "/b": []}
    monkeypatch.setattr(boot_plan.open_files, "run", commands.append)
    monkeypatch.setattr(boot_plan, "in_cgroup", trees.get)
    monkeypatch.setattr(
        boot_plan.attributes,
        "lines",
        lambda found, tree, pid, images, forgets: [f"{pid} {images} {found} {forgets}"] if tree else [],
    )
    monkeypatch.setattr(boot_plan.ipc, "put_plan", lambda plans, checkpoints: {"ipc-b.service": plans})
    plan = object.__new__(boot_plan.Plan)
    plan.directory, plan._plans = str(tmp_path), b"objects\n"
    units = [types.SimpleNamespace(name=f"{name}.service", cgroup=f"/{name}", main_pid=4) for name in "ab"]
    places = {"a.service": [Place("/tmp"), Place("/var/tmp", "/var/tmp/x/tmp")], "b.service": []}
    monkeypatch.setattr(boot_plan.private_places, "of", lambda unit: places[unit.name])
    monkeypatch.setattr(boot_plan.fork_wiping, "lines", lambda wiped, tree: [f"{len(tree)} {wiped}"] if tree else [])
    monkeypatch.setattr(boot_plan, "parents", lambda: "parents")
    monkeypatch.setattr(
        boot_plan.stopped, "lines", lambda tree, images, parents: [f"{one.pid} {images} {parents}" for one in tree]
    )
    anew = []
    monkeypatch.setattr(boot_plan.interrupted, "begin_anew", lambda *words: anew.append(words))
    findings = examination.Findings(forgets="names")
    plan.note_trees(
        [
            types.SimpleNamespace(
                unit=unit, attributes=5, directory="/images", findings=findings, wiped=6, calls="calls"
            )
            for unit in units
        ]
    )
    words = ["--unit", "a.service", "--bound", "/var/tmp", "/var/tmp/x/tmp", "4", "7", "--unit", "b.service"]
    assert commands == [["/usr/local/lib/kup/environment", "note-files", str(tmp_path), *words]]
    assert files(tmp_path) == {"attributes-a.service", "ipc-b.service", "tasks-a.service", "tasks-b.service"}
    assert (tmp_path / "tasks-a.service").read_text() == "4 /images parents\n7 /images parents\n"
    assert [(len(tree), *words) for tree, *words in anew] == [(2, "/images", "calls"), (0, "/images", "calls")]
    assert (tmp_path / "ipc-b.service").read_bytes() == b"objects\n"
    assert (tmp_path / "attributes-a.service").read_text() == "4 /images 5 names\n2 6\n"


def test_units_can_be_read_by_all_and_the_rest_by_root_only(write):
    plan = write()
    assert (plan / "restore/kup-early.service").stat().st_mode & 0o777 == 0o644
    assert (plan / "resources").stat().st_mode & 0o777 == 0o600


def test_the_filter_and_the_network_lock_are_one_transaction(write):
    plan = write()
    assert (
        plan / "packets.nft"
    ).read_text() == f'include "{plan}/filter/rules.nft"\ninclude "{plan}/network-lock.nft"\n'
    assert (plan / "filter/rules.nft").read_text() == "table ip a {\n}\n"
    assert "flags owner" in (plan / "lock-owner/table.nft").read_text()
    assert (plan / "lock-owner/commands").is_fifo()


DISK = mounts.Mount("/srv", "ext4", "/dev/sdb1", True, "", "")


def test_a_unit_waits_for_its_file_systems_and_not_ahead_of_udev(write):
    plan = write(mounts=[DISK])
    needed = [line for line in lines(plan / "restore/store.service.d/zz-kup-restore.conf") if "MountsFor" in line]
    assert needed == ["RequiresMountsFor=/var/lib/kup/images/update/1-store.service /var/lib /usr /srv"]
    assert "/srv" not in (plan / "restore/cache.service.d/zz-kup-restore.conf").read_text()
    # The other one would keep udev waiting, and with it this one.
    assert not (plan / "ahead").exists()


def test_devices_of_fstab_are_waited_for_longer_than_a_restore_takes(write):
    plan = write()
    assert "JobRunningTimeoutSec=120s 90s" in lines(plan / "restore/device.d/kup-restoring.conf")


def test_a_service_that_loads_the_filter_has_its_drop_in_before_and_after_the_end_of_the_restore(write):
    plan = write(loaders={"nftables.service": "[Service]\n"})
    for folder in ("restore", "systemd/system"):
        assert (plan / folder / "nftables.service.d/zz-kup-filter.conf").read_text() == "[Service]\n"


def test_security_profiles_are_kept_as_the_kernel_was_given_them(write, tmp_path):
    (tmp_path / "raw_data").write_bytes(b"\x04\x08\0\xff")
    plan = write(labels=[security_profiles.Label("a (enforce)", True, str(tmp_path / "raw_data"))])
    assert os.listdir(plan / "profiles") == ["store.service.0"]
    assert (plan / "profiles/store.service.0").read_bytes() == b"\x04\x08\0\xff"


def test_without_a_security_profile_there_is_no_plan(write):
    with pytest.raises(KupError, match=r"store\.service: the AppArmor profile a cannot be read from the kernel"):
        write(labels=[security_profiles.Label("a (enforce)", True, "")])


def test_without_its_file_systems_there_is_no_plan(write):
    with pytest.raises(
        KupError, match=r"store\.service: the file system /srv \(/dev/sdb1\) would be missing in the next boot"
    ):
        write(mounts=[dataclasses.replace(DISK, made=False)])


def test_without_the_whole_filter_there_is_no_plan(write):
    with pytest.raises(KupError, match="has the tables of iptables-legacy"):
        write(lost=["the tables of iptables-legacy"])


def lines(path):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def test_the_restore_takes_the_place_of_the_start(write):
    text = lines(write() / "restore/cache.service.d/zz-kup-restore.conf")
    start = next(line for line in text if line.startswith("ExecStart="))
    assert start.startswith(
        "ExecStart=+/usr/local/lib/kup/environment without-groups /bin/sh /usr/local/lib/kup/boot/restore-unit cache.service /usr/sbin/criu restore "
    )
    assert start.endswith("--lazy-pages")
    assert "--images-dir /var/lib/kup/images/update/1-cache.service " in start
    assert "PIDFile=/run/kup/cache.service.pid" in text
    assert "TimeoutStartSec=120" in text
    assert "ExecStopPost=+/bin/sh /usr/local/lib/kup/boot/restore-failed at-once cache.service" in text
    assert "Requires=kup-early.service" in text
    assert "Wants=kup-paged-cache.service" in text
    assert "MemoryMax=infinity" in text
    assert "CPUWeight=10000" in text


def test_a_unit_with_mounts_of_its_own_gets_them_again(write):
    folder = write(own_mounts=True) / "restore/cache.service.d"
    text = lines(folder / "zz-kup-restore.conf")
    on_node = "/usr/bin/nsenter --mount=/proc/1/ns/mnt --"
    shell = "/bin/sh /usr/local/lib/kup/boot"
    start = next(line for line in text if line.startswith("ExecStart="))
    program = "/usr/local/lib/kup/environment without-groups"
    assert start.startswith(f"ExecStart=+{on_node} {program} {shell}/restore-unit cache.service /proc/1/root/")
    assert f"ExecStopPost=+{on_node} {shell}/restore-failed at-once cache.service" in text
    assert [line for line in text if line.startswith("Private")] == ["PrivateTmp=no"]
    kept = lines(folder / "zz-kup-restored-view.conf")
    assert kept[4].startswith(
        "ExecStartPre=!/proc/1/root/usr/local/lib/kup/environment hold /proc/1/root/run/kup/cache.service.view "
    )
    assert "CapabilityBoundingSet=~" in kept
    assert not (folder / "zz-kup-restored-tmp.conf").exists()


@pytest.mark.parametrize(("dev", "mounts"), [("tmpfs", "dev-hugepages.mount dev-mqueue.mount"), ("devtmpfs", "")])
def test_a_private_dev_has_what_is_mounted_in_the_nodes(write, monkeypatch, dev, mounts):
    kinds = [("/", "ext4"), ("/dev", "devtmpfs"), ("/dev/mqueue", "mqueue"), ("/dev/hugepages", "x"), ("/dev", dev)]
    rows = [types.SimpleNamespace(root="/", place=place, kind=kind) for place, kind in kinds]
    monkeypatch.setattr(boot_units.mountinfo, "of", lambda process: rows)
    text = lines(write(own_mounts=True) / "restore/cache.service.d/zz-kup-restored-view.conf")
    assert [f"Wants={mounts}", f"After={mounts}"] == text[1:3]


def test_private_temporary_directories_are_those_of_the_plan(write, monkeypatch):
    monkeypatch.setattr(boot_units.private_tmp, "provide", lambda unit: ["/a/tmp:/tmp", "/a/var-tmp:/var/tmp"])
    text = lines(write(own_mounts=True) / "restore/cache.service.d/zz-kup-restored-tmp.conf")
    assert text == ["[Service]", "BindPaths=/a/tmp:/tmp /a/var-tmp:/var/tmp"]


@pytest.mark.parametrize(("own_mounts", "expected"), [(True, "disconnected"), (False, "no")])
def test_temporary_directories_in_memory_are_made_anew(write, own_mounts, expected):
    plan = write(own_mounts=own_mounts, private_tmp="disconnected")
    assert f"PrivateTmp={expected}" in lines(plan / "restore/cache.service.d/zz-kup-restore.conf")


@pytest.mark.parametrize(
    ("dynamic", "own_mounts", "ahead"), [("yes", True, False), ("yes", False, True), ("no", True, True)]
)
def test_a_restore_that_waits_for_the_nodes_tmp_is_not_ahead(write, dynamic, own_mounts, ahead):
    plan = write(own_mounts=own_mounts, dynamic=dynamic)
    assert (plan / "ahead/cache.service.d").exists() is ahead


def hidden(plan):
    folder = plan / "restore/cache.service.d"
    found = sorted(path.name for path in folder.iterdir() if path.is_symlink())
    assert all(os.readlink(folder / name) == "/dev/null" for name in found)
    return found


@pytest.mark.parametrize(
    "folder",
    [
        "/etc/systemd/system/cache.service.d",
        "/etc/systemd/system/cache@.service.d",
        "/usr/lib/systemd/system/cac-.service.d",
        "/etc/systemd/system/service.d",
        "/etc/systemd/system/another-name.service.d",
        "/run/systemd/system/cache.service.d",
        "/run/systemd/generator/cache.service.d",
    ],
)
def test_no_drop_in_comes_between_a_unit_and_its_restore(write, folder):
    assert hidden(write(drop_ins=[f"{folder}/a.conf"])) == ["a.conf"]


@pytest.mark.parametrize(
    "folder", ["/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient"]
)
def test_drop_ins_that_systemd_reads_before_those_of_a_plan_cannot_be_hidden(write, folder):
    assert hidden(write(drop_ins=[f"{folder}/cache.service.d/50-CPUWeight.conf"])) == []


@pytest.mark.parametrize(
    ("setting", "command", "identifier"),
    [
        ("", "{ path=/usr/sbin/a%b ; argv[]=/usr/sbin/a%b -m ; ignore_errors=no }", "a%%b"),
        ("web", "{ path=/usr/sbin/nginx ; argv[]=nginx ; ignore_errors=no }", "web"),
        ("", "", ""),
    ],
)
def test_the_journal_knows_a_restored_unit_by_its_own_name(setting, command, identifier):
    unit = fakeplan.unit("cache.service")
    unit.properties |= {"SyslogIdentifier": setting, "ExecStart": command}
    assert boot_units._identifier(unit) == identifier


@pytest.mark.parametrize("name", ["kup-ahead.conf", "zz-kup-restore.conf"])
def test_drop_ins_of_an_update_are_not_hidden(write, name):
    plan = write(drop_ins=[f"/run/systemd/generator.early/cache.service.d/{name}"])
    assert hidden(plan) == []
    assert (plan / "restore/cache.service.d/zz-kup-restore.conf").read_text()


def test_files_of_a_unit_that_end_with_this_boot_are_kept(write, copied):
    plan = write(
        fragment="/run/systemd/transient/cache.service",
        drop_ins=[
            "/run/systemd/transient/cache.service.d/50-Nice.conf",
            "/run/systemd/system.control/cache.service.d/50-CPUWeight.conf",
            "/run/systemd/system/cache.service.d/override.conf",
            "/run/systemd/generator/cache.service.d/again.conf",
            "/etc/systemd/system/cache.service.d/lasting.conf",
        ],
    )
    names = [
        "transient/cache.service",
        "transient/cache.service.d/50-Nice.conf",
        "system.control/cache.service.d/50-CPUWeight.conf",
        "system/cache.service.d/override.conf",
    ]
    assert copied == [(f"/run/systemd/{name}", f"{plan}/systemd/{name}") for name in names]
    assert (plan / "systemd/system/cache.service.d").is_dir()


def test_what_systemd_was_told_by_a_unit(write):
    assert (write() / "notifications").read_text() == (
        "cache.service 3000000 Serving all\nstore.service 3000000 Serving all\n"
    )


def test_a_restored_unit_gets_the_watchdog_of_before_the_switch(write, monkeypatch):
    monkeypatch.setattr(watchdogs, "own", lambda unit: 7 if unit.name == "store.service" else unit.watchdog)
    assert (write() / "notifications").read_text().splitlines()[1] == "store.service 7 Serving all"


def test_everything_early_but_mounts_waits_for_the_applications(write):
    plan = write()
    early = "cryptsetup.target systemd-journald.service systemd-udevd.service"
    assert f"Before={early}" in lines(plan / "restore/kup-early.service")
    assert lines(plan / "ahead/cache.service.d/kup-ahead.conf") == ["[Unit]", f"Before={early}"]
    assert "Before=modprobe@i6300esb.service" in lines(plan / "restore/kup-early.service")


def test_units_that_asked_to_be_started_before_an_application_still_are(write):
    plan = write(after="basic.target systemd-udevd.service")
    ahead = lines(plan / "ahead/cache.service.d/kup-ahead.conf")
    assert ahead == ["[Unit]", "Before=cryptsetup.target systemd-journald.service"]


@pytest.mark.parametrize(
    "values",
    [
        {"after": "cache.timer", "triggers": "cache.timer"},
        {"after": "late.service", "others": {"late.service": ["[Unit]\nBefore=a.target cache.service\n"]}},
        {"after": "late.service", "others": {"late.service": ["[Unit]\nBefore=\\\n  cache.service\n"]}},
        {"after": "late@cache.service", "others": {"late@cache.service": ["Before=%i.service\n"]}},
    ],
)
def test_a_restore_that_has_to_wait_for_a_late_unit_is_not_ahead(write, values):
    plan = write(**values)
    assert not (plan / "ahead/cache.service.d").exists()
    assert (plan / "ahead/store.service.d").exists()


def test_late_units_that_only_the_unit_s_own_text_names_do_not_count(write):
    plan = write(after="late.service basic.target", others={"late.service": ["[Unit]\nBefore=b.service\n"]})
    assert (plan / "ahead/cache.service.d").exists()


def test_what_an_early_unit_waits_for_stays_before_the_restore_as_well(write):
    others = {
        "systemd-udevd.service": ["[Unit]\nBefore=cache.service\n", "local-fs.target", "middle.service"],
        "middle.service": ["", "systemd-journald.service", "systemd-udevd.service"],
    }
    plan = write(after="systemd-udevd.service", others=others)
    assert lines(plan / "ahead/cache.service.d/kup-ahead.conf") == ["[Unit]", "Before=cryptsetup.target"]


@pytest.mark.parametrize(("processors", "after"), [(1, "cache.service store.service"), (2, "kup-early.service")])
def test_one_processor_restores_before_it_loads_the_crash_kernel(write, processors, after):
    text = lines(write(processors=processors) / "restore/kup-crash.service.d/restoring.conf")
    assert f"After={after}" in text


def test_a_restore_that_needs_a_network_manager_is_not_ahead(write):
    assert not (write(plain=False) / "ahead").exists()


def test_without_an_interval_nobody_watches(write):
    assert not any("kup-watch" in name for name in files(write(interval="0")))


def test_the_restore_is_done_when_no_unit_is_missing_any_more(write):
    text = lines(write() / "restore/kup-restore-done.service")
    assert "After=cache.service store.service" in text
    # It has work to do also where some are lost.
    assert not [line for line in text if line.startswith(("Requires=", "BindsTo="))]


def test_the_names_of_processes_are_kept_for_the_report(write):
    assert (write() / "processes").read_text() == "4709 cache.service [main] 'x\n4709 store.service [main] 'x\n"


def test_what_each_unit_had_before(write):
    first = (write() / "resources").read_text().splitlines()[0]
    assert first == "cache.service /sys/fs/cgroup/system.slice/cache.service 100 50 max max"


@pytest.fixture
def template(monkeypatch, tmp_path):
    monkeypatch.setattr(unit_templates, "UNIT_TEMPLATES", str(tmp_path))
    (tmp_path / "a.service.in").write_text("[Unit]\nAfter=@ONE@ modprobe@x.service @TWO@\n")
    return "a.service"


def test_a_template_gets_its_values(template):
    assert unit_templates.render(template, ONE="a@TWO@", TWO=7) == "[Unit]\nAfter=a@TWO@ modprobe@x.service 7\n"


@pytest.mark.parametrize("values", [{"ONE": 1}, {}, {"ONE": 1, "TWO": 2, "THREE": 3}])
def test_a_placeholder_without_a_value_or_the_other_way_round_is_refused(template, values):
    with pytest.raises(KupError, match="has the placeholders ONE, TWO, expected"):
        unit_templates.render(template, **values)


def test_a_value_cannot_begin_a_line_of_its_own(template):
    with pytest.raises(KupError, match="no control characters"):
        unit_templates.render(template, ONE="x\nExecStart=/bin/evil", TWO="")


def test_a_missing_template_is_named(template):
    with pytest.raises(KupError, match=r"b\.service\.in is missing"):
        unit_templates.render("b.service")
