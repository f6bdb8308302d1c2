"""System calls that a freeze interrupts: which they are, and how they begin anew."""

import pathlib
import signal
import subprocess
import sys
import types

import pytest
from fakeimage import core, field
from soon import soon

from ansible_collections.kup.fleet.plugins.module_utils._environment import core_image, interrupted
from ansible_collections.kup.fleet.plugins.module_utils._environment.interrupted import Call
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process

EINTR = (1 << 64) - 4
ENTRY = "[<0>] __do_sys_restart_syscall+0x1/0x2\n[<0>] do_syscall_64+0x5f/0x170\n[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n"
PLACE, STACK = 0x7F00_0000_0080, 0x7FFF_0000_0000


def image(number, ax=EINTR, mode=1, own=b"", shared=b"", arguments=types.MappingProxyType({})):
    numbers = {8: 0, 11: ax, 13: 1, 14: 0, 15: 1, 16: number, 17: PLACE, 20: STACK, 28: mode, **arguments}
    registers = b"".join(field(name, numbers.get(name, 5)) for name in range(1, 29))
    thread = field(1, 0) + field(9, own) + field(13, b"name")
    task = field(1, 1) + field(10, shared)
    return core(field(1, 1), field(2, field(1, 1 << 50) + field(2, registers)), field(3, task), field(5, thread))


@pytest.fixture
def images(tmp_path):
    (tmp_path / "dump.log").write_bytes(
        b"(00.1) Warn  (compel/arch/x86/src/lib/infect.c:418): Will restore 7 with interrupted system call\n"
        b"(00.1) Warn  (a.c:1): 8 is another thing\n"
    )
    return tmp_path


def anew(images, content, noted=None, leader=None):
    """The registers of thread 7 afterwards, None if its image is as it was."""
    (images / "core-7.img").write_bytes(content)
    (images / "core-6.img").write_bytes(leader or image(1))
    process = types.SimpleNamespace(pid=6, threads=[6, 7])
    interrupted.begin_anew([process], str(images), {7: noted} if noted else {})
    left = (images / "core-7.img").read_bytes()
    assert len(left) == len(content)
    found = {name: each.value for name, each in core_image.CoreImage(left).registers().items()}
    assert left == content or (found["ip"], found["sp"], found["orig_ax"]) == (
        PLACE - 2,
        STACK,
        core_image.CoreImage(content).registers()["orig_ax"].value,
    )
    return None if left == content else found["ax"]


@pytest.mark.parametrize("number", [7, 35, 202, 230])
def test_an_interrupted_call_begins_anew(images, number):
    assert anew(images, image(number)) == number


WANTED, REST = 0x7F00_0000_1000, 0x7F00_0000_2000


@pytest.mark.parametrize(
    ("number", "arguments", "changed"),
    [
        (35, {15: WANTED, 14: REST}, "di"),
        (35, {15: WANTED, 14: 0}, ""),
        (230, {15: 1, 14: 0, 13: WANTED, 8: REST}, "dx"),
        (230, {15: 1, 14: 0, 13: WANTED, 8: 0}, ""),
        (230, {15: 1, 14: 1, 13: WANTED, 8: REST}, ""),  # to a moment
        (7, {15: WANTED, 14: REST, 13: 9}, ""),
        # No place for so large a number.
        (35, {15: 9, 14: REST}, ""),
    ],
)
def test_a_sleep_goes_on_for_the_rest_that_the_kernel_has_told(images, number, arguments, changed):
    content = image(number, arguments=arguments)
    before = core_image.CoreImage(content).registers()
    assert anew(images, content) == number
    after = core_image.CoreImage((images / "core-7.img").read_bytes()).registers()
    different = {name for name, each in after.items() if each.value != before[name].value}
    assert different == {"ax", "ip", *([changed] if changed else [])}
    assert not changed or after[changed].value == REST


def test_one_that_was_interrupted_before_is_the_one_that_was_noted(images):
    assert anew(images, image(219), Call(230, STACK, PLACE)) == 230
    # In another place it is another call.
    assert anew(images, image(219), Call(230, STACK + 8, PLACE)) is None
    assert anew(images, image(219)) is None


@pytest.mark.parametrize(
    "content",
    [
        image(1),  # no such call
        image(7, ax=0),  # it has its result
        image(7, mode=2),  # a number of another table
        image(7, own=b"signal"),  # a handler may be about to run
    ],
)
def test_another_one_is_left_alone(images, content):
    assert anew(images, content) is None


def test_a_signal_for_the_process_counts_for_each_thread(images):
    assert anew(images, image(7), leader=image(1, shared=b"signal")) is None


def test_only_threads_that_criu_names_are_looked_at(images):
    (images / "dump.log").write_bytes(b"(00.1) Warn  (a.c:1): all is well\n")
    assert anew(images, image(7)) is None


@pytest.mark.parametrize(
    ("stack", "first", "number"),
    [
        (ENTRY, 0x7FFF0000, 35),
        (ENTRY, 1, 230),
        ("[<0>] do_syscall_64+0x5f/0x170\n", 1, 230),
        ("[<0>] do_sys_poll+0x3/0x5\n[<0>] do_restart_poll+0x41/0x90\n" + ENTRY, 0x7FFF0000, 7),
        ("[<0>] futex_do_wait+0x1/0x2\n[<0>] futex_wait_restart+0x8a/0xb0\n", 0x7FFF0000, 202),
        ("[<0>] ep_poll+0x1/0x2\n" + ENTRY, 0x7FFF0000, None),
        ("", 1, None),
    ],
)
def test_where_a_thread_waits_tells_which_call_goes_on(stack, first, number):
    assert interrupted._going_on(stack, first) == number


WAITING = """
import ctypes, os, select, struct, sys, threading, time
libc = ctypes.CDLL(None)
threading.Thread(target=lambda: libc.poll(None, 0, -1), daemon=True).start()
threading.Thread(target=lambda: libc.nanosleep(struct.pack("qq", 1000, 0), None), daemon=True).start()
threading.Thread(target=lambda: libc.clock_nanosleep(1, 0, struct.pack("qq", 1000, 0), None), daemon=True).start()
sys.stdin.read()
"""


# nanosleep(2) of the C library is one of both.
EXPECTED = [7, 230, 230], [7, 35, 230]


def numbers(process):
    return sorted(call.number for call in interrupted.note([Process(process.pid)]).values())


def states(process):
    threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat")
    return {each.read_text().rpartition(")")[2].split()[0] for each in threads}


@pytest.mark.parametrize("interrupts", [0, 2])
def test_the_calls_of_a_real_process_are_noted_also_if_they_were_interrupted(interrupts):
    if not pathlib.Path("/proc/self/stack").exists():
        pytest.skip("this kernel does not tell where a thread waits")
    with subprocess.Popen([sys.executable, "-c", WAITING], stdin=subprocess.PIPE) as process:
        try:
            # A thread of Python that begins is in calls of futex(2) as well.
            assert soon(lambda: numbers(process) in EXPECTED), numbers(process)
            for _turn in range(interrupts):
                process.send_signal(signal.SIGSTOP)
                assert soon(lambda: states(process) == {"T"}), states(process)
                process.send_signal(signal.SIGCONT)
                assert soon(lambda: states(process) == {"S"}), states(process)
                assert soon(lambda: numbers(process) in EXPECTED), numbers(process)
        finally:
            process.kill()
