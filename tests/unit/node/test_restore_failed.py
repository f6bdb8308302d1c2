"""boot/restore-failed: what becomes of a node on which a unit could not be restored."""

import random

import pytest
from fakenode import NEW, OLD, OTHER, UNIT

FAILED = {"SERVICE_RESULT": "exit-code"}


# What systemctl says of units: those that have failed; none is on its way.
SYSTEMCTL = 'case "$*" in *is-failed*%s*) exit 0 ;; *is-failed*) exit 1 ;; *show*) echo ActiveState=failed ;; esac'


def failing(node, failed="no.service", **values):
    """A boot whose kexec starts nothing: the script goes on, as it does where kexec is refused.

    :param failed: the one of KUP's own services that has failed.
    """
    made = node(**values)
    made.write("dev/kmsg")
    made.mark("early-done", *(f"{unit}.cause" for unit in made.values["UNITS"].split()))
    made.fake("systemctl", SYSTEMCTL % failed)
    return made


def acts(made):
    """Calls of systemctl that change something."""
    looks = (" show ", " is-failed ", " kup-paged-")
    return [call for call in made.called("systemctl") if not any(look in call for look in looks)]


def log(made, unit, text):
    made.write(f"var/lib/kup/images/update/1-{unit}/restore.log", text)


def lose(made, unit=UNIT):
    """The unit's own call after a failed restore."""
    return made.run("boot/restore-failed", "at-once", unit, **FAILED)


def jumps(made):
    return made.called("kexec --no-sync --exec")


def test_on_the_new_kernel_the_old_one_is_started_with_the_same_checkpoint(node):
    made = failing(node)
    made.run("boot/restore-failed", code=1)
    kernel = f"{made.root}/var/lib/kup/kernels/{OLD}"
    load = f"kexec --kexec-syscall-auto --load {kernel}/vmlinuz --command-line=root=/dev/sda1"
    interesting = [call for call in made.calls if not call.startswith(("dmesg", "sync /", "systemctl show"))]
    assert interesting[:4] == ["systemctl stop kup-crash.service", load, "sync", "kexec --no-sync --exec"]
    record = made.load()
    assert (record["PHASE"], record.failed_units) == ("switching", [UNIT])
    assert record["REASON"].startswith(f"the restore failed on {NEW}: {UNIT}: ")
    assert made.timeline() == ["restore-failed", "kexec"]


def test_the_old_kernel_gets_its_initial_ram_file_system(node):
    made = failing(node)
    initrd = made.write(f"var/lib/kup/kernels/{OLD}/initrd")
    made.run("boot/restore-failed", code=1)
    assert f"--initrd={initrd} " in made.called("kexec --kexec-syscall-auto")[0]


@pytest.mark.parametrize(("runs", "data"), [(False, "running"), (True, "checkpoint")])
def test_a_unit_that_has_run_meanwhile_loses_what_it_did(node, runs, data):
    """None does before packets flow."""
    made = failing(node, units=f"{UNIT} {OTHER}")
    made.mark(f"{OTHER}.restored")
    if runs:
        made.decide("go-on")
    made.run("boot/restore-failed", code=1)
    assert made.load()["DATA"] == data
    assert made.decision() == ("go-on" if runs else "go-back")


def test_no_unit_goes_on_that_is_restored_while_the_node_goes_back(node, stopped, runs):
    made = failing(node, units=f"{UNIT} {OTHER}")
    process = stopped()
    made.tree(OTHER, (process, False))
    made.run("boot/restore-failed", code=1)
    # The one that failed had been restored before.
    made.mark(f"{UNIT}.restored")
    made.fake("criu")
    made.run("boot/restore-unit", OTHER, "criu", code=1)
    assert not runs(process)
    assert not (made.root / "run/kup/open").is_symlink()
    assert not made.called("nft")


