# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The systemd units of a boot plan. Their texts are the templates in files/node/units."""

from __future__ import annotations

import os
import re
import shutil

from .._boot import panic
from .._environment import filter_services, ifupdown
from .._files import as_bytes, make_directory
from .._paths import RUN
from .._run import run
from .._system import mountinfo
from .._system.unit_templates import render
from .._system.units import HEAVIEST, definition, show
from . import private_tmp

# What a unit's own text lacks while it is restored. All of it is back after the daemon-reload that ends the restore.
# It would order the unit into the late boot, or tie it to units that come later:
_ORDERING = "After|Before|Requisite|PartOf|DefaultDependencies|JoinsNamespaceOf"
# it would keep the unit from being restored, end it before who needs it is there, or do something else than go back when the restore fails:
_CONDITIONS = r"Condition\w+|Assert\w+|OnFailure|OnSuccess|StartLimit\w+|RequiresMountsFor|WantsMountsFor"
_CONDITIONS += r"|FailureAction|SuccessAction|JobTimeout\w+|JobRunningTimeout\w+|StopWhenUnneeded"
# it would start the application afresh, in its own way, or end it by a time that counts from its start:
_EXECUTION = r"Exec(Condition|Start|Stop|Reload)\w*|Type|PIDFile|Restart\w*|TimeoutStartSec|TimeoutSec|StandardInput|StandardOutput"
_EXECUTION += "|StandardError|WatchdogSec|NotifyAccess|GuessMainPID|RuntimeMaxSec|RemainAfterExit"
# it would reach programs that run as root: a library to load first, another PATH, a file that the application may write;
_EXECUTION += r"|Environment\w*|PassEnvironment|UnsetEnvironment|ExecSearchPath"
# and it would set the memory limits and weights of the restore by another name.
_RESOURCES = r"Memory(Max|High|Limit)|Startup\w+"
_DROPPED = re.compile(rf"^\s*({_ORDERING}|{_CONDITIONS}|{_EXECUTION}|{_RESOURCES})\s*=")

# Units that this one brings with it are still started, in their own time: nobody else may.
_BRINGS = re.compile(r"^(\s*)(Requires|BindsTo|Upholds)(?=\s*=)")

# For commands of a unit with mounts of its own: into the node's mount namespace.
_ON_NODE = "/usr/bin/nsenter --mount=/proc/1/ns/mnt -- "

_SYSINIT = "sysinit.target"

# systemd reads drop-ins of the same name from the first of its unit paths only (systemd.unit(5)). The boot plan's own come after these.
_BEFORE_PLAN = ("/etc/systemd/system.control/", "/run/systemd/system.control/", "/run/systemd/transient/")
# The names of the boot plan's own drop-ins for a restored unit.
_OWN_DROP_INS = re.compile(r"kup-ahead\.conf|zz-kup-.*")
# Unit files that end with this boot, though a unit runs by them: of systemd-run, `systemctl edit --runtime` and
# `systemctl set-property --runtime`. Generators write theirs again.
_OF_THIS_BOOT = re.compile(r"/run/systemd/(transient|system\.control|system)/.+")

# What `systemctl show` says of ExecStart=.
_COMMAND = re.compile(r"\{ path=(/\S+) ; ")

# The restore itself waits for these, and mounts need the targets.
_NEEDED = ("systemd-remount-fs.service", "local-fs.target", "local-fs-pre.target", "swap.target")


