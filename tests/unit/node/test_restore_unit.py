"""boot/restore-unit: the start of a unit that is restored, and the moment at which packets flow."""

import signal
import subprocess
import time

import pytest
from fakenode import NEW, OLD, OTHER, UNIT

from ansible_collections.kup.fleet.plugins.module_utils._engines import pending_memory

TWO = f"{UNIT} {OTHER}"


def restorable(node, **values):
    made = node(**values)
    made.fake("criu")
    return made


def test_the_last_unit_lets_packets_flow(node):
    made = restorable(node)
    made.run("boot/restore-unit", UNIT, "criu", "restore")
    # The disk is told of the try in the background, at any time.
    assert [call for call in made.calls if not call.startswith("sync ")] == [
        f"ip -batch {made.plan}/routes",
        "criu restore",
        "nft delete table inet kup",
        "sleep 0.3",
    ]
    assert made.events() == ["restore-start", "restore-end", "open"]
    assert made.marked(f"{UNIT}.restored")
    assert made.marked("rest")
    assert (made.root / "run/kup/open").is_symlink()


def test_a_unit_gets_its_ends_of_connections_and_the_last_one_ends_their_keeper(node):
    made = restorable(node, units=TWO)
    made.mark("keeper")
    made.fake("usr/local/lib/kup/fingerprint", '[ "$1" = end-pairs ] || { shift 3; "$@" --inherit-fd; }')
    made.run("boot/restore-unit", UNIT, "criu", "restore")
    assert made.called("fingerprint") == [f"fingerprint join-pairs {made.root}/run/kup/keeper {UNIT} criu restore"]
    assert made.called("criu") == ["criu restore --inherit-fd"]
    made.run("boot/restore-unit", OTHER, "criu")
    assert made.called("fingerprint")[-1] == f"fingerprint end-pairs {made.root}/run/kup/keeper"


def test_a_unit_whose_ends_are_gone_is_not_restored(node):
    made = restorable(node)
    made.mark("keeper")
    made.fake("usr/local/lib/kup/fingerprint", "exit 1")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert not made.called("criu")
    assert not made.marked(f"{UNIT}.restored")


def test_the_first_of_two_units_does_not(node):
    made = restorable(node, units=TWO)
    made.run("boot/restore-unit", UNIT, "criu")
    assert not made.called("nft")
    assert not made.marked("rest")
    assert made.marked(f"{UNIT}.restored")
    assert made.events() == ["restore-start"]
    # It must not keep the other from being restored.
    assert made.group_value(UNIT, "cpu.weight") == "50"
    assert made.group_value(UNIT, "io.weight") == "default 60"


def test_the_second_one_does_and_both_are_heavy(node):
    made = restorable(node, units=TWO)
    made.run("boot/restore-unit", UNIT, "criu")
    made.run("boot/restore-unit", OTHER, "criu")
    assert made.called("nft") == ["nft delete table inet kup"]
    assert made.marked("rest")
    assert made.group_value(UNIT, "cpu.weight") == "10000"


def test_only_one_of_two_last_units_opens_the_network(node):
    made = restorable(node)
    made.run("boot/restore-unit", UNIT, "criu")
    made.run("boot/restore-unit", UNIT, "criu")
    assert len(made.called("nft delete")) == 1


def test_the_pages_of_a_unit_come_before_everything_else(node):
    made = restorable(node)
    daemon = pending_memory.service(UNIT)
    (made.cgroup(daemon) / "cpu.weight").write_text("100\n")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.group_value(daemon, "cpu.weight") == "10000"


def test_a_unit_without_what_it_needs_is_not_restored(node):
    made = restorable(node)
    made.write(f"run/kup/{UNIT}.lacks", f"{UNIT} needs the fifo /run/x\n")
    done = made.run("boot/restore-unit", UNIT, "criu", "restore", code=1)
    assert done.stderr == f"{UNIT} needs the fifo /run/x\n"
    assert not made.calls


def test_a_unit_that_starts_fresh_is_not_waited_for(node):
    made = restorable(node, units=TWO)
    made.mark(f"{OTHER}.fresh")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("nft") == ["nft delete table inet kup"]


