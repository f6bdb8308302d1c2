"""On a node: node.py start|judge CASE...; prints JSON.

start: install the cases, start their units, and note what is observed: {case: what is wrong with it, or null}
judge: {"phase", "reason", "fresh", "kernel", "cases": {case: {"answers", "same", "differences"}}}
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

from declared import Case
from service import ask

SYSTEM = pathlib.Path("/etc/systemd/system")
NOTES = pathlib.Path("/var/lib/kup-cases")
# The first is there if /var is a file system of its own.
RECORDS = [pathlib.Path(place, "record") for place in ("/usr/local/var/kup", "/var/lib/kup")]
# Seconds for a program to begin, and to answer after an update: memory may be on its way.
BEGIN, ANSWER = 60, 60


def shell(text):
    if text:
        subprocess.run(["sh", "-ec", text], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def systemctl(*words):
    return subprocess.run(["systemctl", "--quiet", *words], check=True)


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_units(cases):
    """Write and enable the units of CASES: one reload of systemd for all, which is slow on an emulated processor."""
    units = []
    for case in cases:
        for path, text in case.FILES.items():
            write(path, text)
        write(SYSTEM / case.unit.replace(f"@{case.INSTANCE}.", "@."), case.unit_file())
        units.append(case.unit)
        if case.peer:
            write(SYSTEM / case.peer_unit, case.peer_file())
            units.append(case.peer_unit)
    systemctl("daemon-reload")
    systemctl("enable", *units)


def start(case):
    if case.peer:
        systemctl("start", case.peer_unit)
    shell(case.SETUP)
    systemctl("restart", case.unit)
    before = wait_for(case, BEGIN)
    shell(case.AFTER)
    if "error" in before:
        return f"the program says {before['error']}"
    unlike = [f"{key} is {before.get(key)!r}" for key, value in case.MUST.items() if before.get(key) != value]
    write(NOTES / f"{case.name}.json", json.dumps(before))
    return f"the case is void: {', '.join(unlike)}" if unlike else None


def wait_for(case, seconds):
    """Return what is observed of CASE, {"error": …} if nobody answers."""
    until = time.monotonic() + seconds
    while True:
        try:
            return case.observe(ask(case.port))
        except (OSError, ValueError) as error:
            if time.monotonic() > until:
                return {"error": f"nobody answers: {error}", "deaf": True}
            time.sleep(0.5)


def judge(case, until):
    before = json.loads((NOTES / f"{case.name}.json").read_text(encoding="utf-8"))
    now = wait_for(case, max(1, until - time.monotonic()))
    # The node may still be about to restart a peer, or to load what the boot loads.
    if "deaf" in now:
        return {"answers": False, "same": False, "differences": [now["error"]]}
    differences = [
        f"{key} is {now.get(key)!r}, was {before.get(key)!r}"
        for key in sorted({*before, *now})
        if key != "token" and before.get(key) != now.get(key)
    ]
    return {"answers": True, "same": before["token"] == now["token"], "differences": differences}


def record():
    there = [path for path in RECORDS if path.exists()]
    text = there[0].read_text(encoding="utf-8", errors="replace") if there else ""
    # The early boot writes quotes also where the library does without.
    fields = {
        key: " ".join(shlex.split(value)) for key, _sign, value in (line.partition("=") for line in text.splitlines())
    }
    return {
        "phase": fields.get("PHASE", ""),
        "reason": fields.get("REASON", ""),
        "fresh": fields.get("FRESH_UNITS", "").split(),
    }


def main():
    cases = [Case(name) for name in sys.argv[2:]]
    if sys.argv[1] == "start":
        found = {}
        write_units(cases)
        for case in cases:
            try:
                found[case.name] = start(case)
            except (OSError, subprocess.CalledProcessError) as error:
                found[case.name] = str(error)
        os.sync()
    else:
        until = time.monotonic() + ANSWER
        found = {**record(), "kernel": os.uname().release, "cases": {case.name: judge(case, until) for case in cases}}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
