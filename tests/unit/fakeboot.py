"""A boot that restores, in namespaces: systemd itself starts the units of a boot plan; only CRIU and what would change the machine are fakes.

    fakeboot.py CASE    in namespaces of its own, see `BEGIN`; CASE is JSON, see `main`; prints the end as JSON

systemd runs as a user's manager, which needs no machine of its own. What it reads from the machine's root is in the root of a `FakeNode`.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from fakenode import OLD, SCRIPTS, FakeNode

from ansible_collections.kup.fleet.plugins.module_utils._system import unit_templates
from ansible_collections.kup.fleet.plugins.module_utils._update import boot_units

#: Words of a command that runs this program.
BEGIN = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh", "-ec")
#: The shell's script: a control group tree for systemd, whatever the machine has, and an empty /run.
PREPARE = """
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
group=/sys/fs/cgroup/kup-fakeboot-$$-$(cut -c 1-8 /proc/sys/kernel/random/uuid)
mkdir "$group"
echo $$ >"$group/cgroup.procs"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/rt/systemd
chmod 700 /run/rt
export XDG_RUNTIME_DIR=/run/rt XDG_CONFIG_HOME=/run/config
code=0
"$@" || code=$?
kill -KILL -1 || :
echo $$ >/sys/fs/cgroup/cgroup.procs
# Not before all that it had has ended.
until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; do sleep 0.1; done
exit $code
"""
ROOT = pathlib.Path("/run/node")
SYSINIT = "sysinit.target"
MANAGER = "/lib/systemd/systemd"
PATIENCE = 60

CRIU = """#!/bin/sh
images={root}/var/lib/kup/images/update/1-$1
/usr/bin/sleep "$3"
case $2 in
restored | crashes)
    /usr/bin/setsid /usr/bin/sleep 1000 </dev/null >/dev/null 2>&1 &
    echo "$! run" >"{root}/var/lib/kup/boot/1/tasks-$1"
    echo $! >"{root}/run/kup/$1.pid"
    [ "$2" != crashes ] || (/usr/bin/sleep 0.5; kill -9 $!) </dev/null >/dev/null 2>&1 &
    ;;
*)
    echo "(00.1)  77: Error (criu/x.c:1): $2" >"$images/restore.log"
    exit 1
    ;;