def test_no_tree_runs_before_all_are_whole(node, stopped, runs):
    made = restorable(node, units=TWO)
    trees = {unit: (stopped(), stopped()) for unit in TWO.split()}
    for unit, (first, second) in trees.items():
        made.tree(unit, (first, False), (second, True))
    made.run("boot/restore-unit", UNIT, "criu")
    assert not runs(trees[UNIT][0])
    made.run("boot/restore-unit", OTHER, "criu")
    for first, second in trees.values():
        assert runs(first)
        assert not runs(second)  # the application had stopped it


def test_an_older_boot_s_errors_are_forgotten(node):
    made = restorable(node)
    made.write(f"var/lib/kup/images/update/1-{UNIT}/restore.log", "(1) Error (a.c:1): of the new kernel\n")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read(f"var/lib/kup/images/update/1-{UNIT}/restore.log") == ""


def test_a_failed_restore_opens_nothing(node):
    made = restorable(node)
    made.fake("criu", "exit 7")
    made.run("boot/restore-unit", UNIT, "criu", code=7)
    assert not made.called("nft")
    assert not made.marked(f"{UNIT}.restored")


@pytest.mark.parametrize(("left", "code"), [(True, 1), (False, 0)])
def test_a_network_lock_that_stays_is_a_failure(node, stopped, runs, left, code):
    made = restorable(node)
    process = stopped()
    made.tree(UNIT, (process, False))
    made.write_plan("nonlocal-bind", "0\n")
    sysctl = made.write("proc/sys/net/ipv4/ip_nonlocal_bind", "1\n")
    made.fake("nft", '[ "$1" = list ]' if left else "false")
    made.run("boot/restore-unit", UNIT, "criu", code=code)
    assert ("open" in made.events()) is not left
    # All else has been done.
    assert runs(process)
    assert sysctl.read_text() == "0\n"
    assert made.marked("rest") is not left


def test_a_socket_can_be_bound_to_an_address_that_is_not_there(node):
    made = restorable(node)
    sysctl = made.write("proc/sys/net/ipv4/ip_nonlocal_bind", "0\n")
    made.write_plan("nonlocal-bind", "0\n")
    made.fake("criu", f"cat {sysctl} >{made.root}/seen")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read("seen") == "1\n"
    assert sysctl.read_text() == "0\n"


def test_a_restore_waits_for_routes_to_all_peers(node):
    made = restorable(node)
    made.fake("ip", f"[ -e {made.root}/asked ] || {{ : >{made.root}/asked; exit 2; }}")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.calls[:3] == [f"ip -batch {made.plan}/routes", "sleep 0.1", f"ip -batch {made.plan}/routes"]
    assert made.called("criu") == ["criu"]
    # What it has waited for is not why something later fails.
    assert made.read(f"run/kup/{UNIT}.cause") == ""


def test_a_restore_waits_for_the_interfaces_of_sockets(node):
    made = restorable(node)
    made.write_plan("devices", "ens3\nvrf1\n")
    made.write("sys/class/net/ens3")
    made.fake("sleep", f": >{made.root}/sys/class/net/vrf1")
    made.run("boot/restore-unit", UNIT, "criu")
    asked = f"ip -batch {made.plan}/routes"
    assert made.calls[:3] == [asked, "sleep 0.1", asked]
    assert made.called("criu") == ["criu"]


def test_a_restore_that_waits_in_vain_says_for_what(node):
    made = restorable(node)
    made.fake("ip", "exit 2")
    made.fake("sleep", "kill -TERM $PPID")
    made.run("boot/restore-unit", UNIT, "criu", code=None)
    assert "no route leads to the peer" in made.read(f"run/kup/{UNIT}.cause")


