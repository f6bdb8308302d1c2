# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The transaction record: what one node's update is doing, in one small file.

The file has the format of os-release(5), ``KEY=value`` lines with shell quoting, because its readers are this
library *and* the shell that decides early in the boot (files/node/), behind a first line ``# SHA256`` of all the others. It
is only ever replaced as a whole. A copy of it counts if the sum of the first is wrong.

What each phase means, and what the next boot does on finding it, is `PHASES`; files/node acts on the same words.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import time

from .._blocker import Blocked
from .._errors import KupError
from .._files import as_bytes, make_directory, write_file
from .._paths import RECORD, RECORD_COPY
from . import checks

#: phase → (the update is still under way, what it means and what a boot that finds it does)
PHASES = {
    "prepared": (True, "kernels are staged, the applications run; a boot does nothing"),
    "checkpointing": (True, "the applications are being frozen and written; a boot starts the units fresh"),
    "switching": (True, "the checkpoint is complete; a boot restores it, on either kernel"),
    "probation": (True, "the applications run on the new kernel until commit; a boot restores the checkpoint"),
    "returning": (True, "the newer checkpoint is complete; a boot restores it on the old kernel"),
    "committed": (False, "the new kernel stays until it is left by hand; a boot does nothing"),
    "fell_back": (False, "the applications run on the old kernel again; a boot does nothing"),
    "aborted": (False, "the checkpoint was given up and the applications went on; a boot does nothing"),
    "failed": (False, "no restore worked, the units were started fresh, the images are kept; a boot does nothing"),
}

#: What follows where a unit cannot be restored on the new kernel (``kup_on_unit_failure``). On the old kernel the others are restored in
#: any case.
FALL_BACK, CONTINUE, STOP = POLICIES = ("fall_back", "continue", "stop")

#: Phases with a way back while the old kernel is preserved: for the node itself or a rollout, and for a person.
UNDECIDED = ("probation",)
RETURNABLE = ("probation", "committed")

_KEYS = (
    "ID",
    "PHASE",
    "REASON",
    "DATA",
    "ENGINE",
    "FREEZE_TARGET",
    "FREEZE_MAX",
    "ROUNDS_MAX",
    "PPP_BIND",
    "PPP_DISK_CHECKPOINT",
    "UNITS",
    "ON_FAILURE",
    "FAILED_UNITS",
    "FRESH_UNITS",
    "KERNEL_OLD",
    "KERNEL_NEW",
    "CHECKPOINT",
    "DISK_CHECKPOINT",
    "IMAGES",
    "BYTES",
    "PANIC",
    "CRASHKERNEL",
    "FIRST_PROCESS",
    "RESTORE_TIMEOUT",
    "COMMIT_TIMEOUT",
    "WATCH_INTERVAL",
    "REVERT_BACKOFF",
    "PARK_CONNECTIONS",
    "QUIESCE_DEVICES",
    "START_SECONDS",
    "OWNER",
    "OWNER_UNTIL",
    "OWNER_SECONDS",
    "STARTED",
)

# An application chooses names that are in reasons.
_REASON_MAX = 2000

#: Seconds for which a run excludes others after each call of a module; longer than any step without a call.
LEASE = 180


class Record(dict):
    """Mapping of the keys above to text; a missing key reads as the empty text."""

    def __missing__(self, key):
        return ""

    @property
    def unfinished(self):
        """Whether an update is still under way."""
        return bool(self) and PHASES[self["PHASE"]][0]

    @property
    def units(self):
        """Names of the systemd units of this update."""
        return self["UNITS"].split()

    @property
    def policies(self):
        """Dict unit → one of `POLICIES`; a unit that is not in it has `FALL_BACK`."""
        pairs = [pair.rpartition("=") for pair in self["ON_FAILURE"].split()]
        return {name: policy for name, _separator, policy in pairs}

    @property
    def failed_units(self):
        """Names of the units that could not be restored on one of the kernels."""
        return self["FAILED_UNITS"].split()

    @property
    def fresh_units(self):
        """Names of the units that have lost their state."""
        return self["FRESH_UNITS"].split()

    def lose(self, names):
        """Note (not saved) that the units ``names`` have lost their state; returns what ``DATA`` is then, None if none ever has."""
        lost = self.fresh_units + [name for name in names if name not in self.fresh_units]
        self["FRESH_UNITS"] = " ".join(lost)
        if not lost:
            return None
        return "partial" if set(self.units) - set(lost) else "fresh"

    def as_dict(self):
        """The record as modules return it: keys in small letters, lists of units as lists, ``policies``, ``unfinished``, and
        ``stopped_by``: the units that end the rollout by their policy."""
        plain = {key.lower(): self[key] for key in _KEYS}
        lists = {"units": self.units, "failed_units": self.failed_units, "fresh_units": self.fresh_units}
        gone = {*self.failed_units, *self.fresh_units}
        stopped_by = [name for name, policy in self.policies.items() if policy == STOP and name in gone]
        del plain["on_failure"]
        return {**plain, **lists, "policies": self.policies, "stopped_by": stopped_by, "unfinished": self.unfinished}


def policies(units, general, single):
    """Text for ``ON_FAILURE``: the policy of each of ``units``, where it is not `FALL_BACK`.

    :param general: the policy of all that are not in the dict ``single``.
    :raises KupError: there is no such policy, or no such unit.
    """
    strange = sorted(set(single) - set(units))
    if strange:
        raise KupError(f"A policy is given for {strange[0]}, which is not updated, expected one of {', '.join(units)}.")
    found = {name: check_policy(f"on_failure of {name}", single.get(name, general)) for name in units}
    return " ".join(f"{name}={policy}" for name, policy in found.items() if policy != FALL_BACK)


