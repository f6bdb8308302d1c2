# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Is the node fit for this update? Looks at everything, changes nothing.

What is seen (`seen`) is judged by checks, of which docs/refusals.md lists all. They stand in `_update/checks.py` (the node and its
units), `_boot/checks.py`, `_environment/checks.py` (what the next boot would not have), `_engines/checks.py` (what stops one engine), and
for CRIU in `_criu/kernel_checks.py`, `checks.py` (processes), `descriptor_checks.py` and `view_checks.py` (mount namespaces).
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field

from .. import _again as again
from .._blocker import Blocked, about, all_of, first_of, sentences
from .._boot import grub, kexec
from .._boot import kernels as node_kernels
from .._criu import carried as criu_carried
from .._criu import command as criu_command
from .._criu import examination
from .._criu import seen as criu_seen
from .._criu.kernel_checks import criu_check, criu_kernel, criu_processor
from .._drain import record as drain_record
from .._engines import registry
from .._environment import checks as environment_checks
from .._environment import mounts, packet_filter, run_files, security_profiles, sysctls
from .._errors import KupError, printable
from .._system import distribution, processes
from .._system.units import Unit, full_name, full_names
from . import checks, forecast, rehearsal, runtime, seen
from . import record as records

#: What the node needs: command → Debian package.
PACKAGES = {"criu": "criu", "kexec": "kexec-tools", "nft": "nftables", "ip": "iproute2"}
_PSUTIL = "python3-psutil"


# What `examine` returns of a node at which nothing else is looked: what fits no other distribution would mislead.
_UNSEEN = {
    **dict.fromkeys(("target", "package", "outage_s", "criu", "engine")),
    **{"release": "", "needs_update": True, "missing": [], "units": [], "disk_needed": 0, "disk_free": 0},
    **{"engine_reasons": [], "disk_checkpoint": "", "outages_s": {}, "notes": []},
}


def examine(selector, unit_names, images, wish, owner, *, freeze_target=0.3, leases=None, any_distribution=False):
    """Judge the node for an update of ``unit_names`` to the kernel that ``selector`` means.

    :param images: directory for checkpoint images.
    :param wish: `registry.Wish`.
    :param owner: id of the run that asks.
    :param freeze_target: ``kup_freeze_target``, seconds.
    :param leases: dict unit → seconds for which something elsewhere waits for it (``lease_s`` of ``kup_units``).
    :param any_distribution: ``kup_any_distribution``; otherwise a node of a distribution that was never tried has this one blocker.
    :returns: dict with ``target`` (installed release, or None), ``package`` (that would bring it, or None), ``release`` (one or the
        other; empty where there is neither), ``needs_update``, ``missing`` (Debian packages), ``blockers`` (dicts; none: fit),
        ``problems`` (their sentences), ``units`` (one verdict each), ``disk_needed`` and ``disk_free`` (bytes), ``criu`` (version or
        None), ``engine`` (that would be used, or None), ``engine_reasons`` (why no better one), ``disk_checkpoint`` (the engine of
        the one beside it, or empty), ``outage_s`` (expected, or None), ``outages_s`` (of each engine: dict), ``notes`` (sentences that
        stop nothing), ``phase``, ``drained`` (names of what a run has drained for the node), and what `runtime.installed` says.
    :raises KupError: the arguments themselves are wrong.
    """
    _refuse_directory(images)
    record, untried = records.load(), checks.untried_distribution(distribution.look())
    if untried and not any_distribution:
        return {**_UNSEEN, **_told(selector, record, untried)}
    running, target = node_kernels.running(), node_kernels.choose(selector)
    package = None if target else node_kernels.package(selector)
    wanted = target or node_kernels.in_package(package)
    needs_update = wanted != running or record["PHASE"] == "probation"
    judged = again.settled(lambda: _judge_all(unit_names), lambda found: any(one.examined for one in found))
    blockers, missing, choice = records.rivals(record, owner, wanted), _missing(), _Choice()
    if needs_update:
        kernels = [running, wanted] if wanted else [running]
        missing = sorted({*missing, *registry.packages(wish.engine, kernels)})
        choice = _choose(wish, images, kernels, judged) if "criu" not in missing else choice
        blockers += kexec.blockers(target) + grub.blockers() + _of_units(judged, choice, images)
        blockers += _of_kernels(judged, *kernels)
    written = _images_bytes(choice, wish, judged)
    node = seen.node(selector, wanted, images, written, record["PHASE"])
    if needs_update:
        blockers += all_of(checks.NODE_CHECKS, node)
        blockers += _of_environment()
    verdicts = [one.verdict for one in judged]
    outages = forecast.outages(record, registry.ENGINES, verdicts, freeze_target) if choice.engine else {}
    outage = outages.get(choice.engine)
    blockers += _of_leases(record, leases or {}, outage)
    return {
        **_told(selector, record, blockers),
        "target": target,
        "package": package,
        "release": wanted,
        "needs_update": needs_update,
        "missing": missing,
        "units": verdicts,
        "disk_needed": node.images_needed,
        "disk_free": node.images_free,
        **choice.told(),
        "outage_s": outage,
        "outages_s": outages,
        "notes": _notes(untried),
    }