@pytest.mark.parametrize("lent", [True, False])
def test_on_the_way_back_an_address_that_never_comes_costs_no_state(node, lent):
    made = restorable(node, running=OLD, RESTORE_TIMEOUT="120")
    made.write_plan("routes", "route get 10.0.0.9 from 10.0.0.5\nroute get fd00::5 from fd00::5\n")
    made.fake(
        "ip",
        f"""
        case $1 in
        route) [ "$3" = fd00::5 ] ;;
        -force) cat {'"$3"' if lent else "-"} >>{made.root}/asked ;;
        *) exit 2 ;;
        esac""",
    )
    # It waits for half of the time of a restore.
    made.fake("sleep", f"echo 72.34 5.00 >{made.root}/proc/uptime")
    made.fake("criu", "" if lent else f": >{made.root}/asked")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("criu") == ["criu"]
    verb = "add" if lent else "del"
    lines = made.read("asked").splitlines()
    assert lines[:2] == [f"address {verb} 10.0.0.5/32 dev lo", f"route {verb} 0.0.0.0/0 dev lo metric 4000000000"]
    assert "fd00" not in "".join(lines)
    assert not made.marked("lent")


def test_a_checkpoint_is_not_tried_for_ever(node):
    made = restorable(node)
    for _boot in range(5):
        made.run("boot/restore-unit", UNIT, "criu")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert f"5 boots have tried to restore {UNIT}" in made.read(f"run/kup/{UNIT}.cause")
    assert len(made.called("criu")) == 5


@pytest.mark.parametrize(("kernel", "letter"), [(NEW, "n"), (OLD, "o")])
def test_a_try_is_counted_with_its_kernel_and_before_the_restore(node, kernel, letter):
    made = restorable(node, running=kernel)
    tries = made.plan / f"tries-{UNIT}"
    made.fake("criu", f"cp {tries} {made.root}/seen")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read("seen") == letter
    assert made.called("sync") == [f"sync {tries}"]


def test_a_boot_that_cannot_be_counted_still_tries(node):
    made = restorable(node)
    (made.plan / f"tries-{UNIT}").mkdir()
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("criu") == ["criu"]


def with_frames(node, stopped, units=UNIT):
    made = restorable(node, units=units)
    made.keep_frames()
    trees = {unit: (stopped(), stopped()) for unit in units.split()}
    for unit, (first, second) in trees.items():
        made.tree(unit, (first, False), (second, True))
    return made, trees


def test_frames_are_bound_and_the_tree_goes_on(node, stopped, runs):
    made, trees = with_frames(node, stopped)
    made.run("boot/restore-unit", UNIT, "criu")
    images = f"{made.root}/var/lib/kup/images/update/1-{UNIT}"
    assert made.called("paged") == [f"paged bind --images-dir {images}", "paged seal"]
    assert made.events() == ["restore-start", "created", "bound", "restore-end", "open"]
    assert made.decision() == "go-on"
    first, second = trees[UNIT]
    assert runs(first)
    assert not runs(second)  # the application had stopped it


def test_no_tree_runs_before_the_frames_of_all_are_bound(node, stopped, runs):
    made, trees = with_frames(node, stopped, TWO)
    made.run("boot/restore-unit", UNIT, "criu")
    assert not runs(trees[UNIT][0])
    assert made.decision() is None
    assert not made.called("paged seal")
    made.run("boot/restore-unit", OTHER, "criu")
    assert runs(trees[UNIT][0])
    assert runs(trees[OTHER][0])


def test_frames_are_sealed_and_packets_flow_before_a_tree_runs(node, stopped, runs):
    made, trees = with_frames(node, stopped)
    process = trees[UNIT][0].pid
    look = f"cut -d ' ' -f 3 /proc/{process}/stat >>{made.root}/states"
    made.fake("usr/local/lib/kup/paged", look)
    made.fake("nft", look)
    made.run("boot/restore-unit", UNIT, "criu")
    # All three times: the tree's first answers would meet the network lock.
    assert made.read("states").split()[:3] == ["T", "T", "T"]
    assert runs(trees[UNIT][0])


def test_a_network_lock_that_stays_ends_no_unit_whose_frames_are_sealed(node, stopped, runs):
    made, trees = with_frames(node, stopped)
    made.fake("nft", '[ "$1" = list ]')
    made.run("boot/restore-unit", UNIT, "criu")
    assert runs(trees[UNIT][0])
    assert "open" not in made.events()


