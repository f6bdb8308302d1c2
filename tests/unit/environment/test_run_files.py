"""Files in memory: what a unit uses is found, recorded while it is frozen, and made anew by the environment program."""

import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import run_files, trees
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process

PROGRAM = pathlib.Path(__file__).parents[3] / "files/environment"

# What an application may do with such files, each in a directory of its own.
APPLICATION = """
import ctypes, mmap, os, socket, sys
base = sys.argv[1]
for name in ("opened", "fifo", "bound", "work", "mapped", "deleted", "watched"):
    os.makedirs(f"{base}-{name}/deep")
opened = open(f"{base}-opened/deep/a b", "w")
opened.write("content"); opened.flush()
open(f"{base}-opened/closed.pid", "w").write(str(os.getpid()))
os.symlink("closed.pid", f"{base}-opened/link")
os.mkfifo(f"{base}-fifo/deep/commands", 0o620)
fifo = os.open(f"{base}-fifo/deep/commands", os.O_RDWR)
bound = socket.socket(socket.AF_UNIX)
bound.bind(f"{base}-bound/deep/socket")
with open(f"{base}-mapped/deep/m", "wb+") as file:
    file.write(b"m" * 4096); file.flush()
    memory = mmap.mmap(file.fileno(), 4096)
deleted = open(f"{base}-deleted/deep/gone", "w")
os.unlink(f"{base}-deleted/deep/gone")
libc = ctypes.CDLL(None)
watches = libc.inotify_init()
assert libc.inotify_add_watch(watches, f"{base}-watched/deep".encode(), 2) == 1
os.chdir(f"{base}-work/deep")
os.chmod(f"{base}-work", 0o2711)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def base():
    """The beginning of the names of directories that are the test's."""
    base = f"/dev/shm/kup-test-{os.getpid()}"
    yield base
    for path in pathlib.Path("/dev/shm").glob(f"{os.path.basename(base)}*"):
        subprocess.run(["rm", "-rf", path], check=True)