def write(directory, checkpoints, record, network_is_ours, mounts):
    """Write all units of the boot plan in ``directory``.

    :param checkpoints: one of each unit, as the engine makes them.
    :param record: the `Record`, for the time limits of the restore and the commit.
    :param network_is_ours: the early boot brings up all interfaces of the saved connections.
    :param mounts: dict unit → places of the file systems that it uses; they wait for udev.
    """
    restore, pages, probation = (_Folder(f"{directory}/{name}") for name in ("restore", "pages", "probation"))
    others = _early_units()
    _early(restore, others)
    # All packets wait for the last unit: where one needs udev, the others would only keep it waiting.
    waits = any(mounts.values()) or any(_waits_for_tmp(each.unit) for each in checkpoints)
    is_ahead = network_is_ours and not waits
    restore.put_drop_in(
        "device", "kup-restoring.conf", render("restoring-device.conf", RESTORE_TIMEOUT=record["RESTORE_TIMEOUT"])
    )
    for checkpoint in checkpoints:
        for name, text in checkpoint.services().items():
            pages.put(name, text)
        needed = mounts.get(checkpoint.unit.name, [])
        _restored(restore, checkpoint, record["RESTORE_TIMEOUT"], needed)
        _keep(f"{directory}/systemd", checkpoint.unit)
        if is_ahead and _on_root(os.path.dirname(checkpoint.directory)):
            _ahead(f"{directory}/ahead", checkpoint.unit.name, others)
    for services in (filter_services, ifupdown):
        for name, text in services.drop_ins().items():
            restore.put_drop_in(name, services.DROP_IN, text)
            # The service may come after the daemon-reload that ends the restore.
            _Folder(f"{directory}/systemd/system").put_drop_in(name, services.DROP_IN, text)
    units = " ".join(checkpoint.unit.name for checkpoint in checkpoints)
    restore.put(
        "kup-restore-done.service", render("kup-restore-done.service", UNITS=units, HEAVIEST=HEAVIEST), _SYSINIT
    )
    restore.put("kup-restore-failed.service", render("kup-restore-failed.service"))
    # Until the restore is done only.
    after = units if os.cpu_count() == 1 else "kup-early.service"
    restore.put_drop_in("kup-crash.service", "restoring.conf", render("crash-restoring.conf", AFTER=after))
    probation.put("kup-crash.service", render("kup-crash.service"), _SYSINIT)
    probation.put("kup-shutdown.service", render("kup-shutdown.service", UNITS=units), _SYSINIT)
    _deadline(probation, record["COMMIT_TIMEOUT"])
    if int(record["WATCH_INTERVAL"] or 0):
        _watch(probation, record["WATCH_INTERVAL"])


class _Folder:
    """A folder of unit files, laid out as systemd wants it."""

    def __init__(self, path):
        self._path = path
        make_directory(path)

    def put(self, name, text, wanted_by=None):
        """Write the unit ``name``.

        :param wanted_by: the target that starts it.
        """
        path = f"{self._path}/{name}"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "wb") as stream:
            stream.write(as_bytes(text))
        if wanted_by:
            make_directory(f"{self._path}/{wanted_by}.wants")
            os.symlink(f"../{name}", f"{self._path}/{wanted_by}.wants/{name}")

    def put_drop_in(self, unit, name, text):
        """Write the drop-in ``name`` of ``unit``."""
        make_directory(f"{self._path}/{unit}.d")
        self.put(f"{unit}.d/{name}", text)

    def hide_drop_in(self, unit, name):
        """Have systemd read nothing in the place of the unit's own drop-in ``name``."""
        make_directory(f"{self._path}/{unit}.d")
        os.symlink("/dev/null", f"{self._path}/{unit}.d/{name}")


def _early_units():
    """Units that systemd starts early too: all of them, mounts excepted, can wait for the applications."""
    listed = run(["systemctl", "list-dependencies", "--plain", "--no-legend", _SYSINIT]).stdout.split()
    kinds = (".service", ".target")
    return sorted({name for name in listed if name.endswith(kinds) and name not in _NEEDED})


def _early(folder, others):
    watchdogs = " ".join(f"modprobe@{driver}.service" for driver in panic.watchdog_drivers())
    text = render("kup-early.service", EARLY_UNITS=" ".join(others), WATCHDOG_UNITS=watchdogs)
    folder.put("kup-early.service", text, _SYSINIT)
    folder.put_drop_in("system-modprobe.slice", "kup-restoring.conf", render("modprobe-restoring.conf"))


def _restored(folder, checkpoint, timeout, mounts):
    unit = checkpoint.unit
    pidfile = f"{RUN}/{unit.name}.pid"
    text = render(
        "restored.conf",
        UNIT=unit.name,
        RESTORE=" ".join(checkpoint.restore_command(pidfile)),
        PIDFILE=pidfile,
        RESTORE_TIMEOUT=timeout,
        SERVICES=" ".join(checkpoint.services()),
        IMAGES=checkpoint.directory,
        MOUNTS=" ".join(mounts),
        HEAVIEST=HEAVIEST,
        NOTIFY_ACCESS=unit.properties["NotifyAccess"],
        ON_NODE=_ON_NODE if unit.own_mounts else "",
        PRIVATE_TMP=_private_tmp(unit),
        IDENTIFIER=_identifier(unit),
    )
    folder.put(unit.name, restored_text(unit.definition()), _SYSINIT)
    # The text above has what is in all drop-ins: the unit's own, those of its template, prefixes, type and other names.
    for drop_in in unit.drop_ins:
        name = os.path.basename(drop_in)
        if not drop_in.startswith(_BEFORE_PLAN) and not _OWN_DROP_INS.fullmatch(name):
            folder.hide_drop_in(unit.name, name)
    # The last by name counts.
    folder.put_drop_in(unit.name, "zz-kup-restore.conf", text)
    for template in checkpoint.restored_templates:
        folder.put_drop_in(unit.name, f"zz-kup-{template}", render(template))
    if unit.own_mounts:
        text = render("restored-view.conf", UNIT=unit.name, DEVICE_MOUNTS=" ".join(_device_mounts(unit)))
        folder.put_drop_in(unit.name, "zz-kup-restored-view.conf", text)
        directories = private_tmp.provide(unit)
        if directories:
            text = render("restored-tmp.conf", DIRECTORIES=" ".join(directories))
            folder.put_drop_in(unit.name, "zz-kup-restored-tmp.conf", text)