def test_a_module_that_cannot_seal_gets_no_crash_kernel(node, stopped):
    made, _trees = with_frames(node, stopped)
    made.fake("usr/local/lib/kup/paged", '[ "$1" != seal ]')
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("kexec") == ["kexec --load-panic --unload"]
    assert made.called("nft")


def test_a_tree_without_its_frames_is_killed_while_it_is_stopped(node, stopped):
    made, trees = with_frames(node, stopped)
    made.fake("usr/local/lib/kup/paged", '[ "$1" != bind ] || exit 3')
    made.run("boot/restore-unit", UNIT, "criu", code=3)
    assert made.decision() == "go-back"
    assert [process.wait(5) for process in trees[UNIT]] == [-signal.SIGKILL] * 2
    assert not made.marked(f"{UNIT}.restored")


def test_on_the_old_kernel_the_others_keep_their_frames(node, stopped):
    made, trees = with_frames(node, stopped)
    made.save(PHASE="returning")
    made.fake("usr/local/lib/kup/paged", '[ "$1" != bind ] || exit 3')
    made.run("boot/restore-unit", UNIT, "criu", code=3)
    assert made.decision() is None
    assert [process.wait(5) for process in trees[UNIT]] == [-signal.SIGKILL] * 2
    assert made.read(f"run/kup/{UNIT}.cause") == "its page frames could not be put in place\n"


def test_a_restore_that_failed_kills_nothing_by_its_old_process_ids(node, stopped, runs):
    made, trees = with_frames(node, stopped)
    made.fake("criu", "exit 1")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert trees[UNIT][0].poll() is None


def test_nothing_is_restored_where_the_frames_are_for_another_kernel(node, stopped):
    made, _trees = with_frames(node, stopped)
    made.decide("go-back")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert not made.called("criu")


def with_files(node, body=":", **values):
    made = restorable(node, **values)
    made.write_plan(f"files-{UNIT}")
    made.fake("usr/local/lib/kup/environment", body)
    return made


DIFFERS = "echo 'the file /data was written at 2, expected 1' >&2; exit 3"


def test_files_are_compared_right_before_the_restore(node):
    made = with_files(node)
    made.run("boot/restore-unit", UNIT, "criu")
    images = f"{made.root}/var/lib/kup/images/update/1-{UNIT}"
    compared = f"environment same-files --images {images} {made.plan}/files-{UNIT}"
    calls = [call for call in made.calls if not call.startswith("sync ")]  # in the background
    assert calls[calls.index(compared) + 1] == "criu"


def test_a_unit_that_may_have_run_has_appended_to_its_files_itself(node, stopped):
    made = with_files(node, running=OLD, phase="probation")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("environment") == [f"environment same-files {made.plan}/files-{UNIT}"]
    made = with_files(node)
    made.write_plan(f"tries-{UNIT}", "n")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("environment")[-1] == f"environment same-files {made.plan}/files-{UNIT}"
    made = with_files(node, DISK_CHECKPOINT="1")
    (made.plan / f"tries-{UNIT}").unlink()
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("environment")[-1] == f"environment same-files {made.plan}/files-{UNIT}"
    # It has not run, whatever boots have tried: the frames prove that.
    made.keep_frames()
    made.tree(UNIT, (stopped(), False))
    made.run("boot/restore-unit", UNIT, "criu")
    assert "--images" in made.called("environment")[-1]


@pytest.mark.parametrize(
    ("tries", "data", "may_have_run"),
    [("n", "running", False), ("n", "", True), ("n", "checkpoint", True), ("no", "running", True)],
)
def test_where_the_new_kernel_went_back_before_any_unit_ran_none_has(node, tries, data, may_have_run):
    made = with_files(node, running=OLD, DATA=data)
    made.write_plan(f"tries-{UNIT}", tries)
    made.run("boot/restore-unit", UNIT, "criu")
    assert ("--images" not in made.called("environment")[-1]) is may_have_run


def test_what_others_have_appended_is_noted(node):
    made = with_files(node, "echo '/log has grown by 4 bytes' >&2")
    done = made.run("boot/restore-unit", UNIT, "criu")
    assert done.stderr == f"kup: {UNIT}: /log has grown by 4 bytes\n"
    assert made.called("criu")


