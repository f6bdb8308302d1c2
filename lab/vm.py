"""QEMU virtual machines: how they are started, recognised and killed."""

import json
import os
import pathlib
import select
import signal
import subprocess
import time

from .command import LabError, say

# QEMU's buffer of translated code, MiB. A new kernel overwrites the pages of the old one, and QEMU then drops their translations one by
# one, each with a walk over a whole cache: with the default of 1 GiB, full of translations of ended processes, a kexec took 3 to
# 120 s. A smaller buffer is flushed as a whole from time to time; with 64 MiB that happens so often that a boot takes 1.5 times as long.
TRANSLATED_MIB = 256

# Without cmpxchg16b: QEMU 7.2 may leave wrong flags after it (direction and alignment check among them), and the kernel, which
# allocates memory with it, panics.
# Without erms: the kernel and the C library would clear and copy memory by string instructions on bytes, which QEMU emulates byte by
# byte; on words it is twice as fast.
# Without smap: each copy from or to user space would begin and end with an instruction that ends a translated block.
CPU = "max,-cx16,-erms,-smap"

# For a machine that can never have a second processor QEMU 7.2 omits memory barriers, although its devices run in threads of their
# own: the guest's NVMe driver then may not ring the doorbell, and the disk stalls until a time-out of 30 s.
CPUS_MAX = 2


def _on_one_processor():
    """Words before a QEMU that counts instructions: it runs the guest in one thread, and then omits the barriers whatever the guest may have.
    Threads that share a processor of the host see each other's writes in order."""
    return ["taskset", "--cpu-list", str(max(os.sched_getaffinity(0)))]


def machine(memory_mib, cpus):
    """Return the QEMU command line of a machine without disks and network."""
    instructions = os.environ.get("KUP_LAB_ICOUNT")
    threads = "single" if instructions else "multi"
    accel = os.environ.get("KUP_LAB_ACCEL", f"tcg,thread={threads},tb-size={TRANSLATED_MIB}")
    return [
        *(_on_one_processor() if instructions else []),
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
        "-machine", "pc", "-accel", accel, "-cpu", os.environ.get("KUP_LAB_CPU", CPU),
        "-smp", f"{cpus},maxcpus={max(cpus, CPUS_MAX)}", "-m", str(memory_mib), "-device", "i6300esb",
        *(["-icount", instructions] if instructions else []),
    ]  # fmt: skip


def root_disk(path):
    """Return the arguments of the root disk: NVMe, because its driver is built into Debian's cloud kernels.

    writeback: flushed data has reached the file, so killing QEMU is a true power cut.
    """
    return [
        "-drive", f"if=none,id=root,file={path},format=raw,cache=writeback,discard=unmap",
        "-device", "nvme,drive=root,serial=root,bootindex=1",
    ]  # fmt: skip


def data_disk(path):
    """Return the arguments of a second disk; none where there is no file PATH."""
    if not path.exists():
        return []
    return [
        "-drive", f"if=none,id=data,file={path},format=raw,cache=writeback,discard=unmap",
        "-device", "nvme,drive=data,serial=data",
    ]  # fmt: skip


def spare_devices(number):
    """Return the arguments of as many drives that nobody uses, and of a network card without a network; none for 0."""
    words = ["-device", "virtio-net-pci,romfile="] if number else []
    for each in range(number):
        words += ["-drive", f"if=none,id=spare{each},driver=null-co,size=64M,read-zeroes=on"]
        words += ["-device", f"nvme,drive=spare{each},serial=spare{each}"]
    return words


def kill(pid):
    """SIGKILL a process and wait until its resources are free, a tap included."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        if not select.select([process], [], [], 10)[0]:
            raise LabError(f"The process {pid} did not end within 10 s of SIGKILL.")
    finally:
        os.close(process)


def _words(pid):
    """Return the command line of PID as a list of texts; empty if there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def is_foreign(pid, state):
    """True for a QEMU whose disks are not in the directory STATE."""
    words = _words(pid)
    return "qemu-system" in words[0] and not any(f"file={state}/" in word for word in words) if words else False


class Machine:
    """One node's QEMU process, known by files NAME.* in the lab's state directory."""

    def __init__(self, state, node):
        self.state = pathlib.Path(state)
        self.node = node
        self.disk = self.state / f"{node['name']}.raw"
        self.data = self.state / f"{node['name']}.data.raw"
        self.serial = self.state / f"{node['name']}.serial.log"
        self._pidfile = self.state / f"{node['name']}.pid"

    def pid(self):
        """Return the pid of the running QEMU, or None; the pid may belong to another process by now."""
        try:
            pid = json.loads(self._pidfile.read_text(encoding="utf-8"))["pid"]
        except (OSError, ValueError):
            return None
        return pid if any(f"file={self.disk}," in word for word in _words(pid)) else None

    def start(self, netns, memory_mib, cpus, spare=0):
        """Start the node cold: BIOS, boot loader, default kernel."""
        if self.pid():
            raise LabError(f"The node {self.node['name']} is running already (pid {self.pid()}).")
        # QEMU runs in the state directory: the path of a unix socket must be short.
        argv = ["ip", "netns", "exec", netns, *machine(memory_mib, cpus), *root_disk(self.disk),
                *data_disk(self.data), *spare_devices(spare),
                "-netdev", f"tap,id=net,ifname={self.node['tap']},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=net,mac={self.node['mac']},romfile=",
                "-chardev", f"file,id=serial,path={self.serial},append=on", "-serial", "chardev:serial",
                "-qmp", f"unix:{self.node['name']}.qmp,server=on,wait=off"]  # fmt: skip
        said = self.state / f"{self.node['name']}.qemu.log"
        with said.open("ab") as log:
            process = subprocess.Popen(argv, cwd=self.state, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)  # fmt: skip
        self._pidfile.write_text(json.dumps({"pid": process.pid}), encoding="utf-8")
        time.sleep(0.5)  # long enough for QEMU to refuse its arguments
        if process.poll() is not None:
            last = (said.read_text(encoding="utf-8", errors="replace").splitlines() or ["nothing"])[-1]
            raise LabError(f"QEMU for {self.node['name']} ended at once with {process.returncode}, saying: {last}")
        say(f"{self.node['name']} started (pid {process.pid})")

    def kill(self):
        """Cut the node's power. Returns False if it did not run."""
        pid = self.pid()
        if pid is None:
            return False
        kill(pid)
        return True