@pytest.mark.parametrize("frames", [False, True])
def test_trees_go_on_where_the_unit_that_let_them_go_ended_before_it_came_to_that(node, stopped, runs, frames):
    made = failing(node, units=f"{UNIT} {OTHER}", ON_FAILURE=f"{UNIT}=continue")
    process = stopped()
    made.tree(OTHER, (process, False))
    if frames:
        made.keep_frames()
    made.mark(f"{OTHER}.restored")
    made.decide("go-on")
    (made.root / "run/kup/open").symlink_to("now")
    made.fake("nft", f"cut -d ' ' -f 3 /proc/{process.pid}/stat >>{made.root}/states")
    lose(made)
    assert made.read("states")[0] == "T"  # packets flow first
    assert runs(process)
    assert bool(made.called("paged seal")) is frames


def test_where_kexec_is_refused_the_boot_loader_starts_the_old_kernel(node):
    made = failing(node)
    made.fake("kexec", '[ "$1" = --no-sync ]')
    made.run("boot/restore-failed", code=1)
    assert not jumps(made)
    assert acts(made)[-2:] == [f"systemctl kill --signal=SIGKILL {UNIT}", "systemctl --force reboot"]


def test_a_second_try_to_go_back_keeps_the_first_cause(node):
    made = failing(node, REASON=f"the restore failed on {NEW}: the cause")
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: the cause"


def test_at_once_where_kexec_is_refused_the_service_of_its_own_has_its_turn(node):
    made = failing(node)
    made.run("boot/restore-failed", "at-once", UNIT, code=1, **FAILED)
    assert jumps(made)
    assert not made.called("systemctl --force reboot")


@pytest.mark.parametrize(
    ("values", "environment"),
    [
        ({}, {"SERVICE_RESULT": "success"}),
        ({"phase": "committed"}, FAILED),
        ({"phase": "failed"}, FAILED),
    ],
)
def test_a_unit_that_ended_in_good_order_or_after_the_update_is_no_failure(node, values, environment):
    made = failing(node, **values)
    before = made.load()
    made.run("boot/restore-failed", "at-once", UNIT, **environment)
    assert acts(made) == []
    assert made.load() == before
    assert made.timeline() == []


def test_on_probation_the_gate_judges_what_has_ended(node):
    made = failing(node, phase="probation")
    made.mark("restore-done")
    lose(made)
    assert made.calls == []


# One unit's failure is its own: on the old kernel, which is the last that can restore, and on the new one by its policy.


ALONE = pytest.mark.parametrize(
    "values",
    [
        {"running": OLD},
        {"phase": "returning"},
        {"ON_FAILURE": f"{UNIT}=continue"},
        {"ON_FAILURE": f"{UNIT}=continue {OTHER}=stop"},
    ],
)


@ALONE
@pytest.mark.parametrize("frames", [False, True])
def test_the_last_unit_to_fail_lets_the_others_go_on(node, stopped, runs, values, frames):
    made = failing(node, units=f"{UNIT} {OTHER}", **values)
    process = stopped()
    made.tree(OTHER, (process, False))
    if frames:
        made.keep_frames()
    made.mark(f"{OTHER}.restored", f"{UNIT}.pending", f"{OTHER}.pending")
    lose(made)
    assert made.marked(f"{UNIT}.fresh")
    assert not made.marked(f"{UNIT}.pending")
    # Its page daemon waits for nobody any more.
    assert made.called("systemctl kill") == [f"systemctl kill --signal=SIGKILL kup-paged-{UNIT}"]
    assert made.marked(f"{OTHER}.pending")
    assert (made.root / "run/kup/open").is_symlink()
    assert made.marked("rest")
    assert "nft delete table inet kup" in made.calls
    assert made.decision() == "go-on"
    assert runs(process)
    assert not jumps(made)
    # kup-restore-done writes the record.
    assert made.load()["PHASE"] == values.get("phase", "switching")