def _told(selector, record, blockers):
    """What `examine` returns of any node."""
    return {
        "selector": selector,
        "running": node_kernels.running(),
        "blockers": [blocker.as_dict() for blocker in blockers],
        "problems": sentences(blockers),
        "phase": record["PHASE"],
        "drained": list(drain_record.load().places),
        **runtime.installed(),
    }


def _of_leases(record, leases, outage):
    # A node on probation has its outage behind it.
    if outage is None or record["PHASE"] == "probation":
        return []
    found = {full_name(name): checks.lease(seconds, outage) for name, seconds in leases.items()}
    return [blocker for name, blockers in found.items() for blocker in about(blockers, unit=name)]


def _notes(untried):
    """Sentences that stop nothing; ``untried``: blockers that `kup_any_distribution` has made notes of."""
    settings = sysctls.collect()
    note = sysctls.note(settings, sysctls.drift(settings))
    risks = [printable(f"{each.object} {each.why}; kup_any_distribution goes on at your own risk.") for each in untried]
    return [*risks, *([note] if note else [])]


def _refuse_directory(images):
    if not os.path.isabs(images) or checks.UNFIT.search(images):
        raise KupError(
            f"The images directory is {images!r}, expected an absolute path without blanks, quotes, backslashes, % and $; "
            "correct kup_images_dir."
        )


def _missing():
    found = {package for command, package in PACKAGES.items() if not shutil.which(command)}
    return sorted(found if processes.HAS_PSUTIL else {*found, _PSUTIL})


@dataclass
class _Choice:
    """``criu``: its version; ``engine``, ``disk_checkpoint``, ``reasons``: see `registry.Choice`, of what an update would use."""

    criu: str | None = None
    engine: str | None = None
    disk_checkpoint: str = ""
    reasons: list = field(default_factory=list)
    blockers: list = field(default_factory=list)

    def told(self):
        """What `examine` returns of it."""
        about = {"criu": self.criu, "engine": self.engine, "disk_checkpoint": self.disk_checkpoint}
        return {**about, "engine_reasons": self.reasons}


def _choose(wish, images, kernels, judged):
    """The engine for both ``kernels``, with the installed CRIU."""
    choice = _Choice(criu_command.version())
    choice.blockers += [each for kernel in kernels for each in criu_kernel(choice.criu, kernel)]
    choice.blockers += criu_processor(choice.criu, criu_command.processor_flags())
    choice.blockers += criu_check(criu_command.check())
    units = [one.unit for one in judged if one.verdict["movable"]]
    try:
        best = registry.choose(wish, images, kernels, units=units, daemon=False)
        choice.engine, choice.disk_checkpoint, choice.reasons = best.engine, best.disk_checkpoint, list(best.reasons)
    except Blocked as error:
        choice.blockers += error.blockers
    return choice


