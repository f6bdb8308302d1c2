"""On a node under test: the steps of an update by the library that the collection has installed there, without a controller.

node.py stage ENGINE KERNEL SECONDS [UNIT...]   stage an update of patterns.service and further units, with a look at itself every so
                                many seconds on probation; ppp+foam: with a disk checkpoint
node.py prepare ENGINE SECONDS [UNIT...]    tidy, then stage an update to whichever of the machine's kernels does not run; prints, as
                                JSON, what tidy did, and that kernel
node.py switch                  start it; the chain runs on by itself
node.py commit                  keep the new kernel, or go back, as the gate's checks say
node.py tidy                    remove what an update that was undone has left; print what one could leave behind, a list in JSON
node.py wait                    until nothing of an update is under way; print where the node stands then, as JSON
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, "/usr/local/lib/kup")

from kup import _errors
from kup._boot import kernels
from kup._engines import pending_memory
from kup._update import commit as probation_end
from kup._update import gate, lock, service, staging, unit_names, watch
from kup._update import leftovers as update_leftovers
from kup._update import record as records

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
# What a node on probation judges itself by; there is a fault that makes it fail.
CHECKS = {
    "units": [UNIT],
    "ports": ["7070"],
    "commands": [{"argv": ["test", "!", "-e", "/root/faults/check-fails"]}],
    "uris": [],
    "numbers": [],
}
# The record has moved on before these have put everything back.
ENDS = ("kup-restore-done.service", "kup-restore-failed.service")
# Each look takes a good part of a second of an emulated processor, which the update needs.
PAUSE = 2
FILES = (
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/kernel/softlockup_panic",
    "/proc/sys/kernel/hardlockup_panic",
    "/proc/sys/vm/overcommit_memory",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/kexec_crash_loaded",
    "/sys/kernel/kexec_crash_size",
    "/sys/class/watchdog/watchdog0/state",
)
# Where no unit has a weight of its own, there is no such file, and all have the same.
WEIGHT, SAME = pathlib.Path(f"/sys/fs/cgroup/system.slice/{UNIT}/cpu.weight"), "100"
# What stays of a finished update: the record, the kernels, and what the report is made of.
REPORTED = {"timeline", "memory.json", "numbers.json", "checks.json", "panic.log"}
KEPT = {"record", "record.copy", "kernels", "images", *REPORTED}


def stage(engine, kernel, watch_interval, *more):
    name, _plus, disk_checkpoint = engine.partition("+")
    with lock.exclusive():
        settings = {
            **SETTINGS,
            "ENGINE": name,
            "PPP_DISK_CHECKPOINT": disk_checkpoint,
            "WATCH_INTERVAL": watch_interval,
        }
        staging.stage(kernel, [UNIT, *more], settings, initramfs="auto", owner=OWNER)
        watch.save({**CHECKS, "units": [UNIT, *more]})


def prepare(engine, watch_interval, *more):
    left = leftovers()
    kernel = next(kernel for kernel in kernels.installed() if kernel != kernels.running())
    stage(engine, kernel, watch_interval, *more)
    print(json.dumps({"facts": left, "kernel": kernel}))


def switch():
    service.start(unit_names.SWITCH, ["switch"])


def commit():
    failures, _numbers = gate.judge(**CHECKS)
    if failures:
        service.go_back(" ".join(failures))
        return
    with lock.exclusive():
        probation_end.commit()


def leftovers():
    """What an update could leave behind: a list of lines, made after what one that was undone keeps has been removed."""
    with contextlib.suppress(_errors.KupError), lock.exclusive():
        record = records.load()
        # What could not be brought back, or was cut off, is kept for a person, who has seen enough of it.
        (update_leftovers.uninstall if record["PHASE"] in ("failed", "checkpointing") else update_leftovers.clean_up)(
            record
        )
    return list(facts())


def tidy():
    print(json.dumps(leftovers()))


def said(*argv):
    return subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True).stdout.strip()


def wait():
    while (found := state())["busy"]:
        time.sleep(PAUSE)
    print(json.dumps(found))


def state():
    unit, *chain = said("systemctl", "is-active", UNIT, *unit_names.ALL, *ENDS).splitlines()
    try:
        record = records.load().as_dict()  # after that: a chain that has ended writes no more
    except _errors.KupError as error:
        record = {"phase": "unreadable", "reason": str(error), "unfinished": True}
    under_way = (
        {"active", "activating", "deactivating"} & set(chain)
        or record["phase"] in ("switching", "returning")
        or pending_memory.units()
    )
    return {
        "phase": record["phase"],
        "reason": record["reason"],
        "data": record.get("data", ""),
        "fresh": record.get("fresh_units", []),
        "unfinished": record["unfinished"],
        "unit": unit,
        "busy": bool(under_way),
    }


def facts():
    for path in FILES:
        found = pathlib.Path(path)
        yield f"{path} {found.read_text(encoding='ascii').strip() if found.exists() else 'none'}"
    yield f"weight {WEIGHT.read_text(encoding='ascii').strip() if WEIGHT.exists() else SAME}"
    yield f"tables {said('nft', 'list', 'tables')}"
    yield f"modules {'kup_ppp' in said('lsmod')}"
    yield f"units {said('systemctl', 'list-units', '--all', '--plain', '--no-legend', 'kup*')}"
    yield f"unit {said('systemctl', 'show', UNIT, '--property=Type,DropInPaths,FragmentPath,NeedDaemonReload')}"
    for directory in ("/etc/systemd", "/etc/sysctl.d", "/run/sysctl.d", "/run/kup", "/var/lib/kup/images"):
        for path in sorted(pathlib.Path(directory).rglob("*")):
            if path.name not in ("lock", "kup-fault.service"):
                yield str(path)
    for path in sorted(pathlib.Path("/var/lib/kup").iterdir()):
        if path.name not in KEPT:
            yield str(path)


def main():
    verbs = {"stage": stage, "prepare": prepare, "switch": switch, "commit": commit, "tidy": tidy, "wait": wait}
    try:
        verbs[sys.argv[1]](*sys.argv[2:])
    except _errors.KupError as error:
        sys.exit(f"refused: {error}")


if __name__ == "__main__":
    main()
