"""boot/restore-done: the end of a restore, on either kernel."""

import pytest
from fakenode import NEW, OLD, OTHER, UNIT

from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory


def restored(node, **values):
    made = node(**values)
    made.mark("early-done", f"{UNIT}.restored")
    (made.root / "run/kup/open").symlink_to("now")
    return made


def test_on_the_new_kernel_probation_begins(node):
    made = restored(node)
    made.run("boot/restore-done")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == ("probation", "running")
    assert made.marked("restore-done")
    assert made.timeline() == ["restore-done"]
    assert made.called("systemctl") == ["systemctl daemon-reload"]
    assert made.plan.exists()  # a fallback by panic needs it


def notifying(node, line, main_pid="4711", **values):
    made = restored(node, **values)
    made.mark(f"{UNIT}.restored")
    made.write(f"run/kup/{UNIT}.pid", "4711\n")
    made.write_plan("notifications", f"{OTHER} 7 no\n{UNIT} {line}\n")
    made.fake("systemctl", f"[ $1 != show ] || echo {main_pid}")
    return made


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("3000000", "WATCHDOG_USEC=3000000"),
        ("3000000 All of it", "--status=All of it WATCHDOG_USEC=3000000"),
        ("0 All of it", "--status=All of it"),
    ],
)
def test_systemd_is_told_again_what_the_application_had_told(node, line, arguments):
    made = notifying(node, line)
    made.run("boot/restore-done")
    assert made.called("systemd-notify") == [f"systemd-notify --no-block --pid=4711 {arguments}"]
    # The reload would drop it: it gives the unit its own text.
    assert made.calls.index("systemctl daemon-reload") < made.calls.index(made.called("systemd-notify")[0])


def test_a_unit_that_was_started_again_has_told_systemd_itself(node):
    made = notifying(node, "3000000", main_pid="5000")
    made.run("boot/restore-done")
    assert made.called("systemd-notify") == []


def test_a_unit_that_never_told_anything_costs_no_process(node):
    made = notifying(node, "0")
    made.run("boot/restore-done")
    assert made.called("systemctl show") == []


def test_a_watchdog_waits_for_pending_pages(node):
    made = notifying(node, "3000000")
    made.mark(f"{UNIT}.pending")
    made.run("boot/restore-done")
    assert made.called("systemd-notify") == []
    made.run("boot/pages-drained", UNIT, SERVICE_RESULT="success", EXIT_STATUS="0")
    assert len(made.called("systemd-notify")) == 1


def test_attributes_of_control_groups_are_those_of_before_the_switch(node):
    made = restored(node)
    group = made.cgroup(UNIT)
    for name, value in {"pids.max": "max", "cpu.max": "max 100000", "cpu.uclamp.max": "max"}.items():
        (group / name).write_text(f"{value}\n")
    made.write_plan(
        "control-groups",
        f"{group}/pids.max 77\n{group}/cpu.max 5000 100000\n{group}/cpu.uclamp.max max\n{group}/not.there 1\n",
    )
    made.run("boot/restore-done")
    values = {name: made.group_value(UNIT, name) for name in ("pids.max", "cpu.max", "cpu.uclamp.max")}
    assert values == {"pids.max": "77", "cpu.max": "5000 100000", "cpu.uclamp.max": "max"}


def applying(node, **values):
    made = restored(node, **values)
    made.write_plan("apply-again", f"{OTHER}\n{UNIT}\n")
    made.fake("systemctl", f'[ "$1" != set-property ] || mkdir -p {made.root}/run/systemd/system.control/{UNIT}.d')
    return made


def test_systemd_applies_again_what_is_no_attribute_and_forgets_how_it_was_asked(node):
    made = applying(node)
    made.run("boot/restore-done")
    assert made.called("systemctl") == [
        "systemctl daemon-reload",
        f"systemctl set-property --runtime {UNIT} StartupIOWeight=",
        "systemctl daemon-reload",
    ]
    assert not (made.root / f"run/systemd/system.control/{UNIT}.d").exists()