@pytest.mark.parametrize("body", [DIFFERS, "echo broken >&2; exit 1", "exit 127"])
@pytest.mark.parametrize(
    ("running", "says"),
    [
        (OLD, "starts fresh, because its files are not those of its memory"),
        (NEW, "has other files than at the checkpoint"),
    ],
)
def test_older_memory_does_not_run_on_newer_files(node, body, running, says):
    made = with_files(node, body, running=running)
    done = made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert not made.called("criu")
    assert made.read(f"run/kup/{UNIT}.lacks").startswith(f"{UNIT} {says}: ")
    assert done.stderr == made.read(f"run/kup/{UNIT}.lacks")


def test_the_difference_is_told(node):
    made = with_files(node, DIFFERS)
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert made.read(f"run/kup/{UNIT}.lacks").endswith(": the file /data was written at 2, expected 1\n")


def test_a_unit_that_was_started_anew_on_probation_does_not_get_its_checkpoint(node):
    made = with_files(node, running=OLD, phase="probation")
    made.write_plan(f"ended-{UNIT}")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert not made.called("criu")
    assert made.read(f"run/kup/{UNIT}.lacks").startswith(f"{UNIT} starts fresh, because it was started anew")


def with_attributes(node, body=":", **values):
    made = restorable(node, **values)
    made.write_plan(f"attributes-{UNIT}", "7 mdwe 1\n")
    made.fake("usr/local/lib/kup/fingerprint", body)
    return made


def test_processes_set_their_attributes_before_packets_flow(node):
    made = with_attributes(node)
    made.run("boot/restore-unit", UNIT, "criu")
    calls = [call for call in made.calls if not call.startswith("sync ")]
    at = calls.index(f"fingerprint set {made.plan}/attributes-{UNIT}")
    assert calls[at - 1] == "criu"
    assert calls[at + 1] == "nft delete table inet kup"


def test_processes_with_frames_set_them_while_they_stand_still(node, stopped):
    made, trees = with_frames(node, stopped)
    made.write_plan(f"attributes-{UNIT}")
    made.fake("usr/local/lib/kup/fingerprint", f"cut -d ' ' -f 3 /proc/{trees[UNIT][0].pid}/stat >{made.root}/state")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read("state") == "T\n"
    assert made.events()[1:4] == ["created", "bound", "restore-end"]


def test_a_unit_that_is_not_as_it_was_goes_back(node):
    made = with_attributes(node, "echo 'Thread 7 cannot' >&2; exit 1")
    made.run("boot/restore-unit", UNIT, "criu", code=1)
    assert not made.marked(f"{UNIT}.restored")
    assert made.read(f"run/kup/{UNIT}.lacks") == f"{UNIT} has processes that are not as they were: Thread 7 cannot\n"


def test_on_the_way_back_it_keeps_its_state(node):
    made = with_attributes(node, "echo 'Thread 7 cannot' >&2; exit 1", running=OLD, phase="returning")
    done = made.run("boot/restore-unit", UNIT, "criu")
    assert made.marked(f"{UNIT}.restored")
    assert done.stderr == f"kup: {UNIT}: Thread 7 cannot\n"


@pytest.mark.parametrize("code", [0, 1, 3])
def test_system_v_objects_are_settled_when_they_are_attached(node, code):
    made = restorable(node)
    made.write_plan(f"ipc-{UNIT}", "")
    made.fake("usr/local/lib/kup/environment", f"exit {code}")
    made.run("boot/restore-unit", UNIT, "criu")
    settle = f"environment apply --run {made.root}/run/kup {made.plan}/ipc-{UNIT}"
    assert made.calls.index("criu") < made.calls.index(settle) < made.calls.index("nft delete table inet kup")
    assert made.marked(f"{UNIT}.restored")


def test_segments_are_made_for_one_unit_at_a_time(node):
    made = restorable(node)
    lock = made.root / "run/kup/segments"
    made.fake("criu", f"! flock --nonblock {lock} true && [ ! -e /proc/self/fd/5 ]")
    made.run("boot/restore-unit", UNIT, "criu", "--join-ns", "ipc:/proc/1/ns/ipc")
    assert made.marked(f"{UNIT}.restored")
    made.fake("criu", "exit 1")
    assert made.run("boot/restore-unit", UNIT, "criu", "--join-ns", "ipc:x", code=1)


