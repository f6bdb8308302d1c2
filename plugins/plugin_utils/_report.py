# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The report of a rollout: a JSON file on the controller with one row per node, and its table for people.

Many processes of one rollout write it: each change is made under a lock, on the file as it is then.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._files import make_directory, read_text, write_file

#: result → what it means
RESULTS = {
    "pending": "its turn has not come",
    "under_way": "it is being updated",
    "up_to_date": "it ran the target before",
    "committed": "it runs the target",
    "fell_back": "it runs the old kernel again, with its state",
    "partial": "some services lost their state (fresh_units), the others have theirs; kernel_after says on which kernel",
    "aborted": "the switch was given up before the jump; its applications run on, unless the reason says otherwise",
    "failed": "something else went wrong; where a restore failed the units were started fresh",
    "lost": "it did not come back, or cannot be reached",
    "untouched": "the rollout stopped before its turn",
}

_GOOD = ("committed", "up_to_date")
_OPEN = ("pending", "under_way")
_UNTOUCHED = ("pending", "untouched")


def file_of(directory, run_id):
    """The file of a rollout in ``directory``.

    :raises KupError: ``run_id`` cannot be the name of a file.
    """
    if not re.fullmatch(r"[A-Za-z0-9._:-]+", run_id) or run_id.startswith("."):
        raise KupError(f"run_id is {run_id!r}, expected letters, digits, '.', '_', ':' and '-'.")
    # An action's working directory is the user's own, not the playbook's.
    return f"{os.path.abspath(directory)}/{run_id}.json"


def merge(report, row=None, rollout=None, finished=None):
    """A new report: ``report`` with one more row, more about the rollout, or its end.

    :param row: dict with ``name`` and whatever else is known of the node; what it does not mention stays.
    :param rollout: dict of the same kind; every node of its ``batches`` gets a row.
    :param finished: seconds since the epoch, if this is the end: what has no result by then gets one.
    :raises KupError: a row without a name, or with a result that there is not.
    """
    nodes = {node["name"]: dict(node) for node in report.get("nodes", [])}
    about = {**report.get("rollout", {}), **(rollout or {})}
    for name in (name for batch in about.get("batches", []) for name in batch):
        nodes.setdefault(name, {"name": name, "result": "pending"})
    if row:
        _check(row)
        nodes[row["name"]] = {"result": "pending", **nodes.get(row["name"], {}), **row}
    if finished is not None:
        for node in nodes.values():
            _close(node)
        about["wall_s"] = round(finished - float(about.get("started", finished)), 1)
    about["result"] = result([node["result"] for node in nodes.values()])
    return {"nodes": list(nodes.values()), "rollout": about}


def _check(row):
    if not row.get("name"):
        raise KupError(f"A row of the report has the name {row.get('name')!r}, expected the name of a node.")
    if row.get("result", "pending") not in RESULTS:
        raise KupError(
            f"The row of {row['name']} has the result {row['result']!r}, expected one of {', '.join(RESULTS)}."
        )


def _close(node):
    if node["result"] == "pending":
        node["result"] = "untouched"
    elif node["result"] == "under_way":
        # Whoever could still speak has said more than this.
        node.update(result="lost", reason=node.get("reason") or "the node could not be reached any more")


def result(results):
    """The rollout's result from those of its nodes.

    ``committed``: all run the target. ``running``: not at its end, and nothing is wrong so far. ``partial``: every
    node had its turn and some run the target. ``stopped``: anything else.
    """
    if all(each in _GOOD for each in results):
        return "committed"
    bad = [each for each in results if each not in _GOOD + _OPEN]
    if not bad:
        return "running"
    tried = not any(each in _UNTOUCHED + _OPEN for each in results)
    return "partial" if tried and any(each in _GOOD for each in results) else "stopped"


def update(path, **changes):
    """`merge` ``changes`` into the file ``path`` (readable by its owner only); returns the new report.

    :raises KupError: the file cannot be written, or is no report.
    """
    with _writing(path), _locked(path):
        new = merge(load(path), **changes)
        write_file(path, json.dumps(new, indent=2) + "\n")
        point(path)
    return new


def write_plan(directory, run_id, plan):
    """Write ``plan`` as JSON beside the reports in ``directory``, but not among them; returns the path.

    :raises KupError: it cannot be written.
    """
    path = file_of(f"{directory}/plans", run_id)
    with _writing(path):
        # That of the reports first: made on the way, it would not be its owner's alone.
        _make_directory_of(os.path.dirname(path))
        _make_directory_of(path)
        write_file(path, json.dumps(plan, indent=2) + "\n")
    return path


@contextlib.contextmanager
def _writing(path):
    try:
        yield
    except OSError as error:
        raise KupError(
            f"The report {path} cannot be written: {error}; set kup_report_dir to a directory of yours."
        ) from error


def _make_directory_of(path):
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        make_directory(directory)
    return directory


def point(path):
    """Let ``report.json`` beside ``path`` lead to it: the name under which the newest report is found."""
    directory, name = os.path.split(path)
    temporary = f"{directory}/.latest-{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    os.symlink(name, temporary)
    os.replace(temporary, f"{directory}/report.json")


def load(path):
    """The report in ``path``; an empty one where there is none yet.

    :raises KupError: it is no report.
    """
    try:
        report = json.loads(read_text(path, "{}"))
    except ValueError as error:
        raise KupError(f"{path} is no report of a rollout: {error}; move it away.") from error
    return report


@contextlib.contextmanager
def _locked(path):
    directory = _make_directory_of(path)
    # A lock file of its own, never removed: the report itself is replaced by each change.
    descriptor = os.open(f"{directory}/.{os.path.basename(path)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def started():
    """Seconds since the epoch, for ``rollout``."""
    return round(time.time(), 3)


_HEADINGS = ("node", "kernel before -> after", "result", "outage", "reason")


def table(report):
    """The report as lines for a person."""
    lines = columns([_HEADINGS, *(_cells(node) for node in report.get("nodes", []))])
    return [*lines, _summary(report.get("rollout", {}))]


def columns(rows):
    """Lines of the ``rows``, tuples of as many texts each, one under the other."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cells(node):
    kernels = [node.get("kernel_before"), node.get("kernel_after")]
    both = " -> ".join(str(kernel or "?") for kernel in kernels) if any(kernels) else ""
    if kernels[0] and kernels[0] == kernels[1]:
        both = kernels[0]
    outage = node.get("outage_s")
    return (
        node["name"],
        both,
        node["result"],
        "" if outage is None else f"{float(outage):.1f} s",
        " ".join(str(node.get("reason") or "").split()),
    )


def _summary(rollout):
    wall = f" after {rollout['wall_s']:.0f} s" if "wall_s" in rollout else ""
    reason = f"; {rollout['reason']}" if rollout.get("reason") else ""
    return f"rollout {rollout.get('run_id', '')}: {rollout.get('result', 'running')}{wall}{reason}"
