"""boot/restore-failed: what becomes of a node on which a unit could not be restored."""

import pytest
from fakenode import NEW, OLD, OTHER, UNIT

FAILED = {"SERVICE_RESULT": "exit-code"}


def failing(node, **values):
    """A boot whose kexec starts nothing: the script goes on, as it does where kexec is refused."""
    made = node(**values)
    made.write("dev/kmsg")
    return made


def jumps(made):
    return made.called("kexec --no-sync --exec")


def test_on_the_new_kernel_the_old_one_is_started_with_the_same_checkpoint(node):
    made = failing(node)
    made.run("boot/restore-failed", code=1)
    kernel = f"{made.root}/var/lib/kup/kernels/{OLD}"
    load = f"kexec --kexec-syscall-auto --load {kernel}/vmlinuz --command-line=root=/dev/sda1"
    interesting = [call for call in made.calls if not call.startswith(("dmesg", "sync /"))]
    assert interesting[:4] == ["systemctl stop kup-crash.service", load, "sync", "kexec --no-sync --exec"]
    record = made.load()
    assert (record["PHASE"], record["REASON"]) == ("switching", f"the restore failed on {NEW}")
    assert made.timeline() == ["restore-failed", "kexec"]


def test_the_old_kernel_gets_its_initial_ram_file_system(node):
    made = failing(node)
    initrd = made.write(f"var/lib/kup/kernels/{OLD}/initrd")
    made.run("boot/restore-failed", code=1)
    assert f"--initrd={initrd} " in made.called("kexec --kexec-syscall-auto")[0]


@pytest.mark.parametrize(("restored", "data"), [(False, "running"), (True, "checkpoint")])
def test_a_unit_that_has_run_meanwhile_loses_what_it_did(node, restored, data):
    made = failing(node, units=f"{UNIT} {OTHER}")
    if restored:
        made.mark(f"{OTHER}.restored")
    made.run("boot/restore-failed", code=1)
    assert made.load()["DATA"] == data


def test_where_kexec_is_refused_the_boot_loader_starts_the_old_kernel(node):
    made = failing(node)
    made.fake("kexec", '[ "$1" = --no-sync ]')
    made.run("boot/restore-failed", code=1)
    assert not jumps(made)
    assert made.called("systemctl")[-2:] == [f"systemctl kill --signal=SIGKILL {UNIT}", "systemctl --force reboot"]


def test_at_once_where_kexec_is_refused_the_service_of_its_own_has_its_turn(node):
    made = failing(node)
    made.run("boot/restore-failed", "at-once", code=1, **FAILED)
    assert jumps(made)
    assert not made.called("systemctl --force reboot")


@pytest.mark.parametrize(
    ("values", "environment"),
    [
        ({}, {"SERVICE_RESULT": "success"}),
        ({"running": OLD}, FAILED),
        ({"phase": "returning"}, FAILED),
    ],
)
def test_at_once_it_goes_back_or_does_nothing(node, values, environment):
    made = failing(node, **values)
    before = made.load()
    made.run("boot/restore-failed", "at-once", **environment)
    assert made.calls == []
    assert made.load() == before
    assert made.timeline() == []


def test_at_once_frames_that_applications_run_with_are_left_alone(node):
    made = failing(node)
    made.keep_frames()
    made.decide("go-on")
    made.run("boot/restore-failed", "at-once", **FAILED)
    assert made.calls == []


def test_frames_go_back_with_the_module_s_word(node):
    made = failing(node)
    made.keep_frames()
    made.write("dev/kup_ppp")
    made.run("boot/restore-failed", code=1)
    assert made.called("paged") == ["paged rearm"]
    load = made.called("kexec --mem-min")[0]
    assert load.startswith(
        f"kexec --mem-min=0x1 --mem-max=0x2 --no-checks --load {made.root}/var/lib/kup/kernels/{OLD}/patched "
    )
    assert load.endswith("--command-line=root=/dev/sda1 kup_ppp.table=0x1000,0x2")
    assert made.decision() == "go-back"
    assert made.load()["DATA"] == "running"


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
    made.tree(UNIT, (process, False))
    made.tree(OTHER)
    made.run("boot/restore-failed")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == ("failed", "fresh")
    assert f"a unit ended on {NEW} right after it was restored" in record["REASON"]
    assert made.called("paged")[0] == "paged seal"
    assert runs(process)
    assert not jumps(made)
    assert not made.called("systemctl kill")