@pytest.fixture
def unit(base, monkeypatch):
    process = subprocess.Popen(
        [sys.executable, "-c", APPLICATION, base], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    monkeypatch.setattr(run_files, "show", lambda name, *properties: {"PIDFile": "", "RuntimeDirectory": ""})
    monkeypatch.setattr(run_files.processes, "in_cgroup", lambda path: [Process(process.pid)])
    monkeypatch.setattr(run_files.tmpfiles, "configuration", lambda: [])
    yield types.SimpleNamespace(name="a.service", cgroup="/a", processes=[Process(process.pid)], own_mounts=False)
    process.kill()
    process.communicate()


NAMES = {"opened", "fifo", "bound", "work", "mapped", "deleted", "watched"}


def ours(paths, base):
    return {path[len(base) + 1 :] for path in paths if path.startswith(base)}


def test_everything_that_a_unit_uses_is_found(unit, base):
    use = run_files.find(unit)
    assert ours(use.tops, base) == NAMES
    assert ours(use.needed, base) == {
        *(f"{name}{deep}" for name in NAMES for deep in ("", "/deep")),
        *("opened/deep/a b", "fifo/deep/commands", "mapped/deep/m"),
    }


def test_sizes_are_told_beforehand(unit, base):
    use = run_files.find(unit)
    use.tops = {top for top in use.tops if top.startswith(base)}
    count, size = run_files.survey([use])
    assert (count, size) == (19, len("content") + 4096 + len(str(unit.processes[0].pid)))


def plan_of(unit, tmp_path):
    plans = Plans(f"{tmp_path}/environment")
    run_files.RunFiles([unit]).put_plan(plans, str(tmp_path))
    return (tmp_path / "environment/2-files.plan").read_text()


def test_the_environment_program_makes_all_of_it_anew(unit, base, tmp_path):
    (pathlib.Path(f"{base}-work") / "named").touch()
    os.utime(f"{base}-work/named", ns=(5, 1700000000123456789))
    text = plan_of(unit, tmp_path)
    assert f"file required a.service {base}-opened/deep/a%20b 644 " in text
    assert f"file optional a.service {base}-opened/closed.pid 644 " in text
    subprocess.run(["make", "-s", "-C", PROGRAM, f"OUT={tmp_path}/program"], check=True)
    for path in ("root/dev/shm", "root/run", "root/tmp", "run"):
        (tmp_path / path).mkdir(parents=True)
    steps = [line for line in text.splitlines() if base in line]
    ours_only = tmp_path / "environment/ours.plan"
    ours_only.write_text("\n".join(["kup-environment 1", *steps]) + "\n")
    ours_only.chmod(0o600)
    apply = [
        tmp_path / "program/environment",
        "apply",
        "--root",
        tmp_path / "root",
        "--run",
        tmp_path / "run",
        ours_only,
    ]
    subprocess.run(apply, check=True)
    for path in pathlib.Path("/dev/shm").rglob(f"{os.path.basename(base)}*/**/*"):
        made = tmp_path / "root" / path.relative_to("/")
        was, now = path.lstat(), made.lstat() if os.path.lexists(made) else None
        if stat.S_ISSOCK(was.st_mode):
            assert now is None
            continue
        assert (now.st_mode, now.st_uid, now.st_gid, now.st_size if path.is_file() else 0) == (
            *(was.st_mode, was.st_uid, was.st_gid),
            was.st_size if path.is_file() else 0,
        ), path
        if stat.S_ISREG(was.st_mode):
            assert made.read_bytes() == path.read_bytes()
            assert now.st_mtime_ns == was.st_mtime_ns
    assert (tmp_path / f"root{base}-work").stat().st_mode & 0o7777 == 0o2711
    assert os.readlink(tmp_path / f"root{base}-opened/link") == "closed.pid"


def test_what_is_opened_in_the_freeze_is_found_too(unit, base, tmp_path, monkeypatch):
    files = run_files.RunFiles([unit])
    os.mkdir(f"{base}-late")
    late = types.SimpleNamespace(path="/nowhere", pid=1, descriptors=lambda: [(3, f"{base}-late/f"), (4, "socket:[7]")])
    monkeypatch.setattr(run_files.processes, "in_cgroup", lambda path: [late])
    files.put_plan(Plans(f"{tmp_path}/environment"), str(tmp_path))
    assert f"directory required a.service {base}-late 755" in (tmp_path / "environment/2-files.plan").read_text()


def test_what_has_grown_out_of_bounds_is_not_copied(unit, base, tmp_path, monkeypatch):
    monkeypatch.setattr(run_files, "BYTES_MAX", 1000)
    with pytest.raises(KupError, match=r"^a\.service: its files in memory .* remove what it does not need\.$"):
        plan_of(unit, tmp_path)


def test_no_link_of_an_application_is_followed(unit, base, tmp_path):
    os.rename(f"{base}-mapped/deep", f"{base}-mapped/moved")
    os.symlink("/etc", f"{base}-mapped/deep")
    os.rename(f"{base}-work", f"{base}-moved")
    os.symlink("/etc", f"{base}-work")
    text = plan_of(unit, tmp_path)
    assert "passwd" not in text
    assert f"symlink optional a.service {base}-mapped/deep 0 0 /etc" in text or "symlink required" in text


def test_what_lies_on_another_file_system_is_left_out(base):
    os.mkdir(base)
    use = run_files.Use()
    use.add(f"{base}/x")
    assert [path for path, _status, _parent in trees.walk(base)] == [base]
    assert use.tops == {base}
    assert use.needed == {base, f"{base}/x"}


def test_links_on_the_way_travel(base):
    os.mkdir(f"{base}-real")
    os.symlink(f"{os.path.basename(base)}-real", f"{base}-link")
    use = run_files.Use()
    use.add(f"{base}-link/x/../socket")
    assert use.tops == {f"{base}-link", f"{base}-real"}
    assert use.needed == {f"{base}-link", f"{base}-real", f"{base}-real/socket"}


@pytest.mark.parametrize("path", ["/run/systemd/x", "/run/udev", "/run/user/0/x"])
def test_what_is_the_boot_s_own_does_not_travel(path):
    use = run_files.Use()
    use.add(path)
    assert (use.tops, use.elsewhere) == (set(), {path})


@pytest.mark.parametrize("path", ["/", "/run", "/run/lock", "/var/lib/x", "/runner/x", "/dev/null"])
def test_other_paths_mean_nothing_here(path):
    use = run_files.Use()
    use.add(path)
    assert use == run_files.Use()


def test_a_pid_file_directly_in_a_base_is_recognised(base):
    pathlib.Path(base).write_text(" 123\n")
    assert run_files._pid_in(base, os.lstat(base)) == b"123"
    os.symlink(base, f"{base}-link")
    assert run_files._pid_in(f"{base}-link", os.lstat(f"{base}-link")) == b""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{base}-socket")
    assert run_files._pid_in(f"{base}-socket", os.lstat(f"{base}-socket")) == b""


def write(path, text=""):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_directories_are_looked_into_to_a_depth_and_links_are_not_followed(base):
    write(f"{base}/a/b/c/d")
    os.symlink(f"{base}/a", f"{base}/link")
    assert {path for path, _status, _parent in run_files._near(base, 2)} == {
        f"{base}/{name}" for name in ("a", "a/b", "link")
    }
    assert list(run_files._near(f"{base}/gone", 2)) == []
    assert not [path for path, _status, _parent in run_files._near("/run", 2) if path.startswith("/run/systemd/")]


@pytest.mark.parametrize(
    ("pid", "user", "is_found"), [(123, 0, True), (124, 0, False), (124, os.getuid() or 65534, True)]
)
def test_a_pid_file_in_a_directory_of_root_travels_and_so_do_files_of_the_user(base, monkeypatch, pid, user, is_found):
    write(f"{base}/apache2/apache2.pid", f"{pid}\n")
    if user:
        os.chown(f"{base}/apache2/apache2.pid", user, -1)
    near = run_files._near
    monkeypatch.setattr(run_files, "BASES", ("/run",))
    monkeypatch.setattr(run_files, "_near", lambda place, *rest: near(base if place == "/run" else place, *rest))
    process = types.SimpleNamespace(pid=123, status=lambda name: f"{user} {user} {user} {user}")
    use = run_files.Use()
    run_files._of_pids_and_users(types.SimpleNamespace(processes=[process]), use)
    assert use.tops == ({base} if is_found else set())


@pytest.fixture
def shared_memory(monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        near = run_files._near
        monkeypatch.setattr(run_files, "_ROOTS_BASES", ("/dev/shm",))
        monkeypatch.setattr(
            run_files, "_near", lambda place, *rest: near(place, *rest) if place != "/dev/shm" else near(folder, *rest)
        )
        monkeypatch.setattr(run_files.Use, "add", lambda self, path, needed: self.tops.add(os.path.basename(path)))
        yield folder


@pytest.mark.parametrize(("user", "own_mounts", "expected"), [
    (0, False, {"closed"}), (0, True, set()), (os.getuid() or 65534, False, set()),
])  # fmt: skip
def test_a_unit_of_root_keeps_what_root_has_there_and_nothing_large(shared_memory, user, own_mounts, expected):
    write(f"{shared_memory}/closed/inner/state", "x")
    write(f"{shared_memory}/.X11-unix/X0")
    write(f"{shared_memory}/large", "x" * (run_files._ROOTS_BYTES + 1))
    for number in range(run_files._ROOTS_OBJECTS + 1):
        write(f"{shared_memory}/many/{number}")
    write(f"{shared_memory}/of-others")
    os.chown(f"{shared_memory}/of-others", 65534, -1)
    process = types.SimpleNamespace(pid=123, status=lambda name: f"{user} {user} {user} {user}")
    use = run_files.Use()
    run_files._of_root(types.SimpleNamespace(processes=[process], own_mounts=own_mounts), use)
    assert use.tops == expected


ROWS = (
    "22 1 0:20 / /run rw,nosuid - tmpfs tmpfs rw,size=9k,mode=755",
    "23 22 0:21 / /run/lock rw,nosuid,noexec - tmpfs tmpfs rw,size=5120k,inode64",
    "24 1 8:1 / /tmp rw - ext4 /dev/sda rw",
)


@pytest.mark.parametrize(
    ("rows", "memory", "mounts"),
    [
        (ROWS, {"/run/a", "/run/lock/b"}, [(("/run/lock", "noexec,size=5120k"), False)]),
        (ROWS[:1], {"/run/a", "/run/lock/b"}, []),
        (
            (*ROWS, "25 24 0:22 / /tmp rw - tmpfs tmpfs rw,size=50%"),
            {"/run/a", "/run/lock/b", "/tmp/c"},
            [
                (("/run/lock", "noexec,size=5120k"), False),
                (("/tmp", "size=50%"), True),
            ],
        ),
    ],
)
def test_which_bases_are_in_memory(monkeypatch, rows, memory, mounts):
    monkeypatch.setattr(run_files.mountinfo, "read_lines", lambda path: list(rows))
    use = run_files.Use(needed={"/run/a", "/tmp/c"}, tops={"/run/a", "/run/lock/b", "/tmp/c"})
    found = run_files._Memory()
    assert found.tops(use) == memory
    assert list(found.mounts(use, False)) == mounts
    # A unit with mounts of its own sees all of them, whatever it uses.
    assert list(found.mounts(run_files.Use(), True)) == [(words, False) for words, _required in mounts]
    assert list(found.mounts(run_files.Use(), False)) == []


def test_what_many_processes_use_is_looked_up_once(monkeypatch):
    counts, known, use = [0], set(), run_files.Use()
    monkeypatch.setattr(run_files, "_resolve", lambda path: counts.append(counts[-1] + 1) or (path, []))
    run_files._of_process(Process(os.getpid()), {}, use, False, known)
    of_one = counts[-1]
    for _number in range(20):
        run_files._of_process(Process(os.getpid()), {}, use, False, known)
    assert counts[-1] == of_one > 0