def test_what_criu_does_not_carry_is_put_right_before_packets_flow(node):
    made = restorable(node)
    made.write_plan(f"fingerprint-{UNIT}", "")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.called("fingerprint") == [f"fingerprint put-right {made.plan}/fingerprint-{UNIT}"]
    calls = made.calls
    assert calls.index("criu") < calls.index(made.called("fingerprint")[0]) < calls.index("nft delete table inet kup")
    assert made.events() == ["restore-start", "fingerprint", "restore-end", "open"]
    assert made.read(f"run/kup/{UNIT}.differences") == ""


@pytest.mark.parametrize("code", [1, 3])
def test_what_is_left_different_is_kept_and_costs_no_restore(node, code):
    made = restorable(node)
    made.write_plan(f"fingerprint-{UNIT}", "")
    made.fake("usr/local/lib/kup/fingerprint", f"echo odd; exit {code}")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read(f"run/kup/{UNIT}.differences") == "odd\n"
    assert made.marked(f"{UNIT}.restored")
    assert made.events()[-1] == "open"


@pytest.mark.parametrize(
    ("known", "asked"), [("proc/{}/root/proc/sys/kernel/x", False), ("run/criu.kdat", False), ("run/other", True)]
)
def test_criu_runs_in_the_namespaces_that_were_kept(node, known, asked):
    made = node()
    made.fake("criu")
    holder = subprocess.Popen(["sleep", "60"])
    made.write(f"proc/{holder.pid}/ns/mnt", "mounts\n")
    made.write(f"proc/{holder.pid}/ns/uts", "host name\n")
    made.write(f"run/kup/{UNIT}.view", f"{holder.pid}\n")
    made.write(known.format(holder.pid))
    made.fake("nsenter", f'read -r mounts <&3; read -r name <&4; echo "$mounts $name $PATH" >{made.root}/seen')
    made.run("boot/restore-unit", UNIT, "criu", "restore")
    assert holder.wait(10) == -signal.SIGTERM
    assert made.called("nsenter") == [
        f"nsenter --mount={made.root}/proc/self/fd/3 --uts={made.root}/proc/self/fd/4 -- criu restore"
    ]
    assert made.read("seen") == f"mounts host name {made.root}/proc/1/root/usr/local/lib/kup/inside\n"
    # What the kernel can do CRIU finds out on the node where it could not in the unit's view.
    assert made.called("criu") == ["criu check"] * asked
    assert made.marked(f"{UNIT}.restored")


@pytest.mark.parametrize(
    ("script", "lacks"),
    [
        ("", ""),
        (f"echo lacking >{{root}}/run/kup/{UNIT}.lacks; exit 3", "lacking\n"),
        (
            "echo environment: broken >&2; exit 1",
            f"{UNIT} needs its private files, which could not be put in place: environment: broken\n",
        ),
    ],
)
def test_private_files_are_put_in_place_before(node, script, lacks):
    made = node()
    made.fake("criu")
    made.fake("nsenter")
    made.fake("usr/local/lib/kup/environment", script.format(root=made.root))
    holder = subprocess.Popen(["sleep", "60"])
    for name in ("ns/mnt", "ns/uts", "root/proc/sys/kernel/x"):
        made.write(f"proc/{holder.pid}/{name}")
    made.write(f"run/kup/{UNIT}.view", f"{holder.pid}\n")
    made.write_plan(f"private-{UNIT}/files.plan")
    made.run("boot/restore-unit", UNIT, "criu", "restore", code=1 if lacks else 0)
    assert holder.wait(10) == -signal.SIGTERM
    view = f"{made.root}/proc/{holder.pid}/root"
    assert made.called("environment") == [f"environment apply --view {view} {made.plan}/private-{UNIT}/files.plan"]
    assert bool(made.called("nsenter")) is not bool(lacks)
    assert not lacks or made.read(f"run/kup/{UNIT}.lacks") == lacks