@pytest.mark.parametrize("mark", [f"{UNIT}.pending", f"{UNIT}.unlimited"])
def test_systemd_does_not_apply_a_memory_limit_that_the_unit_is_over_or_may_come_over(node, mark):
    made = applying(node)
    made.mark(mark)
    made.run("boot/restore-done")
    assert made.called("systemctl set-property") == []


def test_systemd_applies_settings_again_when_pages_are_in_place(node):
    made = applying(node)
    made.mark(f"{UNIT}.pending")
    made.run("boot/restore-done")
    made.run("boot/pages-drained", UNIT, SERVICE_RESULT="success", EXIT_STATUS="0")
    assert len(made.called("systemctl set-property")) == 1


def test_unit_files_that_ended_with_the_old_boot_are_there_before_the_reload(node):
    made = restored(node)
    made.write("run/systemd/system/other.service", "other")
    made.write_plan(f"systemd/transient/{UNIT}", "its text")
    made.fake("systemctl", f"cat {made.root}/run/systemd/transient/{UNIT}")
    made.run("boot/restore-done")
    assert made.read(f"run/systemd/transient/{UNIT}") == "its text"
    assert made.read("run/systemd/system/other.service") == "other"


def test_the_record_is_durable_before_it_is_replaced(node):
    made = restored(node)
    made.run("boot/restore-done")
    state = f"{made.root}/var/lib/kup"
    assert made.called("sync") == [f"sync {state}/record.new {state}/copy.new", f"sync {state}"]


@pytest.mark.parametrize(("phase", "running"), [("switching", OLD), ("probation", OLD), ("returning", OLD)])
def test_on_the_old_kernel_the_update_is_over_and_leaves_nothing(node, phase, running):
    made = restored(node, phase=phase, running=running)
    made.run("boot/restore-done")
    assert made.load()["PHASE"] == "fell_back"
    assert not made.plan.exists()
    assert not (made.root / "var/lib/kup/images/update").exists()


def test_images_stay_while_pages_are_pending(node):
    made = restored(node, running=OLD)
    made.mark(f"{UNIT}.pending")
    made.run("boot/restore-done")
    assert made.load()["PHASE"] == "fell_back"
    assert (made.root / "var/lib/kup/images/update").exists()


def test_a_way_back_to_the_same_kernel_is_no_probation(node):
    made = restored(node, phase="returning", running=NEW)
    made.run("boot/restore-done")
    assert made.load()["PHASE"] == "fell_back"


@pytest.mark.parametrize(
    ("values", "tries", "frames", "data"),
    [
        ({}, "n", False, "running"),
        ({"running": OLD}, "", False, "running"),
        ({"running": OLD}, "o", False, "running"),
        ({"running": OLD}, "no", False, "checkpoint"),
        ({"running": OLD}, "no", True, "running"),
        ({"running": OLD, "DATA": "fresh"}, "no", False, "fresh"),
        ({"running": OLD, "phase": "returning"}, "no", False, "running"),
        ({"running": OLD, "phase": "probation", "DATA": "running"}, "n", False, "checkpoint"),
        ({"running": OLD, "DISK_CHECKPOINT": "1"}, "", False, "checkpoint"),
    ],
)
def test_which_memory_the_applications_have(node, values, tries, frames, data):
    made = restored(node, **values)
    if tries:
        made.write_plan(f"tries-{UNIT}", tries)
    if frames:
        made.write_plan("frames")
    made.run("boot/restore-done")
    assert made.load()["DATA"] == data


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"REASON": "no commit"}, "no commit"),
        ({}, "the node came up with the old kernel, after a panic or a power cut"),
        (
            {"REASON": "it failed", "DISK_CHECKPOINT": "1"},
            "it failed; the applications are as they were a moment before",
        ),
    ],
)
def test_the_reason_of_the_way_back(node, values, reason):
    made = restored(node, running=OLD, **values)
    made.run("boot/restore-done")
    assert made.load()["REASON"].startswith(reason)