@ALONE
def test_a_unit_that_fails_before_the_others_leaves_them_alone(node, values):
    made = failing(node, units=f"{UNIT} {OTHER}", **values)
    made.keep_frames()
    lose(made)
    assert made.marked(f"{UNIT}.fresh")
    assert not made.called("nft")
    assert made.decision() is None
    assert acts(made) == []
    # And when the other one has come, it goes on.
    made.fake("criu")
    made.tree(OTHER)
    made.run("boot/restore-unit", OTHER, "criu")
    assert made.decision() == "go-on"
    assert (made.root / "run/kup/open").is_symlink()


@pytest.mark.parametrize("policy", ["", f"{OTHER}=continue", f"{UNIT}=stop"])
def test_a_unit_without_leave_to_fail_takes_all_back(node, policy):
    made = failing(node, units=f"{UNIT} {OTHER}", ON_FAILURE=policy)
    made.mark(f"{OTHER}.fresh")
    made.run("boot/restore-failed", "at-once", UNIT, code=1, **FAILED)
    assert jumps(made)
    assert made.load().failed_units == [UNIT]


def test_frames_that_are_to_go_back_go_back_whatever_the_policy(node):
    made = failing(node, ON_FAILURE=f"{UNIT}=continue")
    made.keep_frames()
    made.decide("go-back")
    made.run("boot/restore-failed", "at-once", UNIT, code=1, **FAILED)
    assert jumps(made)


def test_all_units_may_go_on_without_their_state_on_the_new_kernel(node):
    made = failing(node, ON_FAILURE=f"{UNIT}=continue")
    lose(made)
    assert (made.root / "run/kup/open").is_symlink()
    assert not jumps(made)


def test_a_unit_that_starts_fresh_for_a_reason_of_its_own_takes_nobody_back(node):
    made = failing(node, units=f"{UNIT} {OTHER}", running=OLD)
    made.shell(f'start_fresh_because {UNIT} "its file x is newer"', "cause", "fresh")
    made.mark(f"{OTHER}.restored")
    lose(made)
    assert made.read(f"run/kup/{UNIT}.cause") == "its file x is newer\n"
    assert (made.root / "run/kup/open").is_symlink()


def test_a_unit_that_systemd_did_not_even_start_starts_fresh_and_the_end_is_tried_once_more(node):
    made = failing(node, units=f"{UNIT} {OTHER}", running=OLD, failed="kup-restore-done.service")
    made.mark(f"{OTHER}.restored")
    made.run("boot/restore-failed")
    assert made.marked(f"{UNIT}.fresh")
    assert (made.root / "run/kup/open").is_symlink()
    assert acts(made) == ["systemctl --no-block --job-mode=ignore-dependencies start kup-restore-done.service"]


@pytest.mark.parametrize(
    "state", ["Job=12\nActiveState=inactive", "ActiveState=activating", "ActiveState=deactivating"]
)
def test_a_unit_that_is_on_its_way_is_waited_for(node, state):
    made = failing(node, units=f"{UNIT} {OTHER}", running=OLD)
    made.fake(
        "systemctl", f'case "$*" in *is-failed*) exit 1 ;; *show*) printf "{state}\n" ;; esac'.replace("\n", "\\n")
    )
    made.mark(f"{OTHER}.fresh")
    made.run("boot/restore-failed")
    assert acts(made) == []
    assert not made.marked(f"{UNIT}.fresh")
    assert made.load()["PHASE"] == "switching"


def test_where_all_is_well_by_then_nothing_happens(node):
    made = failing(node, units=f"{UNIT} {OTHER}", running=OLD)
    made.mark(f"{OTHER}.restored", f"{UNIT}.fresh")
    made.run("boot/restore-failed")
    assert acts(made) == []
    assert made.timeline() == []


def test_a_unit_that_ends_while_the_end_is_written_is_told_to_it(node):
    made = failing(node, phase="fell_back", running=OLD)
    made.mark(f"{UNIT}.restored", "restore-done")
    lose(made)
    assert made.marked(f"{UNIT}.fresh")
    assert made.load()["PHASE"] == "fell_back"


