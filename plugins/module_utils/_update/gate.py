# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The health gate: are the applications as good as before, by their states, answers and own numbers?

What it asks may hold secrets, and what it says goes far: to the record, reports and webhooks. So it shows no argument of a command, no user
and query of an URI, and nothing that it has sent.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
import urllib.error
import urllib.request

from .._engines import pending_memory
from .._errors import KupError
from .._files import make_directory, read_text, write_file
from .._paths import NUMBERS, RUN, STATE
from .._run import run
from .._system.units import Unit
from . import fingerprint, record, timeline

_ANSWER_LIMIT = 1 << 20
_SAID = 200  # characters of an answer in a message

# What may be shown of these: a program's name, and an URI without user and query.
_SHOWN_PROGRAM = re.compile(r"[\w./+-]{1,100}")
_SHOWN_URI = re.compile(
    r"(https?://)(?:[^/?#]*@)?((?:\[[\w:.%-]*\]|[^:/?#@\s]+)(?::\d+)?(?:/[^?#@\s]*)?)(?:[?#]|\Z)", re.IGNORECASE
)


def judge(units, ports, commands, uris, numbers):
    """Run all checks.

    :param units: names that must be active.
    :param ports: TCP ports, or "address:port".
    :param commands: dicts with ``argv`` (list), and the expected ``rc`` (0) and ``stdout`` (regular expression).
    :param uris: dicts with ``url``, and the expected ``status`` (200) and ``content`` (regular expression).
    :param numbers: see `read_number`; compared with what `remember` saved.
    :returns: (list of failures, a sentence each, empty: passed; numbers as `_numbers` gives them).
    """
    failures = [text for name in units for text in _unit(name)]
    failures += [text for port in ports for text in _port(port)]
    failures += [text for number, command in enumerate(commands, 1) for text in _command(number, command)]
    failures += [text for number, uri in enumerate(uris, 1) for text in _uri(number, uri)]
    more, compared = _numbers(numbers)
    return failures + more, compared


def soak(boot_id, units):
    """What has happened to a node since its update was committed in the boot ``boot_id``: list of failures, a sentence each."""
    now = timeline.boot_id()
    if now != boot_id:
        return [f"The node has restarted since its update: its boot is {now}, expected {boot_id}."]
    return [
        f"{unit.name} has ended since its update and was started anew."
        for unit in map(Unit, units)
        if unit.properties["NRestarts"] != "0"
    ]


def remember(found):
    """Save the applications' numbers as they are before the switch: dict name → number."""
    make_directory(STATE)
    write_file(NUMBERS, json.dumps(found))


def read_number(number):
    """Ask an application for one of its numbers.

    ``number`` has ``name``, ``address`` ("host:port"), ``send`` (text) and ``pattern`` (regular expression whose
    first group is the number).

    :raises KupError: no answer, or none that matches.
    """
    host, _separator, port = number["address"].rpartition(":")
    answer = b""
    try:
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.settimeout(10)
            connection.sendall(number["send"].encode())
            while len(answer) < _ANSWER_LIMIT:
                part = connection.recv(65536)
                answer += part
                text = answer.decode(errors="replace")
                match = re.search(number["pattern"], text)
                if match and (match.end() < len(text) or not part):  # nothing more can come: the number is whole
                    return float(match.group(1))
                if not part:
                    break
    except (OSError, ValueError, IndexError, re.error) as error:
        raise KupError(f"{number['address']} did not tell {number['name']}: {error}.") from error
    raise KupError(f"{number['address']} answered {answer[:60]!r}, expected a match of {number['pattern']!r}.")


def _numbers(numbers):
    """Compare with what was remembered: (failures, dict name → {"before", "now"}, None where unknown)."""
    remembered = json.loads(read_text(NUMBERS, "{}")) if numbers else {}
    failures, compared = [], {}
    for number in numbers:
        name, share = number["name"], number.get("at_least")
        share = 1.0 if share is None else float(share)
        before, now = remembered.get(name), None
        try:
            now = read_number(number)
        except KupError as error:
            failures.append(str(error))
        compared[name] = {"before": before, "now": now}
        if None not in (before, now) and now < before * share:
            failures.append(f"{name} is {now:g}, expected at least {share:g} x the {before:g} before the switch.")
    return failures, compared


def runs_anew(unit):
    """Whether a `Unit` on probation has another life than the checkpoint's behind it: it was not restored, or has ended since."""
    if os.path.exists(f"{RUN}/{unit.name}.fresh"):
        return True
    restored = read_text(f"{RUN}/{unit.name}.pid", "").strip()
    return restored not in ("", str(unit.main_pid))