def test_on_the_old_kernel_without_its_frames_the_node_starts_cold_for_the_disk_checkpoint(node):
    made = failing(node, running=OLD, DISK_CHECKPOINT="2")
    made.keep_frames()
    made.run("boot/restore-failed", code=1)
    assert made.called("systemctl") == [f"systemctl kill --signal=SIGKILL {UNIT}", "systemctl --force reboot"]
    assert made.load()["PHASE"] == "switching"
    assert made.load()["REASON"] == f"the restore failed on {OLD}"


def test_the_disk_checkpoint_failed_too(node):
    made = failing(node, running=OLD, DISK_CHECKPOINT="1")
    made.run("boot/restore-failed")
    assert made.load()["PHASE"] == "failed"


def test_on_the_old_kernel_nothing_is_left_but_to_start_fresh(node):
    made = failing(node, running=OLD, units=f"{UNIT} {OTHER}", REASON="it failed before")
    made.mark(f"{UNIT}.pending", f"{OTHER}.pending", f"{OTHER}.restored")
    made.run("boot/restore-failed")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == ("failed", "fresh")
    assert record["REASON"].startswith(f"it failed before; no restore worked (kernel {OLD})")
    assert made.called("nft") == ["nft delete table inet kup"]
    assert made.called("systemctl") == [
        "systemctl daemon-reload",
        f"systemctl reset-failed {UNIT}",
        f"systemctl --no-block start {UNIT}",
        f"systemctl reset-failed {OTHER}",
        f"systemctl --no-block start {OTHER}",
    ]
    assert made.marked("restore-done")
    assert made.marked("rest")
    # Only what runs gets the rest of its memory.
    assert made.marked(f"{OTHER}.pending")
    assert not made.marked(f"{UNIT}.pending")
    assert made.group_value(UNIT, "cpu.weight") == "50"
    assert "RESTORE FAILED" in made.read("dev/kmsg")
    assert (made.root / "var/lib/kup/images/update").exists()


def test_trees_that_were_never_let_go_start_fresh_too(node):
    made = failing(node, running=OLD)
    made.keep_frames()
    made.mark(f"{UNIT}.restored", f"{UNIT}.pending")
    made.run("boot/restore-failed")
    assert made.decision() == "go-back"
    assert made.called("systemctl")[0] == f"systemctl kill --signal=SIGKILL {UNIT}"
    assert not made.marked(f"{UNIT}.pending")


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


def test_the_cause_is_criu_s_last_error_of_a_unit_that_does_not_run(node):
    made = failing(node, units=f"{UNIT} {OTHER}")
    made.mark(f"{OTHER}.restored")
    made.write(f"var/lib/kup/images/update/1-{OTHER}/restore.log", "Error (x.c:1): of another\n")
    log = "Error (a.c:1): first\nError (a.c:2): can't open 'it'\nError (b.c:3): Restoring FAILED.\n"
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", log)
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f'the restore failed on {NEW}: Error (a.c:2): can"t open "it"'


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


def test_the_cause_of_the_early_boot_comes_before_all_others(node):
    made = failing(node)
    made.write("run/kup/cause", "the network lock could not be set\n")
    made.write(f"run/kup/{UNIT}.lacks", f"{UNIT} needs the fifo /run/x\n")
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: the network lock could not be set"


def test_what_a_unit_lacks_comes_before_what_criu_says(node):
    made = failing(node)
    made.write(f"run/kup/{UNIT}.lacks", f"{UNIT} needs the fifo /run/x\n")
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", "Error (a.c:1): of an older try\n")
    made.run("boot/restore-failed", code=1)
    assert made.load()["REASON"] == f"the restore failed on {NEW}: {UNIT} needs the fifo /run/x"


def test_two_at_a_time_wait_for_each_other(node):
    made = failing(node)
    made.fake("flock", f"cp {made.root}/var/lib/kup/record {made.root}/locked")
    made.run("boot/restore-failed", code=1)
    assert made.called("flock") == ["flock 9"]
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