@pytest.mark.parametrize(("running", "data"), [(NEW, "running"), (OLD, "running")])
def test_an_end_that_cannot_be_written_ends_the_update(node, running, data):
    made = failing(node, running=running, failed="kup-restore-done.service", DATA=data)
    made.mark(f"{UNIT}.restored", "restore-done", "early-done")
    made.run("boot/restore-failed", code=None)
    assert bool(jumps(made)) is (running == NEW)
    if running == OLD:
        assert (made.load()["PHASE"], made.load()["DATA"]) == ("failed", "running")
        assert "could not be recorded" in made.load()["REASON"]


# The early boot.


def test_an_early_boot_that_fails_on_the_new_kernel_takes_all_back(node):
    made = failing(node, failed="kup-early.service", ON_FAILURE=f"{UNIT}=continue")
    (made.root / "run/kup/early-done").unlink()
    made.write("run/kup/cause", "the network lock could not be set\n")
    made.write(f"run/kup/{UNIT}.lacks", f"{UNIT} needs the fifo /run/x\n")
    made.run("boot/restore-failed", code=1)
    assert jumps(made)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: the network lock could not be set"
    # It was no unit's fault.
    assert made.load().failed_units == []


def test_an_early_boot_that_fails_on_the_old_kernel_is_tried_again_and_the_units_are_restored(node):
    made = failing(node, failed="kup-early.service", running=OLD)
    (made.root / "run/kup/early-done").unlink()
    made.run("boot/restore-failed")
    assert made.marked("early-done")
    assert acts(made) == ["systemctl daemon-reload", f"systemctl --no-block start {UNIT} kup-restore-done.service"]
    assert made.called("nft -f")
    assert made.load()["PHASE"] == "switching"


def unpacked(made):
    made.write(f"var/lib/kup/kernels/{OLD}/unpacked.window", "--kexec-syscall --mem-min=0x1 --mem-max=0x2\n")
    made.fake("kexec", '[ -z "${LD_PRELOAD-}" ] || echo "kup_sums: 5 regions"')
    return f"kexec --kexec-syscall --mem-min=0x1 --mem-max=0x2 --load {made.root}/var/lib/kup/kernels/{OLD}/unpacked"


def test_a_kernel_that_was_unpacked_is_not_unpacked_now(node):
    made = failing(node)
    load = unpacked(made)
    made.run("boot/restore-failed", code=1)
    (told,) = made.called("kexec --kexec-syscall")
    assert told == f"{load} --command-line=root=/dev/sda1 --no-checks"


def test_an_unpacked_kernel_that_is_refused_is_loaded_as_the_file_that_it_was(node):
    made = failing(node)
    load = unpacked(made)
    made.fake("kexec", 'case "$*" in *unpacked*) exit 1 ;; esac')
    made.run("boot/restore-failed", code=1)
    told = made.called("kexec --kexec-syscall")
    assert told[0].startswith(load) and told[-1].startswith("kexec --kexec-syscall-auto --load ")


def test_frames_go_back_with_the_module_s_word(node):
    made = failing(node)
    made.keep_frames()
    made.write("dev/kup_ppp")
    made.run("boot/restore-failed", code=1)
    assert made.called("paged") == ["paged rearm"]
    load = (
        f"kexec --mem-min=0x1 --mem-max=0x2 --load {made.root}/var/lib/kup/kernels/{OLD}/patched "
        "--command-line=root=/dev/sda1 kup_ppp.table=0x1000,0x2"
    )
    # Without check sums of ours (the fake says nothing), those of kexec.
    assert made.called("kexec --mem-min") == [f"{load} --no-checks", load]
    assert made.decision() == "go-back"
    assert made.load()["DATA"] == "running"