def test_weights_and_limits_come_back(node):
    made = restored(node)
    made.run("boot/restore-done")
    names = ("cpu.weight", "io.weight", "memory.max", "memory.high")
    assert [made.group_value(UNIT, name) for name in names] == ["50", "default 60", "100", "90"]


def test_a_limit_that_is_exceeded_waits(node):
    made = restored(node)
    (made.cgroup(UNIT) / "memory.current").write_text("101\n")
    done = made.run("boot/restore-done")
    assert made.group_value(UNIT, "memory.max") == "max"
    assert made.group_value(UNIT, "memory.high") == "90"
    assert f"{UNIT} uses 101 bytes, more than its MemoryMax=100" in done.stderr


@pytest.mark.parametrize(("marks", "limit"), [(["pending"], "max"), (["pending", "drained"], "100"), ([], "100")])
def test_limits_and_weights_wait_for_pending_pages(node, marks, limit):
    made = restored(node)
    made.mark(*(f"{UNIT}.{mark}" for mark in marks))
    daemon = pending_memory.service(UNIT)
    made.cgroup(daemon)
    made.run("boot/restore-done")
    assert made.group_value(UNIT, "memory.max") == limit
    # Beside the rest of the boot.
    assert made.group_value(UNIT, "cpu.weight") == ("1000" if limit == "max" else "50")
    if limit == "max":
        assert made.group_value(daemon, "cpu.weight") == "1000"


def test_a_unit_that_has_ended_meanwhile_begins_no_probation(node):
    made = node()
    made.run("boot/restore-done", code=1)
    assert made.load()["PHASE"] == "switching"


def test_a_restore_that_has_failed_meanwhile_is_not_done(node):
    made = restored(node)
    made.fake("usr/local/lib/kup/paged")
    made.save(PHASE="failed")
    made.run("boot/restore-done")
    assert made.load()["PHASE"] == "failed"
    assert not made.called("systemctl")


def test_huge_pages_are_the_node_s_own_again(node):
    made = restored(node)
    made.write("run/kup/hugepages", "madvise\n")
    made.write("sys/kernel/mm/transparent_hugepage/enabled", "never\n")
    made.run("boot/restore-done")
    assert made.read("sys/kernel/mm/transparent_hugepage/enabled") == "madvise\n"
    assert not made.marked("hugepages")


def test_without_frames_overcommit_is_the_node_s_own_at_once(node):
    made = restored(node)
    made.mark(f"{UNIT}.pending")
    made.write("run/kup/overcommit", "2\n")
    made.write("run/sysctl.d/zzzz-kup-restoring.conf")
    made.write("proc/sys/vm/overcommit_memory", "1\n")
    made.run("boot/restore-done")
    assert made.read("proc/sys/vm/overcommit_memory") == "2\n"
    assert not list((made.root / "run/sysctl.d").iterdir())


def with_module(node, **values):
    made = restored(node, **values)
    made.write("dev/kup_ppp")
    made.write("run/kup/overcommit", "2\n")
    made.write("run/sysctl.d/zzzz-kup-restoring.conf")
    made.write("proc/sys/vm/overcommit_memory", "1\n")
    return made


def test_frames_are_the_applications_own_then(node):
    made = with_module(node)
    made.run("boot/restore-done")
    assert made.called("paged") == ["paged release"]
    assert made.called("rmmod") == ["rmmod kup_ppp"]
    assert "released" in made.events()
    assert made.read("proc/sys/vm/overcommit_memory") == "2\n"
    assert not (made.root / "run/sysctl.d/zzzz-kup-restoring.conf").exists()


def test_frames_that_a_unit_gave_up_are_freed(node):
    made = with_module(node)
    made.fake("usr/local/lib/kup/paged", '[ "$1" != release ]')
    made.run("boot/restore-done")
    assert made.called("paged") == ["paged release", "paged abandon"]
    assert made.called("rmmod") == ["rmmod kup_ppp"]


def test_while_pages_are_pending_frames_are_only_handed_over(node):
    made = with_module(node)
    made.mark(f"{UNIT}.pending")
    made.run("boot/restore-done")
    assert made.called("paged") == ["paged hand-over"]
    assert not made.called("rmmod")
    assert made.read("proc/sys/vm/overcommit_memory") == "1\n"