def _identifier(unit):
    """The name by which the journal has what the unit writes to its output: systemd takes that of the command, and here another one starts."""
    path = _COMMAND.match(unit.properties["ExecStart"])
    return (unit.properties["SyslogIdentifier"] or (os.path.basename(path.group(1)) if path else "")).replace("%", "%%")


def _private_tmp(unit):
    """The setting PrivateTmp= of the restored unit. Only file systems of its own in memory (systemd 257) need nothing of the node's."""
    disconnected = unit.own_mounts and unit.properties["PrivateTmpEx"] == "disconnected"
    return "disconnected" if disconnected else "no"


def _device_mounts(unit):
    """Mount units of what a unit's private /dev has from the node's."""
    kinds = {row.place: row.kind for row in mountinfo.of(unit.main.path)}
    private = kinds.get("/dev") == "tmpfs"
    return [f"dev-{name}.mount" for name in ("hugepages", "mqueue") if private and f"/dev/{name}" in kinds]


def restored_text(text):
    """A unit's own text without what would order it late, start it afresh or limit its memory; sections and other limits stay."""
    kept, dropping = [], False
    for line in text.rstrip("\n").split("\n"):
        dropped = dropping or bool(_DROPPED.match(line))
        dropping = dropped and line.endswith("\\")
        if not dropped:
            kept.append(_BRINGS.sub(r"\1Wants", line))
    return "\n".join(kept) + "\n"


def _keep(directory, unit):
    """Put a unit's files that end with this boot in ``directory``, laid out as in /run/systemd."""
    for path in (unit.properties["FragmentPath"], *unit.drop_ins):
        if _OF_THIS_BOOT.fullmatch(path):
            copy = directory + path[len("/run/systemd") :]
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(path, copy)


def _on_root(path):
    return os.stat(path).st_dev == os.stat("/").st_dev


def _waits_for_tmp(unit):
    """Whether systemd (before 257) has the unit wait for the node's own /tmp, and with it for udev, whatever else it is told."""
    return unit.own_mounts and unit.properties["DynamicUser"] == "yes"


def _ahead(directory, name, others):
    """Order the restore of unit ``name`` before the ``others``, by a drop-in in ``directory``, unless it has to wait for one that comes after
    them."""
    told = show(name, "After", "Names", "TriggeredBy")
    asked = told["After"].split()
    # No setting of the restored unit takes back what these have in their own texts.
    first = [
        other for other in asked if other in told["TriggeredBy"].split() or _comes_before(other, told["Names"].split())
    ]
    if not set(first) <= set(others):
        return
    # Units that ask to be started before this one still are, and what they wait for: systemd would drop a job of a cycle, and it has
    # been seen to drop that of the restore.
    kept = {*asked, *_awaited(first)}
    before = " ".join(other for other in others if other not in kept)
    _Folder(directory).put_drop_in(name, "kup-ahead.conf", render("restored-ahead.conf", EARLY_UNITS=before))


def _comes_before(other, names):
    """Whether the text of unit ``other`` orders it before a unit with these ``names``."""
    orders = re.findall(r"^\s*Before\s*=(.*)$", definition(other).replace("\\\n", " "), re.MULTILINE)
    # A specifier may stand for anything.
    return any(word in names or "%" in word for line in orders for word in line.split())


def _awaited(names):
    """All units that units with these ``names`` wait for."""
    found, left = set(), list(names)
    while left:
        after = set(show(left.pop(), "After")["After"].split()) - found
        found |= after
        left += after
    return found


def _deadline(folder, timeout):
    folder.put("kup-deadline.timer", render("kup-deadline.timer", COMMIT_TIMEOUT=timeout), _SYSINIT)
    folder.put("kup-deadline.service", render("kup-deadline.service", COMMIT_TIMEOUT=timeout))


def _watch(folder, interval):
    folder.put("kup-watch.timer", render("kup-watch.timer", INTERVAL=interval), "timers.target")
    folder.put("kup-watch.service", render("kup-watch.service"))