def test_an_image_with_check_sums_is_loaded_once(node):
    made = failing(node)
    made.keep_frames()
    made.write("dev/kup_ppp")
    made.fake("kexec", '[ -z "${LD_PRELOAD-}" ] || echo "kup_sums: 5 regions"')
    made.run("boot/restore-failed", code=1)
    assert [call.rpartition(" ")[2] for call in made.called("kexec --mem-min")] == ["--no-checks"]


def test_frames_are_left_behind_without_the_module_s_word(node):
    made = failing(node)
    made.keep_frames()
    made.write("dev/kup_ppp")
    made.fake("usr/local/lib/kup/paged", "exit 1")
    made.run("boot/restore-failed", code=1)
    assert not any("kup_ppp.table" in call or "patched" in call for call in made.called("kexec"))
    assert made.called("kexec --kexec-syscall-auto --load")


def test_the_module_is_loaded_where_the_early_boot_did_not_come_to_it(node):
    made = failing(node)
    made.keep_frames()
    made.run("boot/restore-failed", code=1)
    assert made.called("insmod")[0].endswith("table=0x1000,0x2")


def test_a_unit_that_ended_with_its_frames_starts_fresh_beside_the_others(node, stopped, runs):
    made = failing(node, units=f"{UNIT} {OTHER}")
    made.keep_frames()
    made.decide("go-on")
    made.mark(f"{UNIT}.restored", f"{OTHER}.restored")
    process = stopped()
    made.tree(OTHER, (process, False))
    made.tree(UNIT)
    lose(made)
    assert made.called("paged")[0] == "paged seal"
    assert runs(process)
    assert not jumps(made)
    assert made.marked(f"{UNIT}.fresh")
    assert not made.marked(f"{UNIT}.restored")
    assert made.read(f"run/kup/{UNIT}.cause") == "it ended right after it was restored\n"
    assert (made.root / "run/kup/open").is_symlink()


def test_on_the_old_kernel_without_its_frames_the_node_starts_cold_for_the_disk_checkpoint(node):
    made = failing(node, running=OLD, DISK_CHECKPOINT="2")
    made.keep_frames()
    made.decide("go-back")
    lose(made)
    made.run("boot/restore-failed", code=1)
    assert acts(made) == [f"systemctl kill --signal=SIGKILL {UNIT}", "systemctl --force reboot"]
    assert made.load()["PHASE"] == "switching"
    assert made.load()["REASON"].startswith(f"the restore failed on {OLD}: {UNIT}: ")


def test_the_disk_checkpoint_failed_too(node):
    made = failing(node, running=OLD, DISK_CHECKPOINT="1")
    lose(made)
    made.run("boot/restore-failed")
    assert made.load()["PHASE"] == "failed"


def test_on_the_old_kernel_nothing_is_left_but_to_start_fresh(node):
    made = failing(node, running=OLD, units=f"{UNIT} {OTHER}", REASON="it failed before")
    made.mark(f"{UNIT}.pending", f"{OTHER}.pending")
    lose(made)
    lose(made, OTHER)
    assert not made.called("nft")
    made.run("boot/restore-failed")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == ("failed", "fresh")
    assert record.failed_units == record.fresh_units == [UNIT, OTHER]
    assert record["REASON"].startswith(f"it failed before; no restore worked (kernel {OLD}: {UNIT}: ")
    assert made.called("nft") == ["nft delete table inet kup"]
    assert acts(made) == [
        "systemctl daemon-reload",
        f"systemctl reset-failed {UNIT}",
        f"systemctl --no-block start {UNIT}",
        f"systemctl reset-failed {OTHER}",
        f"systemctl --no-block start {OTHER}",
    ]
    assert made.marked("restore-done")
    assert made.marked("rest")
    assert not made.marked(f"{OTHER}.pending")
    assert made.group_value(UNIT, "cpu.weight") == "50"
    assert "RESTORE FAILED" in made.read("dev/kmsg")
    assert (made.root / "var/lib/kup/images/update").exists()