WATCHED = {"PANIC": "panic=30 softlockup_panic=0", "CRASHKERNEL": "crashkernel=1K@0"}


def watched(node, **values):
    made = restored(node, **WATCHED, **values)
    for name in ("panic", "softlockup_panic"):
        made.write(f"proc/sys/kernel/{name}", "1\n")
    made.write("sys/kernel/kexec_crash_size", "1024\n")
    made.write("proc/cmdline", "panic=1 systemd.watchdog_sec=300000ms\n")
    return made


def test_on_the_old_kernel_a_panic_is_the_operator_s_affair_again(node):
    made = watched(node, running=OLD)
    made.run("boot/restore-done")
    assert made.read("proc/sys/kernel/panic") == "30\n"
    assert made.read("proc/sys/kernel/softlockup_panic") == "0\n"
    assert made.called("systemd-run")[0].endswith("RuntimeWatchdogUSec t 0")
    assert made.read("sys/kernel/kexec_crash_size") == "1024\n"  # the node's own
    assert not made.called("kexec")


def test_on_the_new_kernel_the_watch_goes_on(node):
    made = watched(node)
    made.run("boot/restore-done")
    assert made.read("proc/sys/kernel/panic") == "1\n"
    assert not made.called("systemd-run")


def test_a_way_back_that_ends_on_the_new_kernel_unloads_the_crash_kernel(node):
    made = watched(node, phase="returning")
    made.run("boot/restore-done")
    assert made.called("kexec") == ["kexec --load-panic --unload"]
    assert made.read("sys/kernel/kexec_crash_size") == "0\n"


def test_all_units_get_their_own_back(node):
    made = restored(node, units=f"{UNIT} {OTHER}")
    made.run("boot/restore-done")
    assert [made.group_value(unit, "cpu.weight") for unit in (UNIT, OTHER)] == ["50", "50"]


# Units that start fresh.


def partly(node, **values):
    made = node(units=f"{UNIT} {OTHER}", **values)
    made.write("dev/kmsg")
    made.mark(f"{UNIT}.fresh", f"{OTHER}.restored")
    made.write(f"run/kup/{UNIT}.cause", "it's gone\n")
    (made.root / "run/kup/open").symlink_to("now")
    return made


@pytest.mark.parametrize(
    ("running", "phase", "after", "reason"),
    [
        (NEW, "switching", "probation", ""),
        (OLD, "switching", "fell_back", "the node came up with the old kernel, after a panic or a power cut; "),
        (OLD, "returning", "fell_back", "the node came up with the old kernel, after a panic or a power cut; "),
    ],
)
def test_what_is_lost_is_recorded_and_started_fresh(node, running, phase, after, reason):
    made = partly(node, running=running, phase=phase)
    made.run("boot/restore-done")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == (after, "partial")
    assert record.fresh_units == record.failed_units == [UNIT]
    assert record["REASON"] == f"{reason}started fresh on {running}: {UNIT}: it's gone"
    reload = made.calls.index("systemctl daemon-reload")
    assert made.calls[reload + 1 : reload + 3] == [
        f"systemctl reset-failed {UNIT}",
        f"systemctl --no-block start {UNIT}",
    ]
    assert "STATE LOST" in made.read("dev/kmsg")


@pytest.mark.parametrize("code", [0, 1])
def test_system_v_objects_of_a_unit_are_removed_before_it_starts_fresh(node, code):
    made = partly(node)
    for unit in (UNIT, OTHER):
        made.write_plan(f"ipc-{unit}", "")
    made.fake("usr/local/lib/kup/environment", f"exit {code}")
    made.run("boot/restore-done")
    assert made.called("environment") == [f"environment forget {made.plan}/ipc-{UNIT}"]
    assert made.calls.index(made.called("environment")[0]) < made.calls.index(f"systemctl --no-block start {UNIT}")


