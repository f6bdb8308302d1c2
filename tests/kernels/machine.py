"""Boot a stock kernel in QEMU, let it fill frames and jump into a patched kernel, and read what that one says."""

import pathlib
import re
import subprocess
import tempfile
import threading

from lab.paths import REPO

HERE = pathlib.Path(__file__).resolve().parent
SUMS = REPO / "files" / "sums" / "kup_sums.c"
MEMORY_MB = 1024
# Seconds for both kernels together, on a machine that does other work beside.
LIMIT = 3600
# TCG's cmpxchg16b corrupts flags.
CPU_WITHOUT = "-cx16"


def build_init(into, sources=(HERE / "init.c",)):
    """Compile the test machine's only program."""
    flags = ["-O2", "-static", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["nice", "-n", "19", "gcc", *flags, "-o", str(into), *map(str, sources)], check=True)


def build_sums(into):
    """Compile the library that sums up what kexec(8) loads, so that it can be told to spoil a byte afterwards (flip.h)."""
    define, call = "/* Stands before the C library's own", "\tresult = call(number, argument);\n"
    source, flip = SUMS.read_text(encoding="utf-8"), (HERE / "flip.h").read_text(encoding="utf-8")
    if source.count(define) != 1 or source.count(call) != 1:
        raise RuntimeError(f"{SUMS} has not the two places that are looked for in it.")
    arguments = "(uint64_t)argument[0], (size_t)argument[1], (struct segment *)argument[2]"
    source = source.replace(define, flip + define)
    source = source.replace(call, f"\tif (regions)\n\t\tkuptest_flip({arguments});\n{call}")
    flags = [
        "-D_GNU_SOURCE",
        "-O2",
        "-fPIC",
        "-shared",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{SUMS.parent}",
        "-x",
        "c",
        "-",
    ]
    subprocess.run(["gcc", "-o", str(into), *flags], input=source, text=True, check=True)


def _member(name, mode, content):
    """One file of a cpio archive (newc)."""
    fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


def archive(members):
    """A cpio archive of (name, mode, content)."""
    return b"".join(_member(*member) for member in [*members, ("TRAILER!!!", 0, b"")])


def _skeleton(init):
    directories = [(name, 0o040755, b"") for name in ("proc", "sys", "dev", "lib64", "lib", "lib/x86_64-linux-gnu")]
    # Made by the kernel itself only after init is started.
    return [*directories, ("init", 0o100755, init.read_bytes())]


def _kexec():
    """The host's kexec(8) with the libraries that it needs."""
    program = "/sbin/kexec"
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    libraries = [pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", said)]
    yield "kexec", 0o100755, pathlib.Path(program).read_bytes()
    for path in libraries:
        yield str(path).lstrip("/"), 0o100755, path.read_bytes()


def jump(kernels, init, words, cpu="max", processors=1, memory_mb=MEMORY_MB, devices=(), is_counted=False):
    """Start the first of the kernels, which jumps into the next, and so on.

    :param kernels: (image, files for its root directory) of each; from the second on, patched ones.
    :param words: of the first kernel's command line, for the program.
    :param devices: more words for QEMU.
    :param is_counted: time in the machine is its instructions, a nanosecond each: the same on every host.
    :returns: (what was said: key → value, with lists for "log", "warning" and "failed"; the console as text).
    """
    threads = "single" if is_counted else "multi"
    following = ()
    for image, files in reversed(kernels):
        extra = [(path.name, 0o100600, path.read_bytes()) for path in files]
        initrd = archive([*_skeleton(init), *extra, *following])
        following = (*_kexec(), ("kernel", 0o100600, image.read_bytes()), ("initrd", 0o100600, initrd))
    with tempfile.TemporaryDirectory(prefix="kup-kernels-") as scratch:
        first = pathlib.Path(scratch) / "initrd"
        first.write_bytes(initrd)
        command = [
            *("nice", "-n", "19", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"),
            *("-accel", f"tcg,thread={threads},tb-size=256", "-cpu", f"{cpu},{CPU_WITHOUT}"),
            *(("-icount", "shift=0,sleep=off") if is_counted else ()),
            *("-smp", str(processors), "-m", str(memory_mb), "-no-reboot", *devices),
            *("-serial", "stdio", "-kernel", str(kernels[0][0]), "-initrd", str(first)),
            *("-append", " ".join(["console=ttyS0", "panic=-1", "quiet", *words])),
        ]
        return _converse(command)


def _converse(command):
    """Run the machine and gather what it says."""
    said, text = {"log": [], "warning": [], "failed": []}, []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    timer = threading.Timer(LIMIT, process.kill)
    timer.start()
    try:
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip()
            text.append(line)
            found = re.search(r"KUPTEST (\S+) ?(.*)", line)
            if not found:
                continue
            key, value = found.groups()
            if isinstance(said.get(key), list):
                said[key].append(value)
            else:
                said[key] = value
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    return said, "\n".join(text)
