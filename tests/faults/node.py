"""On a node under test: the steps of an update by the library that the collection has installed there, without a controller.

node.py stage ENGINE KERNEL SECONDS     stage an update of patterns.service, with a look at itself every so many seconds on trial;
                                ppp+foam: with a backstop on the disk
node.py switch                  start it; the chain runs on by itself
node.py commit | clean          keep the new kernel; remove what an update that was undone has left
node.py state                   print where the node stands, as JSON
node.py facts                   print what an update could leave behind, a line each
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, "/usr/local/lib/kup")

from kup import _chain, _errors, _flow, _kernels, _lock, _record, _transaction, _watch

UNIT = "patterns.service"
OWNER = os.environ.get("KUP_OWNER", "faults")
SETTINGS = {
    "FREEZE_TARGET": "0.3",
    "ROUNDS_MAX": "2",
    "PPP_BIND": "lazy",
    "IMAGES": "/var/lib/kup/images",
    "RESTORE_TIMEOUT": "120",
    "COMMIT_TIMEOUT": "900",
}
# What a node on trial judges itself by; there is a fault that makes it fail.
CHECKS = {
    "units": [UNIT],
    "ports": ["7070"],
    "commands": [{"argv": ["test", "!", "-e", "/root/faults/check-fails"]}],
    "uris": [],
    "numbers": [],
}
FILES = (
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/kernel/softlockup_panic",
    "/proc/sys/kernel/hardlockup_panic",
    "/proc/sys/vm/overcommit_memory",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/kexec_crash_loaded",
    "/sys/kernel/kexec_crash_size",
    f"/sys/fs/cgroup/system.slice/{UNIT}/cpu.weight",
)
# What stays of a finished update: the record, the kernels, and what the report is made of.
KEPT = {"record", "timeline", "memory.json", "numbers.json", "checks.json", "panic.log", "kernels", "images"}


def stage(engine, kernel, watch_interval):
    name, _plus, backstop = engine.partition("+")
    with _lock.exclusive():
        settings = {**SETTINGS, "ENGINE": name, "PPP_BACKSTOP": backstop, "WATCH_INTERVAL": watch_interval}
        _transaction.stage(kernel, [UNIT], settings, initramfs="auto", owner=OWNER)
        _watch.keep(CHECKS)


def switch():
    _chain.start(_chain.SWITCH, ["switch"])


def commit():
    with _lock.exclusive():
        _transaction.commit()


def clean():
    with _lock.exclusive():
        record = _record.load()
        # What could not be brought back is kept for a person, who has seen enough of it.
        (_transaction.forget if record["PHASE"] == "failed" else _transaction.clean_up)(record)


def said(*argv):
    return subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True).stdout.strip()


def state():
    try:
        record = _record.load().as_dict()
    except _errors.KupError as error:
        record = {"phase": "unreadable", "reason": str(error), "unfinished": True}
    found = {
        "kernel": _kernels.running(),
        "phase": record["phase"],
        "reason": record["reason"],
        "data": record.get("data", ""),
        "unfinished": record["unfinished"],
        "flowing": _flow.units(),
        "chain": [unit for unit in _chain.UNITS if said("systemctl", "is-active", unit) in ("active", "activating")],
        "unit": said("systemctl", "is-active", UNIT),
        "booted": said("systemctl", "is-system-running"),
    }
    print(json.dumps(found))


def facts():
    for path in FILES:
        found = pathlib.Path(path)
        print(path, found.read_text(encoding="ascii").strip() if found.exists() else "none")
    print("tables", said("nft", "list", "tables"))
    print("modules", "kup_ppp" in said("lsmod"))
    print("units", said("systemctl", "list-units", "--all", "--plain", "--no-legend", "kup*"))
    print("unit", said("systemctl", "show", UNIT, "--property=Type,DropInPaths,FragmentPath,NeedDaemonReload"))
    for directory in ("/etc/systemd", "/etc/sysctl.d", "/run/sysctl.d", "/run/kup", "/var/lib/kup/images"):
        for path in sorted(pathlib.Path(directory).rglob("*")):
            if path.name not in ("lock", "kup-fault.service"):
                print(path)
    for path in sorted(pathlib.Path("/var/lib/kup").iterdir()):
        if path.name not in KEPT:
            print(path)


def main():
    verbs = {"stage": stage, "switch": switch, "commit": commit, "clean": clean, "state": state, "facts": facts}
    try:
        verbs[sys.argv[1]](*sys.argv[2:])
    except _errors.KupError as error:
        sys.exit(f"refused: {error}")


if __name__ == "__main__":
    main()