def test_a_failed_restore_keeps_no_module_from_others(node):
    made = failing(node)
    made.write("run/modprobe.d/zz-kup-veth.conf", "blacklist veth\n")
    made.run("boot/restore-failed", code=1)
    assert made.read("run/modprobe.d/zz-kup-veth.conf") == ""


def test_a_node_that_starts_fresh_keeps_no_module_from_others(node):
    made = failing(node, running=OLD, DISK_CHECKPOINT="1")
    lose(made)
    made.write("run/modprobe.d/zz-kup-restoring.conf", "blacklist tcp_diag\n")
    made.write("run/modprobe.d/zz-kup-veth.conf", "blacklist veth\n")
    made.run("boot/restore-failed")
    assert made.load()["PHASE"] == "failed"
    assert made.called("modprobe")
    assert not list((made.root / "run/modprobe.d").iterdir())


def test_the_node_s_settings_are_its_own_again(node):
    made = failing(node, running=OLD, PANIC="panic=30")
    made.write("proc/sys/kernel/panic", "1\n")
    made.write("run/kup/overcommit", "0\n")
    made.write("proc/sys/vm/overcommit_memory", "1\n")
    made.write("run/kup/hugepages", "madvise\n")
    made.write("sys/kernel/mm/transparent_hugepage/enabled", "never\n")
    made.run("boot/restore-failed")
    assert made.read("proc/sys/kernel/panic") == "30\n"
    assert made.read("proc/sys/vm/overcommit_memory") == "0\n"
    assert made.read("sys/kernel/mm/transparent_hugepage/enabled") == "madvise\n"


# What the record says of it.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "(00.1) Error (criu/tun.c:1): tun: Unable to create tun: No\n"
            '(00.2)  4711: Error (criu/sk-unix.c:9): unix: Can\'t bind "/run/x/y.sock": No such file or directory\n'
            "(00.3)  4711: Error (criu/files.c:1): Unable to open fd=7\n"
            "(00.4) Error (criu/cr-restore.c:1269): 4711 killed by signal 9: Killed\n"
            "(00.5) Error (criu/cr-restore.c:2): Restoring FAILED.\n",
            'process store main (4711): unix: Can\'t bind "/run/x/y.sock": No such file or directory (criu/sk-unix.c:9); '
            "the directory of this socket was not there in the early boot: name it in RuntimeDirectory= of the unit",
        ),
        (
            "(00.1) Error (criu/image.c:1): Can't open 'it' of 4711\n(00.5) Error (criu/cr-restore.c:2): Restoring FAILED.\n",
            "Can't open 'it' of 4711 (criu/image.c:1)",
        ),
        (
            "(00.4) Error (criu/cr-restore.c:1269): 4711 killed by signal 9: Killed\n",
            "process store main (4711): 4711 killed by signal 9: Killed (criu/cr-restore.c:1269)",
        ),
        (
            "pie: 99: Error (criu/pie/restorer.c:7): Unable to map ANON_VMA: Cannot allocate memory\n",
            "process 99: Unable to map ANON_VMA: Cannot allocate memory (criu/pie/restorer.c:7); no memory was left "
            "for it: give the node, or the slice of the unit, more memory",
        ),
        (
            "(00.1) Warn (criu/x.c:1): nothing\n",
            f"the restore ended without an error of CRIU: 'journalctl --unit={UNIT}' says more",
        ),
    ],
)
def test_the_cause_is_criu_s_first_error_with_process_and_cure(node, text, told):
    made = failing(node, units=f"{UNIT} {OTHER}")
    made.write_plan("processes", "471 other\n4711 store main\n")
    made.mark(f"{OTHER}.restored")
    log(made, OTHER, "Error (x.c:1): of another\n")
    log(made, UNIT, text)
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: {UNIT}: {told}"