def test_without_the_namespaces_of_the_unit_nothing_is_restored(node):
    made = node()
    made.fake("criu")
    made.write(f"run/kup/{UNIT}.view", "\n")
    made.run("boot/restore-unit", UNIT, "criu", "restore", code=2)
    assert not made.called("criu")
    assert not made.marked(f"{UNIT}.restored")


def told_peers(made, units=UNIT):
    """A node whose program has noted how it was started, once it has."""
    for unit in units.split():
        made.write_plan(f"fingerprint-{unit}")
    made.write("sys/fs/cgroup/cgroup.procs")
    done = made.root / "done"
    # The last words of what the background does.
    body = f'[ "$1" = revert-backoff ] || exit 0; ls -l /proc/self/fd >{made.root}/descriptors; echo told; : >{done}'
    made.fake("usr/local/lib/kup/fingerprint", body)
    return made, done


def wait_for(path):
    give_up = time.monotonic() + 60
    while not path.exists() and time.monotonic() < give_up:
        time.sleep(0.01)
    assert path.exists()


def test_peers_are_told_to_send_again_when_packets_flow(node):
    made, done = told_peers(restorable(node, units=f"{TWO} c.service", REVERT_BACKOFF="True"), TWO)
    made.mark(f"{UNIT}.restored", "c.service.restored", f"{OTHER}.fresh")
    made.run("boot/restore-unit", UNIT, "criu")
    wait_for(done)
    # Of the other unit, which starts fresh, there are no connections, and of the third nothing was recorded.
    told = f"fingerprint revert-backoff {made.plan}/fingerprint-{UNIT}"
    assert made.called("fingerprint revert-backoff") == [told]
    assert made.calls.index("nft delete table inet kup") < made.calls.index(told)
    assert made.read("run/kup/backoff") == "told\n"
    # It is not the unit's: systemd would count it there, and end it with the unit.
    assert made.read("sys/fs/cgroup/cgroup.procs") == "0\n"


def test_a_restore_that_has_failed_tells_the_peers_of_the_others_and_keeps_no_lock(node):
    made, done = told_peers(restorable(node, running=OLD, units=TWO, REVERT_BACKOFF="True"), TWO)
    made.mark(f"{OTHER}.restored")
    made.run("boot/restore-failed", "at-once", UNIT, SERVICE_RESULT="exit-code")
    wait_for(done)
    assert made.called("fingerprint revert-backoff") == [f"fingerprint revert-backoff {made.plan}/fingerprint-{OTHER}"]
    assert str(made.root / "var/lib/kup\n") not in made.read("descriptors")


def test_peers_that_wait_are_told_to_go_on_when_packets_flow(node):
    made, done = told_peers(restorable(node, PARK_CONNECTIONS="True"))
    made.fake("usr/local/lib/kup/fingerprint", f'[ "$1" = unpark ] || exit 0; echo told; : >{done}')
    made.run("boot/restore-unit", UNIT, "criu")
    wait_for(done)
    told = f"fingerprint unpark {made.plan}/fingerprint-{UNIT}"
    assert made.called("fingerprint unpark") == [told]
    assert made.calls.index("nft delete table inet kup") < made.calls.index(told)
    assert made.read("run/kup/unparked") == "told\n"
    assert made.called("fingerprint revert-backoff") == []


@pytest.mark.parametrize("values", [{}, {"REVERT_BACKOFF": "False"}])
def test_peers_are_not_told_where_nobody_wants_it(node, values):
    made, done = told_peers(restorable(node, **values))
    made.run("boot/restore-unit", UNIT, "criu")
    time.sleep(0.2)
    assert not done.exists()
    assert not made.marked("backoff")


def test_peers_that_cannot_be_told_cost_no_restore(node):
    made, _done = told_peers(restorable(node, REVERT_BACKOFF="True"))
    made.fake(
        "usr/local/lib/kup/fingerprint", f'[ "$1" = put-right ] || {{ echo no >&2; : >{made.root}/done; exit 1; }}'
    )
    made.run("boot/restore-unit", UNIT, "criu")
    wait_for(made.root / "done")
    assert made.read("run/kup/backoff-failed") == "no\n"
    assert made.marked("rest")