def _images_bytes(choice, wish, judged):
    """Estimated size of all images; where ``auto`` has not been decided yet, of ``criu``."""
    sizes = (sum(one.verdict[key] for one in judged) for key in ("rss_bytes", "shmem_bytes"))
    if choice.engine:
        return registry.images_bytes(choice.engine, choice.disk_checkpoint, *sizes)
    name = "criu" if wish.engine == registry.AUTO else wish.engine
    return registry.images_bytes(name, wish.disk_checkpoint_of(name), *sizes)


def _of_units(judged, choice, images):
    """Blockers of all units (``judged``: a list), of the choice of an engine, and of the engine for each unit."""
    found = [each for one in judged for each in one.blockers] + choice.blockers
    return found + [each for one in judged for each in _of_engine(choice.engine, images, one)]


def _of_kernels(judged, running, wanted=None):
    """Blockers of units for which the kernel ``wanted``, if it is known, cannot do what the running one does."""
    if not wanted:
        return []
    now, then = (criu_command.numbers(release) for release in (running, wanted))
    found = []
    for unit in (one.unit for one in judged):
        denies = unit.properties["MemoryDenyWriteExecute"]
        found += about(checks.write_execute(denies, now, then), unit=unit.name)
    return found


def _of_engine(engine, images, judged):
    """Blockers of a unit that another engine may not have. An ``engine`` of None is not known yet."""
    unit = judged.unit
    found = registry.ENGINES[engine].unit_blockers(unit) if engine and judged.verdict["movable"] else []
    return found + (about(checks.socket_path(images, unit.name), unit=unit.name) if engine != "criu" else [])


def _of_environment():
    """Blockers of what the next boot would not have of the node."""
    locked = environment_checks.root_locked(mounts.locked_root())
    if not shutil.which("nft"):  # nothing can be told yet of packets
        return locked
    recorded = packet_filter.record()
    return locked + environment_checks.packet_filter(recorded.lost, packet_filter.why_not_loadable(recorded))


@dataclass(frozen=True)
class _Judged:
    unit: Unit
    verdict: dict
    blockers: list
    # Those of the examination: what an application does may pass, what its unit or its node is stays.
    examined: list


def judge_unit(name):
    """Verdict for one unit: movable or not, and each blocker."""
    return _judge(Unit(name), criu_carried.Carried(), criu_seen.version()).verdict


def _of_run_files(unit):
    use = run_files.find(unit)
    sizes = (*run_files.survey([use]), run_files.OBJECTS_MAX, run_files.BYTES_MAX)
    found = environment_checks.run_files_size(*sizes)
    return found + environment_checks.run_directory(sorted(use.elsewhere))


def _judge_all(names):
    units = [Unit(name) for name in full_names(names)]
    carried, criu = criu_carried.of(units), criu_seen.version()
    return [_judge(unit, carried, criu) for unit in units]


def _judge(unit, carried, criu):
    verdict = {"unit": unit.name, "movable": False, "processes": len(unit.processes)}
    verdict |= {"rss_bytes": unit.rss if processes.HAS_PSUTIL else 0, "shmem_bytes": unit.shmem}
    blockers, examined = about(first_of(checks.UNIT_CHECKS, unit), unit=unit.name), []
    if not blockers:
        findings = examination.examine(unit, carried, criu)
        used = mounts.of_unit(unit)
        refused = [each for mount in used for each in first_of(environment_checks.MOUNT_CHECKS, mount)]
        labels = security_profiles.of_unit(unit)
        refused += [each for label in labels for each in first_of(environment_checks.LABEL_CHECKS, label)]
        examined = findings.blockers
        blockers = examined + about(refused + _of_run_files(unit), unit=unit.name) + rehearsal.blockers(unit)
        verdict["movable"] = not blockers
        verdict["mounts"] = [mount.place for mount in used]
        verdict["connections"] = len([socket for socket in findings.sockets if socket.connected])
    verdict["problems"] = sentences(blockers)
    verdict["details"] = [blocker.as_dict() for blocker in blockers]
    return _Judged(unit, verdict, blockers, examined)