def test_a_restore_that_took_too_long_is_told_with_its_limit(node):
    made = failing(node, RESTORE_TIMEOUT="120")
    made.run("boot/restore-failed", "at-once", UNIT, code=1, SERVICE_RESULT="timeout")
    assert made.load()["REASON"].endswith(": the restore took longer than 120 s: set kup_restore_timeout higher")


def test_a_restore_that_was_not_started_is_told_as_such(node):
    made = failing(node)
    (made.root / f"run/kup/{UNIT}.cause").unlink()
    made.run("boot/restore-failed", code=1)
    assert f"{UNIT}: its restore was not started" in made.load()["REASON"]


def test_of_many_units_the_first_three_are_told(node):
    units = [f"u{number}.service" for number in range(6)]
    made = failing(node, units=" ".join(units))
    for unit in units:
        log(made, unit, f"(1) Error (a.c:1): {'x' * 1000}\n")
    made.run("boot/restore-failed", code=1)
    reason = made.load()["REASON"]
    assert [unit for unit in units if unit in reason] == units[:3]
    assert reason.endswith("; and 3 more")
    assert len(reason) < 1000
    assert made.load().failed_units == units


@pytest.mark.parametrize("seed", range(3))
def test_whatever_bytes_a_log_has_the_record_stays_readable(node, seed):
    made = failing(node)
    path = made.root / f"var/lib/kup/images/update/1-{UNIT}/restore.log"
    noise = random.Random(seed).randbytes(5000).replace(b"\n", b"'")
    path.write_bytes(b"(1) 7: Error (\xe9.c:1): caf\xe9 '" + noise + b"\n")
    made.write_plan("processes", "7 x'; reboot; '\n")
    made.run("boot/restore-failed", code=1)
    assert made.load()["PHASE"] == "switching"
    assert "process x'; reboot; ' (7): caf  '" in made.load()["REASON"]
    assert made.shell('printf "%s" "$REASON"').stdout == made.load()["REASON"]


def test_a_name_that_an_application_chose_cannot_break_the_record(node):
    made = failing(node)
    log = "Error (a.c:2): can't open \x0bPHASE=committed \u2028x '; reboot; '\\\n"
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", log)
    made.run("boot/restore-failed", code=1)
    assert made.load()["PHASE"] == "switching"
    assert "reboot" in made.load()["REASON"]
    assert made.shell('printf "%s" "$PHASE"').stdout == "switching"


def test_the_kernel_s_refusal_of_frames_comes_first(node):
    made = failing(node)
    made.keep_frames()
    made.fake("dmesg", "echo '[1.0] kup: table refused: its sum is wrong'")
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", "Error (a.c:1): no memory\n")
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"].endswith(": table refused: its sum is wrong")


def test_what_a_unit_lacks_comes_before_what_criu_says(node):
    made = failing(node)
    made.write(f"run/kup/{UNIT}.lacks", f"{UNIT} needs the fifo /run/x\n")
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", "Error (a.c:1): of an older try\n")
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: {UNIT}: needs the fifo /run/x"


def test_two_at_a_time_wait_for_each_other(node):
    made = failing(node)
    made.fake("flock", f"cp {made.root}/var/lib/kup/record {made.root}/locked")
    made.run("boot/restore-failed", code=1)
    assert made.called("flock") == ["flock 5"]
    assert "the restore failed" not in made.read("locked")


@pytest.mark.parametrize("damaged", [("record",), ("record", "record.copy")])
def test_a_damaged_record_is_neither_executed_nor_sealed_again(node, damaged):
    made = failing(node)
    for name in damaged:
        path = made.root / "var/lib/kup" / name
        path.write_text(path.read_text() + f"touch {made.root}/executed\n")
    made.run("boot/restore-failed", code=None)
    made.shell(":")
    assert not (made.root / "executed").exists()
    intact = made.shell('echo "$PHASE"').stdout.strip()
    assert intact == ("switching" if len(damaged) == 1 else "")
