"""crash/arm and crash/crashed: the preserved kernel takes over from a panic."""

import pytest
from fakenode import NEW, OLD

SET_ASIDE = {"CRASHKERNEL": "crashkernel=100K@0"}


def armed(node, **values):
    made = node(phase="probation", **{**SET_ASIDE, **values})
    made.write("sys/kernel/kexec_crash_size", "102400\n")
    made.write(f"var/lib/kup/kernels/{OLD}/crash-cmdline", "root=/dev/sda1 nr_cpus=1\n")
    return made


def test_the_preserved_kernel_is_loaded_for_a_panic(node):
    made = armed(node)
    made.run("crash/arm")
    image = f"{made.root}/var/lib/kup/kernels/{OLD}/vmlinuz"
    line = "root=/dev/sda1 nr_cpus=1 kup_boot_processor=4"
    assert made.calls == [f"kexec --kexec-syscall --load-panic {image} --command-line={line}"]
    assert made.events() == ["crash-kernel"]
    assert made.marked("crash")


def test_after_a_panic_the_first_processor_of_then_counts(node):
    made = armed(node)
    made.write("proc/cmdline", "quiet disable_cpu_apicid=0")
    made.run("crash/arm")
    assert made.calls[0].endswith(" kup_boot_processor=0")


@pytest.mark.parametrize(("values", "size"), [({"CRASHKERNEL": ""}, "102400"), ({}, "0"), ({}, "")])
def test_without_memory_for_it_there_is_none(node, values, size):
    made = armed(node, **values)
    made.write("sys/kernel/kexec_crash_size", size)
    made.run("crash/arm")
    assert made.calls == []
    assert made.marked("crash")


@pytest.mark.parametrize("vouched", [True, False])
def test_it_is_told_of_frames_only_where_the_module_vouches_for_them(node, vouched):
    made = armed(node)
    made.keep_frames()
    if vouched:
        made.write("dev/kup_ppp")
    made.run("crash/arm")
    assert made.calls[0].endswith(" kup_ppp.table=0x1000,0x2") is vouched


def test_there_is_none_where_frames_change_without_the_module_s_knowledge(node):
    made = armed(node)
    made.keep_frames()
    made.mark("unsealed")
    made.run("crash/arm")
    assert made.called("kexec")[-1] == "kexec --load-panic --unload"
    assert "crash-kernel" not in made.events()


def test_a_missing_crash_kernel_is_no_reason_to_go_back(node):
    made = armed(node)
    made.fake("kexec", "exit 1")
    assert "after a panic the boot loader starts" in made.run("crash/arm").stdout
    assert made.events() == []


def crashed(node, **values):
    made = node(running=OLD, **values)
    made.write(f"var/lib/kup/kernels/{OLD}/window", "--mem-min=0x100\n")
    made.write("proc/cmdline", "nr_cpus=1 kup_boot_processor=4\n")
    made.write("proc/sysrq-trigger")
    made.fake("vmcore-dmesg", 'echo "[9.9] Kernel panic - not syncing: it\'s over"')
    return made


def loads(made):
    return made.called("kexec --mem")


def test_the_log_is_kept_and_the_preserved_kernel_started(node):
    made = crashed(node, phase="probation")
    made.run("crash/crashed")
    assert made.load()["REASON"] == f"the kernel {NEW} panicked: Kernel panic - not syncing: it's over"
    assert made.load()["PHASE"] == "probation"
    assert "it's over" in made.read("var/lib/kup/panic.log")
    kernel = f"{made.root}/var/lib/kup/kernels/{OLD}"
    assert loads(made) == [f"kexec --mem-min=0x100 --no-checks --load {kernel}/vmlinuz --command-line=root=/dev/sda1"]
    assert f"mount --bind {kernel}/memmap {made.root}/sys/firmware/memmap" in made.calls
    assert made.calls[-1] == "kexec --no-sync --exec"
    assert made.calls[-2] == "sync"
    assert made.timeline() == ["kexec"]


def test_an_earlier_reason_stays(node):
    made = crashed(node, phase="probation", REASON="first")
    made.run("crash/crashed")
    assert made.load()["REASON"].startswith("first; the kernel")


@pytest.mark.parametrize("phase", ["prepared", "committed", "fell_back", "failed"])
def test_without_an_update_it_ends(node, phase):
    made = crashed(node, phase=phase)
    made.run("crash/crashed", code=1)
    assert not made.called("kexec")


def test_a_log_that_cannot_be_read_stops_nothing(node):
    made = crashed(node, phase="probation")
    made.fake("vmcore-dmesg", "echo half; exit 1")
    made.run("crash/crashed")
    assert not (made.root / "var/lib/kup/panic.log").exists()
    assert made.load()["REASON"] == f"the kernel {NEW} panicked"
    assert made.called("kexec --no-sync --exec")


@pytest.mark.parametrize(
    ("phase", "told", "kept"), [("switching", True, True), ("switching", False, False), ("probation", True, False)]
)
def test_only_frames_that_no_application_has_run_with_are_taken(node, phase, told, kept):
    made = crashed(node, phase=phase)
    made.keep_frames()
    made.write("proc/cmdline", f"kup_boot_processor=4 {'kup_ppp.table=0x1000,0x2' if told else ''}\n")
    made.run("crash/crashed")
    assert ("patched" in loads(made)[0]) is kept
    assert ("kup_ppp.table=0x1000,0x2" in loads(made)[0]) is kept
    assert ("--mem-max=0x2" in loads(made)[0]) is kept


def test_the_processor_that_the_machine_was_started_on_is_left_off(node):
    made = crashed(node, phase="probation")
    made.write("proc/cmdline", "kup_boot_processor=0\n")
    made.run("crash/crashed")
    assert loads(made)[0].endswith("root=/dev/sda1 disable_cpu_apicid=0")
    assert made.load()["REASON"].endswith("; one processor is off until the next cold start")


def test_it_is_left_off_already(node):
    made = crashed(node, phase="probation")
    made.write("proc/cmdline", "kup_boot_processor=0\n")
    made.write(f"var/lib/kup/kernels/{OLD}/cmdline", "root=/dev/sda1 disable_cpu_apicid=0\n")
    made.run("crash/crashed")
    assert loads(made)[0].count("disable_cpu_apicid") == 1


def test_a_kernel_that_cannot_be_loaded_is_not_started(node):
    made = crashed(node, phase="probation")
    made.fake("kexec", "exit 1")
    made.run("crash/crashed", code=1)
    assert not made.called("kexec --no-sync")


@pytest.mark.parametrize(
    ("state", "driver", "enabled"),
    [("unknown", False, True), ("D0", False, False), (None, True, False), (None, False, True)],
)
def test_devices_without_a_driver_lose_the_right_to_write_to_memory(node, state, driver, enabled):
    made = crashed(node, phase="probation")
    device = made.root / "sys/bus/pci/devices/0"
    made.write("sys/bus/pci/devices/0/enable", "0\n")
    if state:
        (device / "power_state").write_text(f"{state}\n")
    if driver:
        (device / "driver").mkdir()
    made.run("crash/crashed")
    assert (device / "enable").read_text() == ("1\n" if enabled else "0\n")


def test_a_crash_kernel_that_hangs_is_ended(node):
    made = crashed(node, phase="probation")
    made.run("crash/crashed")
    assert "sleep 120" in made.calls
    assert made.read("proc/sysrq-trigger") == "b\n"