def started_anew(unit):
    """Whether a `Unit` on probation has ended by itself since its restore."""
    if os.path.exists(f"{RUN}/{unit.name}.fresh"):
        return False  # the record tells of it
    if not runs_anew(unit) or record.load()["PHASE"] != "probation":
        return False
    # A manual restart sets the count back, and does not fail the gate.
    return unit.properties["NRestarts"] != "0" or unit.properties["ActiveState"] == "failed"


def lost_state(record):
    """Names of the record's units on probation that have lost state which was brought back: a list."""
    found = [Unit(name) for name in record.units]
    return [unit.name for unit in found if pending_memory.lost(unit.name) or started_anew(unit)]


def may_be_fresh(found, name):
    """Whether the update goes on without the state of the unit ``name``."""
    return found.policies.get(name) == record.CONTINUE


def _unit(name):
    unit = Unit(name)
    if not unit.active:
        return [f"{unit.name} is {unit.properties['ActiveState']}, expected active."]
    if pending_memory.lost(unit.name):
        return [
            f"Memory of {unit.name} could not be brought in; 'journalctl --unit={pending_memory.service(unit.name)}' says why."
        ]
    if started_anew(unit):
        return [f"{unit.name} ended after its restore and was started anew: its state in memory is lost."]
    found = record.load()
    if found["PHASE"] == "probation" and unit.name in found.fresh_units and not may_be_fresh(found, unit.name):
        return [f"{unit.name} was started fresh: {found['REASON']}"]
    left = fingerprint.differences(name)
    if left and found["PHASE"] == "probation":
        return [f"{name} is not as it was before the switch, in {len(left)} respects; the first: {left[0]}."]
    if unit.main_pid not in [process.pid for process in unit.processes]:
        return [f"{unit.name} has main process {unit.main_pid}, which is not in its control group {unit.cgroup}."]
    return []


def _port(port):
    host, _separator, number = str(port).rpartition(":")
    try:
        socket.create_connection((host or "127.0.0.1", int(number)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as error:
        return [f"Port {port} does not answer: {error}."]
    return []


def _command(number, command):
    argv = command["argv"]
    text = f"Command {number} of kup_gate_commands"
    if argv and _SHOWN_PROGRAM.fullmatch(argv[0]):
        text += f" ({argv[0]})"
    try:
        done = run(argv, timeout=int(command.get("timeout") or 60), check=False, name=text)
    except KupError as error:
        return [str(error)]
    except OSError as error:
        return [f"{text} cannot be started: {error.strerror}."]
    expected = int(command.get("rc") or 0)
    if done.returncode != expected:
        said = (done.stderr or done.stdout).strip()[:_SAID] or "it said nothing"
        return [f"{text} ended with {done.returncode}, expected {expected}: {said}"]
    if command.get("stdout") and not re.search(command["stdout"], done.stdout):
        return [f"{text} printed {done.stdout.strip()[:_SAID]!r}, expected a match of {command['stdout']!r}."]
    return []


def _uri(number, uri):
    expected, started = int(uri.get("status") or 200), time.monotonic()
    found = _SHOWN_URI.match(uri["url"])
    text = "".join(found.groups()) if found else f"URI {number} of kup_gate_uris"
    try:
        # Without a proxy: the node asks its own applications.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(uri["url"], timeout=10) as answer:
            status, content = answer.status, answer.read(_ANSWER_LIMIT).decode(errors="replace")
    except urllib.error.HTTPError as error:
        status, content = error.code, error.read(_ANSWER_LIMIT).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        return [f"{text} does not answer after {time.monotonic() - started:.1f} s: {_cause(error)}."]
    if status != expected:
        return [f"{text} answered with status {status}, expected {expected}."]
    if uri.get("content") and not re.search(uri["content"], content):
        return [f"{text} answered {content[:100]!r}, expected a match of {uri['content']!r}."]
    return []


def _cause(error):
    """Why nothing came from an URI. Of an URI that is none, Python's own words would repeat it."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, OSError):
        return cause.strerror or str(cause)[:_SAID]  # without the name of a file
    if isinstance(cause, http.client.HTTPException) and not isinstance(cause, http.client.InvalidURL):
        return f"it sent no answer in HTTP ({type(cause).__name__})"
    return "that is no URI of a server, expected http://HOST:PORT/PATH or https, without a user"