def check_policy(name, policy):
    """``policy``, one of `POLICIES`.

    :raises KupError: it is none; the sentence begins with ``name``.
    """
    if policy not in POLICIES:
        raise KupError(f"{name} is {policy!r}, expected one of {', '.join(POLICIES)}.")
    return policy


def sealed(body):
    """``body``, a record's lines, behind the line with their sum."""
    return f"# {hashlib.sha256(as_bytes(body)).hexdigest()}\n{body}"


def parse(text):
    """Read a record's text, or that of both, one behind the other: the first whose sum is right.

    :raises KupError: none is right, or it has a line or a phase that no version of this collection writes.
    """
    if not text.strip():
        return Record()
    for found in re.split(r"^(?=# )", text, flags=re.MULTILINE):
        body = found.partition("\n")[2].rstrip("\n") + "\n"
        if found.rstrip("\n") + "\n" == sealed(body):
            return _parse(body)
    raise KupError(
        f"The transaction record {RECORD} and its copy are not what was written (a wrong sum); look at them by hand, and delete "
        "both when the applications are as they should be."
    )


def _parse(text):
    record = Record()
    for line in text.rstrip("\n").split("\n"):
        key, separator, value = line.partition("=")
        words = _words(value)
        if not separator or key not in _KEYS or len(words) > 1:
            raise KupError(
                f"The transaction record {RECORD} has the unexpected line {line[:80]!r}; look at it by hand."
            )
        record[key] = as_bytes("".join(words)).decode("utf-8", "replace")
    if record and record["PHASE"] not in PHASES:
        raise KupError(
            f"The transaction record {RECORD} says phase {record['PHASE']!r}, expected one of {', '.join(PHASES)}."
        )
    return record


def _words(value):
    try:
        return shlex.split(value)
    except ValueError:  # a quote that does not end
        return [value, ""]


def load():
    """The node's record; empty where there has never been an update."""
    return parse("\n".join(map(_content, (RECORD, RECORD_COPY))))


def _content(path):
    # Every byte counts for the sum, also one that is no UTF-8.
    try:
        with open(path, "rb") as stream:
            return stream.read().decode("utf-8", "surrogateescape").rstrip("\n")
    except FileNotFoundError:
        return ""


def save(record):
    """Replace the node's record, durably."""
    make_directory(os.path.dirname(RECORD))
    text = sealed("".join(f"{key}={shlex.quote(record[key])}\n" for key in _KEYS if record[key]))
    # Both durably: kexec loses what is not on disk yet, and an older copy would have a right sum.
    write_file(RECORD_COPY, text)
    write_file(RECORD, text)


def one_line(reason):
    """``reason`` as the record can hold it: one line of printable ASCII, as in files/node/lib/record.sh.

    With a NUL in it grep(1) would take the record for no text.
    """
    plain = "".join(each if " " <= each <= "~" else " " for each in reason)
    return " ".join(plain.split())[:_REASON_MAX]


def advance(record, phase, reason="", data=None):
    """Go to ``phase`` and save.

    :param data: which memory the applications have now: ``running``, all that they ever had; ``checkpoint``, that of the last
        freeze; ``partial``, some units have none (``FRESH_UNITS``); ``fresh``, none has any; empty while an update is on its way;
        None: as before.
    """
    record.update(PHASE=phase, REASON=one_line(reason))
    if data is not None:
        record["DATA"] = data
    save(record)


def claim(record, owner, target=None):
    """Let the run ``owner`` work on this node, or refuse.

    A run whose lease has ended is taken for dead: another one goes on where it stopped, if it wants the same kernel.

    :raises Blocked: another run is at work here, or left an update to another kernel unfinished.
    """
    found = rivals(record, owner, target)
    if found:
        raise Blocked(found)


def rivals(record, owner, target=None):
    """What keeps the run ``owner`` from working on this node: `Blocker`s (see `claim`)."""
    if not record.unfinished or record["OWNER"] == owner:
        return []
    # Where the clock was set back, nobody waits longer than for a whole lease.
    left = min(int(record["OWNER_UNTIL"] or 0) - int(time.time()), int(record["OWNER_SECONDS"] or LEASE))
    return checks.run_at_work(record, left) or checks.unfinished_update(record, target)


def renew(record, owner, seconds=LEASE):
    """Note ``owner`` and a fresh lease in ``record`` (not saved)."""
    longer = str(seconds) if seconds != LEASE else ""
    record.update(OWNER=owner, OWNER_UNTIL=str(int(time.time()) + seconds), OWNER_SECONDS=longer)


def take(owner, target=None, seconds=LEASE, dry=False):
    """`claim` the node's record for ``owner`` and save a fresh lease; returns the record.

    :param dry: save nothing.
    """
    record = load()
    claim(record, owner, target)
    if record.unfinished and not dry:
        renew(record, owner, seconds)
        save(record)
    return record


def release(owner, dry=False):
    """Give back the lease of the run ``owner``, so that the next one need not wait for its end.

    :param dry: only tell.
    :returns: whether there was one.
    """
    record = load()
    held = record.unfinished and record["OWNER"] == owner and int(record["OWNER_UNTIL"] or 0) > time.time()
    if held and not dry:
        record["OWNER_UNTIL"] = ""
        save(record)
    return held
