"""switch/clean-up and switch/action-script: the two ends of a switch that was killed."""

import os
import subprocess
import threading
import time

import pytest
from fakenode import NEW, OLD, OTHER, UNIT

KILLED = {"SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}


def killed(node, phase="checkpointing", running=OLD, dumps=True, **values):
    made = node(phase=phase, running=running, **values)
    made.fake("systemctl", f"echo /system.slice/{UNIT}")
    made.cgroup(UNIT)
    if dumps:
        images = made.root / f"var/lib/kup/images/update/1-{UNIT}"
        for pipe in ("freeze", "resume"):
            os.mkfifo(images / pipe)
        (images / "criu.pid").write_text("77\n")
        made.write("proc/77/cmdline", "criu\0dump\0--tree\0")
    return made


def frozen(made):
    return made.group_value(UNIT, "cgroup.freeze")


def test_the_applications_go_on(node):
    made = killed(node)
    made.write("var/lib/kup/without-bpf/libbpf.so.1")
    made.run("switch/clean-up", **KILLED)
    record = made.load()
    assert not (made.root / "var/lib/kup/without-bpf").exists()
    assert (record["PHASE"], record["DATA"]) == ("aborted", "running")
    assert record["REASON"] == "the switch was ended before the checkpoint was complete"
    assert made.called("nft") == ["nft delete table inet kup_parked", "nft delete table inet kup"]
    assert frozen(made) == "0"
    # No kernel waits for a reboot.
    assert made.called("kexec") == ["kexec --unload"]
    assert not made.called("cli")


@pytest.mark.parametrize(
    "ended",
    [
        {"SERVICE_RESULT": "success", "EXIT_CODE": "exited", "EXIT_STATUS": "0"},
        {"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "3"},
    ],
)
def test_a_switch_that_ended_by_itself_needs_nothing(node, ended):
    made = killed(node)
    made.run("switch/clean-up", **ended)
    assert made.calls == []
    assert made.load()["PHASE"] == "checkpointing"


def test_another_exit_code_is_no_good_order(node):
    made = killed(node)
    made.run("switch/clean-up", SERVICE_RESULT="exit-code", EXIT_CODE="exited", EXIT_STATUS="1")
    assert made.load()["PHASE"] == "aborted"


def test_another_switch_that_is_at_work_is_left_alone(node):
    made = killed(node)
    made.fake("flock", "exit 1")
    made.run("switch/clean-up", **KILLED)
    assert made.calls == ["flock --timeout 5 9"]
    assert made.load()["PHASE"] == "checkpointing"


@pytest.mark.parametrize("phase", ["prepared", "fell_back", "aborted", "failed"])
def test_in_other_phases_there_is_nothing_to_do(node, phase):
    made = killed(node, phase=phase)
    made.run("switch/clean-up", **KILLED)
    assert made.calls == []


@pytest.mark.parametrize(("phase", "running"), [("switching", OLD), ("returning", NEW)])
def test_a_complete_checkpoint_jumps(node, phase, running):
    made = killed(node, phase=phase, running=running)
    made.run("switch/clean-up", code=None, **KILLED)
    assert made.calls[:2] == [f"sync {made.root}/var/lib/kup", "kexec --no-sync --exec"]


@pytest.mark.parametrize(("phase", "running"), [("switching", NEW), ("returning", OLD)])
def test_a_restore_under_way_is_left_alone(node, phase, running):
    made = killed(node, phase=phase, running=running)
    made.run("switch/clean-up", **KILLED)
    assert made.calls == []


@pytest.mark.parametrize(
    ("phase", "restored", "after", "reason"),
    [
        ("probation", True, "probation", ""),
        ("committed", False, "committed", f"the way back was ended, the boot loader still starts {OLD}"),
        ("committed", True, "probation", ""),
    ],
)
def test_a_way_back_that_was_killed_leaves_what_it_began_in(node, phase, restored, after, reason):
    made = killed(node, phase=phase, running=NEW)
    if restored:
        made.mark("restore-done")
    made.run("switch/clean-up", **KILLED)
    assert (made.load()["PHASE"], made.load()["REASON"]) == (after, reason)
    assert frozen(made) == "0"


def test_kept_frames_are_dropped_with_the_kernel_that_would_look_for_them(node):
    made = killed(node)
    made.write("dev/kup_ppp")
    made.run("switch/clean-up", **KILLED)
    assert [call for call in made.calls if call.split()[0] in ("paged", "kexec", "rmmod")] == [
        "kexec --unload",
        "paged drop",
        "rmmod kup_ppp",
    ]


def test_huge_pages_are_allowed_again(node):
    made = killed(node)
    made.write("run/kup/hugepages", "always\n")
    made.write("sys/kernel/mm/transparent_hugepage/enabled", "never\n")
    made.run("switch/clean-up", **KILLED)
    assert made.read("sys/kernel/mm/transparent_hugepage/enabled") == "always\n"


def test_what_a_killed_criu_left_is_undone_before_its_tree_runs(node):
    made = killed(node)
    made.write("proc/77/cmdline", "/usr/bin/somebody\0--not-criu\0")
    made.fake("usr/local/lib/kup/cli", f"cat {made.cgroup(UNIT)}/cgroup.freeze >{made.root}/frozen")
    made.run("switch/clean-up", **KILLED)
    assert made.called("cli") == [f"cli undo {UNIT} {made.root}/var/lib/kup/images/update/1-{UNIT}/"]
    assert made.read("frozen") == "1\n"
    assert made.load()["DATA"] == ""
    assert frozen(made) == "0"


def test_watchdogs_are_those_of_before_the_switch_once_no_criu_holds_a_unit(node):
    made = killed(node)
    made.write("run/kup/watchdogs", f"{OTHER} 12 3000000\n{UNIT} 4711 2500000\n")
    made.write("proc/self/cgroup", "0::/system.slice/kup-switch.service\n")
    made.write("sys/fs/cgroup/system.slice/kup-switch.service/cgroup.procs", "1\n77\n")
    made.fake("systemctl", f'[ "$2" = --property=MainPID ] && echo 4711 || echo /system.slice/{UNIT}')
    made.fake("sleep", f'[ "$1" != 1 ] || echo somebody >{made.root}/proc/77/cmdline')
    made.run("switch/clean-up", **KILLED)
    assert made.called("systemd-notify") == ["systemd-notify --no-block --pid=4711 WATCHDOG_USEC=2500000"]
    calls = made.calls
    assert calls.index("sleep 1") < calls.index(made.called("systemd-notify")[0])
    assert made.called("sleep 1") == ["sleep 1"]
    assert not made.marked("watchdogs")


def test_a_criu_that_holds_a_unit_for_long_is_not_waited_for_for_ever(node):
    made = killed(node)
    made.write("run/kup/watchdogs", f"{UNIT} 4711 2500000\n")
    made.write("proc/self/cgroup", "0::/system.slice/kup-switch.service\n")
    made.write("sys/fs/cgroup/system.slice/kup-switch.service/cgroup.procs", "77\n")
    made.run("switch/clean-up", **KILLED)
    assert made.called("sleep 1") == 60 * ["sleep 1"]
    assert not made.marked("watchdogs")


def test_all_units_are_thawed(node):
    made = killed(node, units=f"{UNIT} {OTHER}")
    made.fake("systemctl", 'echo "/system.slice/$5"')
    made.run("switch/clean-up", **KILLED)
    assert [made.group_value(unit, "cgroup.freeze") for unit in (UNIT, OTHER)] == ["0", "0"]


def action_script(made, action, directory, **environment):
    return subprocess.Popen(
        ["/bin/sh", made.root / "usr/local/lib/kup/switch/action-script"],
        env={
            "PATH": os.environ["PATH"],
            "CRTOOLS_SCRIPT_ACTION": action,
            "CRTOOLS_IMAGE_DIR": str(directory),
            "CRTOOLS_INIT_PID": "5",
            **environment,
        },
    )


def dumping(made):
    """Images of a dump with its four pipes, held open as by the switch."""
    images = made.root / "dump"
    images.mkdir()
    pipes = {}
    for name in ("ready", "freeze", "dumped", "resume"):
        os.mkfifo(images / name)
        pipes[name] = os.open(images / name, os.O_RDWR | os.O_NONBLOCK)
    made.write("proc/5/cgroup", f"0::/system.slice/{UNIT}\n")
    return images, pipes


def heard(descriptor):
    for _try in range(500):
        try:
            return os.read(descriptor, 64)
        except BlockingIOError:
            time.sleep(0.01)
    return None


@pytest.mark.parametrize(
    ("action", "tells", "awaits", "answer", "code"),
    [
        ("pre-dump", "ready", "freeze", b"freeze\n", 0),
        ("pre-dump", "ready", "freeze", b"go on\n", 1),
        ("post-dump", "dumped", "resume", b"go on\n", 1),
    ],
)
def test_criu_waits_for_the_switch(node, action, tells, awaits, answer, code):
    made = killed(node, dumps=False)
    images, pipes = dumping(made)
    process = action_script(made, action, images)
    assert heard(pipes[tells])
    time.sleep(0.1)
    assert process.poll() is None
    os.write(pipes[awaits], answer)
    assert process.wait(10) == code
    assert frozen(made) == ("0" if code else "1")


def test_other_stages_of_criu_pass(node):
    made = killed(node, dumps=False)
    assert action_script(made, "pre-restore", made.root).wait(10) == 0


def test_a_dump_whose_switch_is_gone_finds_no_pipe_and_lets_its_tree_run(node):
    made = killed(node, dumps=False)
    made.write("proc/5/cgroup", f"0::/system.slice/{UNIT}\n")
    (made.root / "empty").mkdir()
    assert action_script(made, "post-dump", made.root / "empty").wait(10) == 1
    assert frozen(made) == "0"


def test_the_clean_up_answers_an_action_script_that_waits(node):
    made = killed(node)
    made.fake("sleep", "exec /bin/sleep 0.1")
    made.write("proc/5/cgroup", f"0::/system.slice/{UNIT}\n")
    images = made.root / f"var/lib/kup/images/update/1-{UNIT}"
    os.mkfifo(images / "dumped")
    reader = os.open(images / "dumped", os.O_RDWR | os.O_NONBLOCK)
    process = action_script(made, "post-dump", images)
    assert heard(reader)
    watch = threading.Timer(20, process.kill)
    watch.start()
    made.run("switch/clean-up", **KILLED)
    assert process.wait(10) == 1
    watch.cancel()
    assert not (images / "resume").exists()
    assert not (images / "freeze").exists()


def rehearsed(made):
    """A rehearsal that was killed: its images are in a place of their own."""
    place = made.root / f"var/lib/kup/rehearsal/0-{UNIT}"
    (made.root / f"var/lib/kup/images/update/1-{UNIT}").rename(made.root / "moved")
    place.parent.mkdir()
    (made.root / "moved").rename(place)
    made.write("proc/self/cgroup", "0::/system.slice/kup-rehearsal.service\n")
    made.write("sys/fs/cgroup/system.slice/kup-rehearsal.service/cgroup.procs", "1\n77\n")
    return place


def test_after_a_rehearsal_that_was_killed_the_application_goes_on(node):
    made = killed(node, phase="prepared")
    place = rehearsed(made)
    made.fake("sleep", f"echo somebody >{made.root}/proc/77/cmdline")
    made.run("switch/end-rehearsal", **KILLED)
    assert frozen(made) == "0"
    assert made.called("nft") == ["nft delete table inet kup"]
    assert not place.parent.exists()
    assert made.load()["PHASE"] == "prepared"
    assert not made.called("systemd-notify")
    assert not made.called("cli")


def test_packets_wait_until_criu_has_undone_its_part(node):
    made = killed(node, phase="prepared")
    rehearsed(made)
    made.fake(
        "sleep",
        f'[ "$1" = 1 ] || exit 0\necho slept >>{made.root}/order\n'
        f"[ $(wc -l <{made.root}/order) -lt 5 ] || echo somebody >{made.root}/proc/77/cmdline",
    )
    made.fake("nft", f"echo nft >>{made.root}/order")
    made.run("switch/end-rehearsal", **KILLED)
    assert made.read("order").split() == ["slept"] * 5 + ["nft"]


def test_a_watchdog_waits_until_the_tree_runs(node):
    made = killed(node, phase="prepared")
    rehearsed(made)
    made.write("run/kup/watchdogs", f"{UNIT} 4711 2500000\n")
    made.fake("systemctl", f'[ "$2" = --property=MainPID ] && echo 4711 || echo /system.slice/{UNIT}')
    made.fake("sleep", f'[ "$1" != 1 ] || echo somebody >{made.root}/proc/77/cmdline')
    made.run("switch/end-rehearsal", **KILLED)
    (told,) = made.called("systemd-notify")
    assert told == "systemd-notify --no-block --pid=4711 WATCHDOG_USEC=2500000"
    assert made.calls.index("sleep 1") < made.calls.index(told)
    assert not made.marked("watchdogs")


def test_what_a_criu_that_was_killed_in_a_rehearsal_left_is_undone(node):
    made = killed(node, phase="prepared")
    place = rehearsed(made)
    made.write("proc/77/cmdline", "somebody\0")
    made.run("switch/end-rehearsal", **KILLED)
    assert made.called("cli") == [f"cli undo {UNIT} {place}/"]


def test_a_rehearsal_that_ended_by_itself_needs_nothing(node):
    made = killed(node, phase="prepared")
    rehearsed(made)
    made.run("switch/end-rehearsal", SERVICE_RESULT="exit-code", EXIT_CODE="exited", EXIT_STATUS="3")
    assert made.calls == []


def test_a_rehearsal_that_was_killed_before_its_first_dump_thaws_no_unit(node):
    made = killed(node, phase="prepared")
    rehearsed(made).parent.rename(made.root / "away")
    made.run("switch/end-rehearsal", **KILLED)
    assert not made.called("systemctl")
    assert made.called("nft") == ["nft delete table inet kup"]


def test_a_switch_that_has_begun_after_a_rehearsal_is_left_alone(node):
    made = killed(node)
    rehearsed(made)
    made.fake("flock", "exit 1")
    made.run("switch/end-rehearsal", **KILLED)
    assert made.calls == ["flock --timeout 5 9"]


def test_the_action_script_of_a_rehearsal_gives_up_soon(node):
    made = killed(node, dumps=False)
    images, pipes = dumping(made)
    (images / "patience").write_text("1\n")
    process = action_script(made, "post-dump", images)
    assert heard(pipes["dumped"])
    assert process.wait(10) == 1
    assert frozen(made) == "0"


def test_peers_that_were_told_to_wait_go_on(node):
    made = killed(node)
    made.write("run/kup/parked", "kup-fingerprint 3\n")
    made.run("switch/clean-up", **KILLED)
    assert made.called("fingerprint") == [f"fingerprint go-on {made.root}/run/kup/parked"]
    assert not (made.root / "run/kup/parked").exists()


def test_drivers_look_again_after_what_they_let_go_of(node):
    made = killed(node)
    made.write("run/kup/spare-devices", "0000:01:00.0 nvme\n0000:02:00.0 ixgbe\n")
    for driver in ("nvme", "ixgbe"):
        (made.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True)
    made.run("switch/clean-up", **KILLED)
    assert made.read("sys/bus/pci/drivers/nvme/bind") == "0000:01:00.0\n"
    assert made.read("sys/bus/pci/drivers/ixgbe/bind") == "0000:02:00.0\n"
    assert not (made.root / "run/kup/spare-devices").exists()