esac
"""


def main(case):
    """Boot, wait for the end, and print it.

    CASE has ``units`` (unit → [what CRIU does: restored, crashes (after it), needs (a unit that fails), or its error; after how many
    seconds]), and optionally ``frames`` (engine ppp), ``fakes`` (command → its shell), ``values`` (of the node, see `FakeNode`) and
    ``jumps`` (the boot ends by kexec).
    """
    units = case["units"]
    node = FakeNode(ROOT, units=" ".join(units), **{"running": OLD, **case.get("values", {})})
    path = f"{ROOT}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    for name in ("dev/kmsg", "proc/sys/kernel/ns_last_pid", "proc/sys/vm/overcommit_memory"):
        node.write(name, "0\n")
    (ROOT / "bin/sleep").unlink()
    (ROOT / "bin/systemctl").write_text('#!/bin/sh\nexec /usr/bin/systemctl --user "$@"\n')
    (ROOT / "bin/criu").write_text(CRIU.format(root=ROOT))
    (ROOT / "bin/criu").chmod(0o755)
    if case.get("frames"):
        node.keep_frames()
        node.write("dev/kup_ppp")
    for command, body in case.get("fakes", {}).items():
        node.fake(command, body)
    write_units(node, units, path)
    manager = subprocess.Popen(
        [MANAGER, "--user", f"--unit={SYSINIT}"],
        env={**os.environ, "PATH": path, "SYSTEMD_LOG_TARGET": "console"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = wait(node, units, bool(case.get("jumps")))
    manager.kill()
    print(json.dumps(end))


def write_units(node, units, path):
    """The boot plan's units, and the units' own text as the operator wrote it."""
    unit_templates.UNIT_TEMPLATES = str(SCRIPTS / "units")
    own = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / "systemd/user"
    own.mkdir(parents=True)
    (own / SYSINIT).write_text("[Unit]\nDefaultDependencies=no\n")
    fails = "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/sh -c '/usr/bin/sleep 1; exit 1'\n"
    (own / "fails.service").write_text(fails)

    def put(name, text, wanted=True):
        for old, new in {
            # What a user's manager starts has the user's groups.
            "/usr/local/lib/kup/environment without-groups ": "",
            "/usr/local/lib/kup": f"{ROOT}/usr/local/lib/kup",
            "/run/kup": f"{ROOT}/run/kup",
            "=+": "=",
            "=/bin/sh ": f"=/usr/bin/env PATH={path} /bin/sh ",
            "RequiresMountsFor=": "#",
        }.items():
            text = text.replace(old, new)
        node.write_plan(f"restore/{name}", text)
        if wanted:
            wants = node.plan / f"restore/{SYSINIT}.wants"
            wants.mkdir(exist_ok=True)
            (wants / name).symlink_to(f"../{name}")

    values = {
        "HEAVIEST": "10000",
        "UNITS": " ".join(units),
        "RESTORE_TIMEOUT": "30",
        "WATCHDOG_UNITS": "",
        "SERVICES": "",
    }
    values.update({"EARLY_UNITS": "other.service", "IMAGES": "/x", "MOUNTS": "", "NOTIFY_ACCESS": "none"})
    values.update({"ON_NODE": "", "PRIVATE_TMP": "no", "IDENTIFIER": "cache"})

    def render(template, **more):
        text = (SCRIPTS / f"units/{template}.in").read_text()
        for key, value in {**values, **more}.items():
            text = text.replace(f"@{key}@", value)
        assert "@" not in text, text
        return text

    put("kup-early.service", render("kup-early.service"))
    put("kup-restore-done.service", render("kup-restore-done.service"))
    put("kup-restore-failed.service", render("kup-restore-failed.service"), wanted=False)
    for unit, (how, seconds) in units.items():
        text = f"[Unit]\nDescription={unit}\n[Service]\nExecStart=/usr/bin/sleep 2000\n"
        (own / unit).write_text(text)
        put(unit, boot_units.restored_text(text))
        command = f"{ROOT}/bin/criu {unit} '{how}' {seconds}"
        drop_in = render("restored.conf", UNIT=unit, RESTORE=command, PIDFILE=f"/run/kup/{unit}.pid")
        if how == "needs":
            drop_in = drop_in.replace("[Service]", "Requires=fails.service\nAfter=fails.service\n[Service]", 1)
        put(f"{unit}.d/zz-kup-restore.conf", drop_in, wanted=False)
    generators = pathlib.Path("/run/systemd/user-generators")
    generators.mkdir()
    (generators / "kup").write_text(
        f'#!/bin/sh\nPATH={path} exec /bin/sh {ROOT}/usr/local/lib/kup/boot/generator "$@"\n'
    )
    (generators / "kup").chmod(0o755)


def state(unit):
    """(state, type, main process) of a unit."""
    words = ["systemctl", "--user", "show", "--property=ActiveState,Type,MainPID", unit]
    found = dict(
        line.split("=", 1) for line in subprocess.run(words, check=False, capture_output=True, text=True).stdout.split()
    )
    return [found.get(key, "") for key in ("ActiveState", "Type", "MainPID")]


def wait(node, units, jumps):
    """What has come of the boot once the record says so, and all units run again or the node has left this kernel."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        time.sleep(0.2)
        states = {unit: state(unit) for unit in units}
        jumped = bool(node.called("kexec --no-sync --exec"))
        run = all(kind[:2] == ["active", "simple"] for kind in states.values())
        over = node.load()["PHASE"] in ("probation", "fell_back", "failed")
        if jumped if jumps else run and over:
            break
    pids = {unit: (ROOT / f"run/kup/{unit}.pid").read_text().strip() for unit in units if node.marked(f"{unit}.pid")}
    return {
        "record": node.load(),
        "states": states,
        "kept": sorted(unit for unit in units if pids.get(unit) == states[unit][2]),
        "jumped": jumped,
        "decision": node.decision(),
    }


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
