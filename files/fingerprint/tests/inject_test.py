# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls injected into processes of every kind: they answer, take what is set, and go on as if nothing had been.

inject_test.py FINGERPRINT
"""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
PDEATHSIG, MDWE, MCE_KILL = 1, 65, 33
LIBC = "import ctypes,os,signal,struct,sys,threading,time,select,socket; libc=ctypes.CDLL(None,use_errno=True)\n"
SECCOMP = """
libc.prctl(38,1,0,0,0)
allow,kill=0x7fff0000,0x80000000
# prctl and kcmp kill the process.
code=struct.pack("HBBI"*4,0x20,0,0,0,0x15,0,1,157,6,0,0,kill,0x15,0,1,312)+struct.pack("HBBI"*2,6,0,0,kill,6,0,0,allow)
buffer=ctypes.create_string_buffer(code,len(code))
class Program(ctypes.Structure): _fields_=[("count",ctypes.c_ushort),("filter",ctypes.c_void_p)]
assert libc.prctl(22,2,ctypes.byref(Program(6,ctypes.addressof(buffer))),0,0)==0
"""
LANDLOCK = """
libc.prctl(38,1,0,0,0)
f=libc.syscall(444,struct.pack("Q",2),ctypes.c_size_t(8),0)
assert f>=0 and libc.syscall(446,f,0)==0
"""


class Target:
    """A process that runs Python code; it says "ready" first, and its last words when its standard input ends."""

    def __init__(self, code, user=None):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", LIBC + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=[] if user else None,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"
        time.sleep(0.1)  # until it waits

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        """Its last words."""
        said, _errors = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, self.process.returncode
        return said.strip()


def ask(*pids, code=0):
    done = subprocess.run([PROGRAM, "ask", *map(str, pids)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout.splitlines()


def put(*lines, code=0):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        done = subprocess.run([PROGRAM, "set", file.name], capture_output=True, text=True, check=False)
    assert code in (None, done.returncode), (done.returncode, done.stderr)
    return done.stderr


WAIT = "print('ready',flush=True); sys.stdin.read()\n"
TELL = (
    "v=ctypes.c_int(); libc.prctl(2,ctypes.byref(v)); print(v.value, libc.prctl(66,0,0,0,0), libc.prctl(34,0,0,0,0))\n"
)


def test_attributes_are_set_and_asked_for():
    target = Target(WAIT + TELL)
    assert ask(target.pid) == []
    put(f"{target.pid} pdeathsig 15", f"{target.pid} mdwe 1", f"{target.pid} mce-kill 1")
    assert ask(target.pid) == [f"{target.pid} mdwe 1", f"{target.pid} mce-kill 1"]
    assert target.end() == "15 1 1"


def test_what_an_old_criu_forgets_is_set():
    target = Target(WAIT + "print(libc.prctl(39,0,0,0,0), libc.prctl(42,0,0,0,0))\n")
    put(f"{target.pid} no-new-privs 1", f"{target.pid} thp-disable 1")
    assert ask(target.pid) == []
    assert target.end() == "1 1"


def test_who_has_registered_for_memory_barriers():
    # PRIVATE_EXPEDITED, _SYNC_CORE and _RSEQ: to register, and to use
    code = "for number in (%s): assert libc.syscall(324,number,0,0)==0\n"
    target, other = Target(code % "16,64,256" + WAIT), Target(WAIT + code % "8,32,128")
    lines = ["membarrier 0", "membarrier-sync-core 0", "membarrier-rseq 0"]
    assert ask(target.pid) == [f"{target.pid} {line}" for line in lines]
    assert ask(other.pid) == []
    put(*(f"{other.pid} {line}" for line in lines))
    assert ask(other.pid) == [f"{other.pid} {line}" for line in lines]
    assert target.end() == other.end() == ""


def test_who_locks_what_is_mapped_later():
    code = WAIT + (
        "import mmap,re\n"
        "def locked(): return int(re.search(r'VmLck:\\s+(\\d+)',open('/proc/self/status').read())[1])\n"
        "before=locked(); area=mmap.mmap(-1,1<<20); print(locked()-before)\n"
    )
    lock = "assert libc.mlockall(%d)==0\n"
    for flags, found in ((1, []), (3, [2]), (2 | 4, [6]), (1 | 2 | 4, [6])):
        target = Target(lock % flags + "import mmap; kept=mmap.mmap(-1,4096)\n" + code)
        assert ask(target.pid) == [f"{target.pid} lock-future {each}" for each in found], (flags, found)
        assert target.end() == ("1024" if flags & 2 else "0")
        if found:
            other = Target(lock % 1 + code)
            put(f"{other.pid} lock-future {found[0]}")
            assert ask(other.pid) == [f"{other.pid} lock-future {found[0]}"]
            assert other.end() == "1024"


def test_memory_is_empty_in_a_child_again():
    target = Target(
        "import mmap\n"
        "areas=[mmap.mmap(-1,8192,flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS) for _ in range(2)]\n"
        "for area in areas: area.write(b'x'*8192)\n"
        "places=[ctypes.addressof(ctypes.c_char.from_buffer(area)) for area in areas]\n"
        "print('ready',flush=True); print(*places,flush=True); sys.stdin.read()\n"
        "if os.fork()==0: print(*(area[:].count(b'x') for area in areas),flush=True); os._exit(0)\n"
        "os.wait(); print(*(area[:].count(b'x') for area in areas))\n"
    )
    first = int(target.process.stdout.readline().split()[0])
    put(f"{target.pid} wipe-on-fork {first + 4096:x}-{first + 8192:x}")
    assert "cannot get its mapping 1000-2000 to be wipe-on-fork again: Cannot allocate memory" in put(
        f"{target.pid} wipe-on-fork 1000-2000", code=1
    )
    for broken in (
        "1000",
        "1000-",
        "-1000",
        "2000-1000",
        "1000-1000",
        "1000-2000x",
        "0x1000-2000",
        "1000-10000000000000000",
    ):
        assert f"The mapping '{broken}' is broken" in put(f"{target.pid} wipe-on-fork {broken}", code=1)
    assert target.end().split() == ["4096", "8192", "8192", "8192"]


def test_what_the_kernel_tells_a_few_processes_only():
    target = Target(WAIT + "print(libc.prctl(58,0,0,0,0), libc.personality(0xffffffff), libc.prctl(68,0,0,0,0))\n")
    said = put(
        f"{target.pid} personality {0x0040000}", f"{target.pid} io-flusher 1", f"{target.pid} memory-merge 1", code=None
    )
    # These two need CAP_SYS_RESOURCE (which root may lack in a container), and a kernel from 6.4 on that can merge (CONFIG_KSM).
    given = [name for name in ("memory-merge", "io-flusher") if f"cannot get its {name} of 1 back" not in said]
    assert sorted(ask(target.pid)) == sorted(
        [f"{target.pid} personality {0x0040000}", *(f"{target.pid} {name} 1" for name in given)]
    )
    flushes, personality, _merges = target.end().split()
    assert (flushes == "1", int(personality)) == ("io-flusher" in given, 0x0040000)


def test_every_thread_has_a_death_signal_of_its_own():
    target = Target(
        "e=threading.Event(); said=[]\n"
        "def work():\n said.append(libc.gettid()); e.wait(); v=ctypes.c_int(); libc.prctl(2,ctypes.byref(v)); said.append(v.value)\n"
        "t=threading.Thread(target=work); t.start()\n" + WAIT + "e.set(); t.join(); print(said[1])\n" + TELL
    )
    thread = max(map(int, os.listdir(f"/proc/{target.pid}/task")))
    put(f"{thread} pdeathsig 10")
    assert target.end().split() == ["10", "0", "0", "2"]


def test_calls_that_were_interrupted_go_on():
    target = Target(
        "def timed(f,*a):\n b=time.monotonic(); r=f(*a); return [r,round(time.monotonic()-b,1)]\n"
        "said={}\n"
        "def run(n,f,*a): said[n]=timed(f,*a)\n"
        "r,w=os.pipe(); ts=struct.pack('qq',1,0)\n"
        "a=[('sleep',libc.usleep,1000000),('clock',libc.syscall,230,1,0,ts,0),('poll',libc.poll,0,0,1000),\n"
        "   ('read',lambda: libc.read(r,ctypes.create_string_buffer(8),8)),\n"
        "   ('futex',lambda: libc.syscall(202,ctypes.byref(ctypes.c_int(0)),128,0,ts,0,0))]\n"
        "ths=[threading.Thread(target=run,args=x) for x in a]\n"
        "[t.start() for t in ths]\n" + WAIT + "os.write(w,b'x'); [t.join() for t in ths]; print(said)\n"
    )
    for _time in range(3):
        for thread in os.listdir(f"/proc/{target.pid}/task"):
            put(f"{thread} mce-kill 2")
        time.sleep(0.3)
    said = eval(target.end())
    assert [said[name][0] for name in ("sleep", "clock", "poll", "read")] == [0, 0, 0, 1], said
    # One that began anew would end a second after the last round, which is 0.6 s from the first.
    assert all(0.9 < said[name][1] < 1.6 for name in ("sleep", "clock", "poll", "futex")), said


def test_a_mask_for_the_time_of_a_call_is_left():
    target = Target(
        "got=[]; signal.signal(10,lambda *a: got.append(10)); signal.signal(12,lambda *a: got.append(12))\n"
        "signal.pthread_sigmask(0,[10]); os.kill(os.getpid(),10); print('ready',flush=True)\n"
        # Waits for SIGUSR2; SIGUSR1 stays blocked before, meanwhile and after.
        "r=libc.syscall(130,struct.pack('Q',1<<9),8); first=list(got); print(first, sorted(signal.pthread_sigmask(0,[])))\n"
    )
    for _time in range(20):
        assert ask(target.pid) == []
    os.kill(target.pid, signal.SIGUSR2)
    assert target.end() == "[12] [<Signals.SIGUSR1: 10>]"


def test_signals_and_numbers_of_a_busy_process_are_all_right():
    target = Target(
        "n=[0]; signal.signal(14,lambda *a: n.__setitem__(0,n[0]+1)); signal.setitimer(signal.ITIMER_REAL,.001,.001)\n"
        "import hashlib,math\nprint('ready',flush=True)\nbad=0; b=os.urandom(20000); h=hashlib.sha256(b).digest(); t=time.monotonic()\n"
        "while time.monotonic()-t<2 or n[0]<=100:\n"
        " bad+=hashlib.sha256(b).digest()!=h or sum(i*.5 for i in range(500))!=62375.0\n"
        "signal.setitimer(signal.ITIMER_REAL,0); print(bad)\n"
    )
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        assert ask(target.pid) == []
    assert target.end() == "0"


def test_a_filter_of_system_calls_does_not_see_it():
    target = Target(SECCOMP + WAIT + "print('alive')")
    put(f"{target.pid} pdeathsig 15")
    assert ask(target.pid) == []
    assert target.end() == "alive"


def test_one_that_is_ending_has_nothing_to_say():
    # Its memory is gone at once, and takes long to be given back.
    target = Target("memory=b'x'*(300<<20)\n" + WAIT)
    target.process.kill()
    while os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert ask(target.pid) == []
    target.process.communicate()


def test_keys_are_counted_and_what_systemd_gives_is_none():
    add = "libc.syscall(248,b'user',b'%s',b'v',1,%d)\n"
    join = "libc.syscall(250,1,0)\n"  # KEYCTL_JOIN_SESSION_KEYRING
    link = "libc.syscall(250,8,-4,-3)\n"  # KEYCTL_LINK of the user's keyring
    usual = join + add % ("invocation_id", -3) + link
    for made, expected in (
        (join, []),
        (usual, []),
        (usual + add % ("of the application", -3), ["keys 1"]),
        (join + add % ("of the application", -3), ["keys 1"]),
        (usual + add % ("of the process", -2) + add % ("of the thread", -1), ["keys 2"]),
        (usual + "".join(add % (f"key {number}", -3) for number in range(70)), ["keys 72"]),
    ):
        target = Target(made + WAIT)
        assert [line.partition(" ")[2] for line in ask(target.pid)] == expected, made
        # Nothing is left in its memory.
        with open(f"/proc/{target.pid}/maps", encoding="ascii") as stream:
            before = stream.read()
        ask(target.pid)
        with open(f"/proc/{target.pid}/maps", encoding="ascii") as stream:
            assert stream.read() == before
        target.end()


def test_a_stopped_process_stays_stopped():
    target = Target(WAIT + TELL)
    os.kill(target.pid, signal.SIGSTOP)
    time.sleep(0.05)
    put(f"{target.pid} pdeathsig 9")
    time.sleep(0.05)
    with open(f"/proc/{target.pid}/stat") as stream:
        assert stream.read().rpartition(")")[2].split()[0] == "T"
    os.kill(target.pid, signal.SIGCONT)
    assert target.end().split()[0] == "9"


def test_landlock_is_found_and_nothing_else_is_taken_for_it():
    for user in (None, 65534):
        plain, locked = Target(WAIT, user), Target(LANDLOCK + WAIT, user)
        assert ask(plain.pid, locked.pid) == ([f"{locked.pid} landlock 1"] if landlock() else [])
        plain.end()
        locked.end()


def landlock():
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) > 0


# In a pid namespace, whose last number tells how many processes there have been.
MANY = """
import subprocess, sys
targets = [subprocess.Popen(["sleep", "60"]) for _number in range(5)]
last = lambda: int(open("/proc/sys/kernel/ns_last_pid").read())
before = last()
subprocess.run([sys.argv[1], "ask", *(str(target.pid) for target in targets)], check=True)
print(last() - before)
"""


def test_many_processes_of_one_user_are_asked_with_one_helper():
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "/usr/bin/python3", "-c", MANY, PROGRAM]
    # The search for leaks takes a process, too.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    assert int(subprocess.run(words, check=True, stdout=subprocess.PIPE, env=environment).stdout) <= 2


def test_what_is_set_from_outside():
    target = Target(
        WAIT
        + "print(sorted(os.sched_getaffinity(0)), open('/proc/self/coredump_filter').read(), libc.prctl(30,0,0,0,0),\n"
        " libc.syscall(252,1,0))\n"
    )
    first = min(os.sched_getaffinity(0))
    # A processor that is not there is left out.
    put(f"{target.pid} affinity {first},8000-8191", f"{target.pid} coredump-filter 0000007f",
        f"{target.pid} io-priority {2 << 13 | 7}", f"{target.pid} timer-slack 70000")  # fmt: skip
    for line in ("affinity", "affinity ", "affinity 3-1", "affinity 0,", "affinity -", "affinity 8192", "affinity 0-x",
                 "coredump-filter 0x7f", "coredump-filter 123456789", "io-priority", "io-priority 65536", "timer-slack -1"):  # fmt: skip
        assert "broken" in put(f"{target.pid} {line}", code=1), line
    assert "cannot run on the processors" in put(f"{target.pid} affinity 8191", code=1)
    assert "cannot get its I/O priority back" in put(f"{target.pid} io-priority 65535", code=1)
    assert target.end().split() == [f"[{first}]", "0000007f", "70000", str(2 << 13 | 7)]


def test_what_cannot_be_said():
    gone = subprocess.Popen(["true"])
    gone.wait()
    ask(gone.pid)  # there is nobody to ask any more
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    ask(zombie.pid)
    zombie.wait()
    ask("x", code=1)
    target = Target(WAIT)
    for line in ("1", "x mdwe 1", f"{target.pid} mdwe", f"{target.pid} other 1", f"{target.pid} mdwe 9", ""):
        assert "broken" in put(line, code=1)
    assert "broken" in put("1 2 3 4", code=1)
    put(f"{gone.pid} mdwe 1", f"{target.pid} mdwe 1")
    assert ask(target.pid) == [f"{target.pid} mdwe 1"]
    target.end()


for name, test in list(globals().items()):
    if name.startswith("test_"):
        began = time.monotonic()
        test()
        print(f"{name[5:].replace('_', ' ')}: ok ({time.monotonic() - began:.1f} s)")