def test_a_unit_that_systemd_does_not_know_any_more_is_started(node):
    made = partly(node)
    made.fake("systemctl", '[ "$1" != reset-failed ]')
    made.run("boot/restore-done")
    assert f"systemctl --no-block start {UNIT}" in made.calls
    assert made.timeline() == ["restore-done"]


def test_where_all_is_lost_nothing_is_partial(node):
    made = partly(node)
    made.mark(f"{OTHER}.fresh")
    made.run("boot/restore-done")
    assert made.load()["DATA"] == "fresh"
    assert made.load().fresh_units == [UNIT, OTHER]


@pytest.mark.parametrize(
    ("phase", "fresh", "data"),
    [("returning", [OTHER], "partial"), ("switching", [], "running"), ("probation", [], "checkpoint")],
)
def test_what_an_earlier_boot_has_lost_is_in_the_checkpoint_but_where_that_was_made_later(node, phase, fresh, data):
    made = restored(
        node, running=OLD, phase=phase, units=f"{UNIT} {OTHER}", FRESH_UNITS=OTHER, DATA="partial" if fresh else ""
    )
    made.run("boot/restore-done")
    assert (made.load().fresh_units, made.load()["DATA"]) == (fresh, data)


def test_a_unit_that_ends_before_the_reload_is_started_fresh_too(node):
    made = partly(node, running=OLD)
    made.fake("systemctl", f'[ "$1" != daemon-reload ] || : >{made.root}/run/kup/{OTHER}.fresh')
    made.run("boot/restore-done")
    assert made.load().fresh_units == [UNIT, OTHER]
    assert f"systemctl --no-block start {OTHER}" in made.calls
    assert made.load()["PHASE"] == "fell_back"


def test_while_a_unit_is_missing_it_ends_before_it_does_anything(node):
    made = node(units=f"{UNIT} {OTHER}")
    made.run("boot/restore-done", code=1)
    assert not made.marked("restore-done")
    assert made.calls == []


def test_on_the_old_kernel_what_the_early_boot_lacked_is_told(node):
    made = restored(node, running=OLD, REASON="why")
    made.write("run/kup/cause", "the network lock could not be set\n")
    made.run("boot/restore-done")
    assert made.load()["REASON"] == "why; the network lock could not be set"


AGAIN = "the checkpoint has run before, so random numbers and nonces may repeat"


def test_a_second_run_of_a_checkpoint_is_told(node):
    made = restored(node, phase="probation", running=OLD, REASON="the kernel panicked")
    made.run("boot/restore-done")
    assert made.load()["REASON"] == f"the kernel panicked; {AGAIN}"


def test_a_first_run_is_not(node):
    made = restored(node, phase="returning", running=OLD, REASON="asked for")
    made.run("boot/restore-done")
    assert AGAIN not in made.load()["REASON"]


@pytest.mark.parametrize(
    ("running", "reason", "says"),
    [
        (NEW, "", f"{UNIT} is not as it was, in 2 respects; the first: TCP_USER_TIMEOUT is 0, was 3"),
        (NEW, "so", f"so; {UNIT} is not as it was, in 2 respects; the first: TCP_USER_TIMEOUT is 0, was 3"),
        (OLD, "so", f"so; {UNIT} is not as it was, in 2 respects; the first: TCP_USER_TIMEOUT is 0, was 3"),
    ],
)
def test_what_is_left_different_is_in_the_record(node, running, reason, says):
    made = restored(node, running=running, REASON=reason)
    made.write(f"run/kup/{UNIT}.differences", "TCP_USER_TIMEOUT is 0, was 3\nmore\n")
    made.run("boot/restore-done")
    assert made.load()["REASON"] == says


@pytest.mark.parametrize(("reason", "says"), [("", "peers were not told"), ("so", "so; peers were not told")])
def test_peers_that_were_not_told_are_in_the_record(node, reason, says):
    made = restored(node, REASON=reason)
    made.write("run/kup/backoff-failed", "peers were not told\n")
    made.run("boot/restore-done")
    assert (made.load()["PHASE"], made.load()["REASON"]) == ("probation", says)
