"""On a node: look.py UNIT...; prints JSON: what can be seen of each process of these units, by pid."""

import contextlib
import json
import os
import pathlib
import re
import sys

# A file that never had a name was opened with O_TMPFILE; CRIU opens it as one whose name is gone.
_TMPFILE = os.O_TMPFILE
GROUPS = pathlib.Path("/sys/fs/cgroup/system.slice")
# proc_pid_status(5): what neither time nor work changes.
STATUS = [
    "Name",
    "Umask",
    "Tgid",
    "NStgid",
    "Uid",
    "Gid",
    "Groups",
    "SigBlk",
    "SigIgn",
    "SigCgt",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
    "THP_enabled",
    "CoreDumping",
    "Mems_allowed_list",
]
FILES = [
    "cmdline",
    "environ",
    "oom_score_adj",
    "timerslack_ns",
    "coredump_filter",
    "limits",
    "cgroup",
    "personality",
    "loginuid",
]
# proc_pid_stat(5), counted from the state.
STAT = {
    "parent": 1,
    "group": 2,
    "session": 3,
    "terminal": 4,
    "priority": 15,
    "nice": 16,
    "rt_priority": 37,
    "policy": 38,
}


def _text(path):
    return path.read_text(encoding="utf-8", errors="backslashreplace")


def _descriptors(process):
    """Yield what each open descriptor leads to, and its flags."""
    for link in sorted((process / "fd").iterdir(), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            # Inode numbers of sockets and pipes are another boot's.
            target = re.sub(r"(socket|pipe):\[\d+\]", r"\1", os.readlink(link))
            flags = re.search(r"^flags:\s+(\d+)", _text(process / "fdinfo" / link.name), re.M)
            yield f"fd {link.name}", f"{target} {int(flags[1], 8) & ~_TMPFILE if flags else 0:o}"


def seen(pid):
    """Return {what: value} of a process."""
    process = pathlib.Path("/proc", str(pid))
    fields = dict(line.split(":", 1) for line in _text(process / "status").splitlines())
    found = {name: fields[name].split() for name in STATUS if name in fields}
    for name in FILES:
        with contextlib.suppress(OSError):
            found[name] = _text(process / name)
    stat = _text(process / "stat").rpartition(")")[2].split()
    found |= {name: stat[place] for name, place in STAT.items()}
    found |= {name: os.readlink(process / name) for name in ("cwd", "root", "exe")}
    # Not Cpus_allowed_list: older kernels count processors there that do not exist yet.
    found["affinity"] = sorted(os.sched_getaffinity(int(pid)))
    found |= dict(_descriptors(process))
    return found


def main():
    found = {}
    for unit in sys.argv[1:]:
        for group in (GROUPS / unit).rglob("cgroup.procs"):
            for pid in _text(group).split():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    found[pid] = seen(pid)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
