# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The files of a rollout's report on the controller.

    RUN_ID.json          the report
    RUN_ID.html          the same for people
    report.json          leads to the newest report
    rows/RUN_ID/*.json   a row for each node, until the rollout has ended
    plans/RUN_ID.json    what the rollout was going to do
    status/status.json   what all nodes needed when they were last looked at
    audit.jsonl          see `_report_audit`

While a rollout runs, a node's row is a file of its own, so that a call costs the same whatever the number of nodes, and
waits for no other. Rows are merged into the report when the rollout begins, has its batches, and ends - and by whoever asks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import urllib.parse

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _report, _report_audit
from ansible_collections.kup.fleet.plugins.plugin_utils._folder import Folder

NEWEST = "report"
_LONGEST = 200  # characters of a file's name, without endings; file systems take 255


class Inaccessible(KupError):
    """A file of the report cannot be read or written, for example because the disk is full."""


def path_of(directory, run_id, ending="json"):
    """The file of a rollout in ``directory``.

    :raises KupError: ``run_id`` cannot be the name of a file.
    """
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,200}", run_id) or run_id.startswith("."):
        raise KupError(f"run_id is {run_id!r}, expected at most 200 letters, digits, '.', '_', ':' and '-'.")
    # An action's working directory is the user's own, not the playbook's.
    return f"{os.path.abspath(directory)}/{run_id}.{ending}"


def file_name(node):
    """Name of the file for a node's row: another for each node, also where a file system takes 'A' for 'a'."""
    name = "".join(
        character if re.fullmatch(r"[a-z0-9_-]", character) or (character == "." and position) else _escaped(character)
        for position, character in enumerate(node)
    )
    if len(name) > _LONGEST:
        # No other name has an '='.
        name = "=" + hashlib.sha256(_bytes(node)).hexdigest()
    return f"{name}.json"


def _escaped(character):
    return (
        urllib.parse.quote_from_bytes(_bytes(character), safe="")
        if not character.isascii()
        else f"%{ord(character):02X}"
    )


def _bytes(text):
    return text.encode("utf-8", "surrogatepass")


def newest(directory):
    """Id of the rollout that report.json leads to.

    :raises KupError: there is none.
    """
    path, found = os.path.abspath(directory), ""
    with _guarded(path), contextlib.suppress(FileNotFoundError), Folder.at(path, is_made=False) as folder:
        found = _newest(folder)
    if not found:
        raise KupError(
            f"{path} has no report.json that leads to a report; set kup_report_dir, or give the rollout's id."
        )
    return found


def write_row(directory, run_id, row, user=""):
    """Write down what is known of one node; returns all that is known of it.

    Calls for one node come one after the other.

    :param row: see `_report.merge`.
    :param user: see `_report_audit.line`.
    :raises Inaccessible: it cannot be written.
    :raises KupError: the row is bad.
    """
    with _guarded(path_of(directory, run_id)), _opened(directory) as folder, _rows_folder(folder, run_id) as rows:
        before = _row(rows, row)
        after = _report.joined(before, row)
        rows.write(file_name(row["name"]), json.dumps(after) + "\n")
        _report_audit.append(folder, _report_audit.changes(user, run_id, [before] if before else [], [after]))
    return after


def number_of_rows(directory, run_id):
    """How many nodes have a row that is not merged for good.

    :raises KupError: they cannot be listed.
    """
    with _guarded(path_of(directory, run_id)), _opened(directory) as folder, _rows_folder(folder, run_id) as rows:
        return len(rows.names(".json"))


def claim(directory, run_id, event):
    """Whether ``event`` of a rollout that runs has not been claimed before, by any of its nodes.

    :raises KupError: the file that says so cannot be written.
    """
    with _guarded(path_of(directory, run_id)), _opened(directory) as folder, _rows_folder(folder, run_id) as rows:
        # Removed with the rows, as other files of this kind.
        return rows.claim(f".{event}")


def _row(rows, row):
    name = row.get("name")
    return _parsed(rows, file_name(name))[0] if isinstance(name, str) else None


def update(directory, run_id, rollout=None, finished=None, is_killed=False, user=""):
    """Merge what is known of all nodes, and ``rollout``, into the report; returns it. After the end the rows are removed.

    :param rollout: see `_report.merge`; ``started`` is given when it begins.
    :param finished: seconds since the epoch, if this is the end.
    :param is_killed: the rollout has ended without a word, with the last file that it wrote.
    :param user: see `_report_audit.line`.
    :raises KupError: it cannot be written, or what is there is no report.
    """
    path = path_of(directory, run_id)
    with _guarded(path), _opened(directory) as folder, folder.locked(f".{run_id}.json.lock"):
        before, rows, last = _everything(folder, run_id)
        if not (before or rows or rollout):
            raise KupError(
                f"{os.path.abspath(directory)} has no report of a rollout {run_id}; correct kup_run_id or kup_report_dir."
            )
        known = _report.merge(before, rows.values(), {**(rollout or {}), "run_id": run_id})
        report = _ended(known, last if is_killed else finished, is_killed)
        folder.write(f"{run_id}.json", json.dumps(report, indent=2) + "\n")
        _point(folder, run_id, is_new="started" in (rollout or {}))
        _report_audit.append(folder, _of_rollout(user, known, report, is_new="started" in (rollout or {})))
        if _report.is_closed(report):
            _remove(folder, run_id, rows)
    return report


def read(directory, run_id=None):
    """The report of a rollout (default: the newest) as it stands, with the rows that are not merged yet. Writes nothing.

    :raises KupError: there is none, or what is there is no report.
    """
    run_id = run_id or newest(directory)
    with _guarded(path_of(directory, run_id)), Folder.at(os.path.abspath(directory), is_made=False) as folder:
        before, rows, _last = _everything(folder, run_id)
    return _report.merge(before, rows.values())


def write_plan(directory, run_id, plan):
    """Write ``plan`` as JSON beside the reports in ``directory``, but not among them; returns the path.

    :raises KupError: it cannot be written.
    """
    path = path_of(f"{directory}/plans", run_id)
    with _guarded(path), _opened(directory) as folder, folder.folder("plans") as own:
        own.write(f"{run_id}.json", json.dumps(plan, indent=2) + "\n")
    return path


def write_status(directory, merged):
    """Write what all nodes need beside the reports in ``directory``; returns (path, what was written).

    :param merged: function that makes it (a dict) of what was written before (a dict, empty for nothing). No other run writes meanwhile.
    :raises KupError: it cannot be written, or what is there cannot be read.
    """
    path = path_of(f"{directory}/status", "status")
    with _guarded(path), _opened(directory) as folder, folder.folder("status") as own, own.locked(".status.json.lock"):
        before, _changed = _parsed(own, "status.json")
        status = merged(before or {})
        own.write("status.json", json.dumps(status, indent=2) + "\n")
    return path, status


def write_page(directory, run_id, text):
    """Write the page of a report beside it, and let report.html lead to it where report.json leads to the report; returns the path.

    :raises KupError: it cannot be written.
    """
    path = path_of(directory, run_id, "html")
    with _guarded(path), _opened(directory) as folder:
        folder.write(f"{run_id}.html", text)
        if _newest(folder) == run_id:
            folder.link(f"{NEWEST}.html", f"{run_id}.html")
    return path


@contextlib.contextmanager
def _guarded(path):
    try:
        yield
    except OSError as error:
        raise Inaccessible(
            f"The report {path} cannot be read or written: {error}; set kup_report_dir to a directory of yours."
        ) from error


def _opened(directory):
    return Folder.at(os.path.abspath(directory))


@contextlib.contextmanager
def _rows_folder(folder, run_id, is_made=True):
    with folder.folder("rows", is_made) as rows, rows.folder(run_id, is_made) as own:
        yield own


def _everything(folder, run_id):
    """(report as it was merged last, dict file → row, seconds since the epoch of the last change)."""
    report, last = _parsed(folder, f"{run_id}.json")
    rows = {}
    with contextlib.suppress(FileNotFoundError), _rows_folder(folder, run_id, is_made=False) as found:
        for name in found.names(".json"):
            rows[name], changed = _parsed(found, name)
            _check_place(found, name, rows[name])
            last = max(last, changed)
    return report or {}, rows, last


def _check_place(folder, name, row):
    node = (row or {}).get("name")
    if not isinstance(node, str) or file_name(node) != name:
        raise KupError(f"{folder.path}/{name} is no row of the node {node!r}; move it away.")


def _parsed(folder, name):
    """(dict of the JSON file or None, seconds since the epoch of its last change)."""
    text, changed = folder.read(name)
    try:
        found = None if text is None else json.loads(text)
        if found is not None and not isinstance(found, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        raise KupError(f"{folder.path}/{name} is no report of a rollout: {error}; move it away.") from error
    return found, changed


def _ended(report, finished, is_killed):
    if finished is None or _report.is_closed(report):
        return report
    if is_killed and not report["rollout"].get("reason"):
        report = _report.merge(report, rollout={"reason": "it was killed"})
    return _report.close(report, finished)


def _of_rollout(user, known, report, is_new):
    """Lines of the audit trail for what happens in `update`."""
    run_id = report["rollout"]["run_id"]
    lines = [_report_audit.line("rollout_began", user, run_id)] if is_new else []
    if _report.is_closed(report) and not _report.is_closed(known):
        about = report["rollout"]
        lines += _report_audit.changes(user, run_id, known["nodes"], report["nodes"])
        lines.append(_report_audit.line("rollout_ended", user, run_id, "", about["result"], about.get("reason") or ""))
    return lines


def _newest(folder):
    name, _dot, ending = (folder.target(f"{NEWEST}.json") or "").rpartition(".")
    return name if ending == "json" and "/" not in name else ""


def _point(folder, run_id, is_new):
    # Ids begin with the time: an older rollout that is merged again is not the newest by that.
    if is_new or _newest(folder) <= run_id:
        folder.link(f"{NEWEST}.json", f"{run_id}.json")


def _remove(folder, run_id, merged):
    with contextlib.suppress(FileNotFoundError), folder.folder("rows", is_made=False) as rows:
        with rows.folder(run_id, is_made=False) as own:
            for name in merged:
                own.remove(name)
            own.remove_unfinished()
        rows.remove_folder(run_id)
    folder.remove_folder("rows")
