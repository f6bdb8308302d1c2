"""A unit with a watchdog, watched by systemd itself, in namespaces (`fakeboot`): it says no word, as while CRIU holds it.

fakewatched.py EXTENDED    whether its watchdog is extended meanwhile; prints as JSON what systemd made of it
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from fakeboot import MANAGER

from ansible_collections.kup.fleet.plugins.module_utils._system.units import Unit
from ansible_collections.kup.fleet.plugins.module_utils._update import watchdogs

NAME = "watched.service"
SECONDS = 1
TEXT = f"""[Unit]
DefaultDependencies=no
[Service]
Type=notify
WatchdogSec={SECONDS}
WatchdogSignal=SIGKILL
ExecStart=/bin/sh -c 'systemd-notify --pid=$$$$ --ready; exec sleep 1000'
"""


def main(extended):
    runtime = pathlib.Path(os.environ["XDG_RUNTIME_DIR"])
    watchdogs.RUN, watchdogs._FILE, watchdogs._SYSTEMD = "/run/kup", "/run/kup/watchdogs", f"{runtime}/systemd/notify"
    own = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / "systemd/user"
    own.mkdir(parents=True)
    (own / "sysinit.target").write_text("[Unit]\nDefaultDependencies=no\n")
    (own / NAME).write_text(TEXT)
    tools = pathlib.Path("/run/bin")
    tools.mkdir()
    (tools / "systemctl").write_text('#!/bin/sh\nexec /usr/bin/systemctl --user "$@"\n')
    (tools / "systemctl").chmod(0o755)
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    manager = subprocess.Popen(
        [MANAGER, "--user", "--unit=sysinit.target"],
        env={**os.environ, "SYSTEMD_LOG_TARGET": "console"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 30
    while subprocess.run(["systemctl", "start", NAME], check=False, capture_output=True).returncode:
        assert time.monotonic() < give_up
        time.sleep(0.2)
    print(json.dumps(watch(extended)))
    manager.kill()


def watch(extended):
    before = Unit(NAME)
    if extended:
        watchdogs.extend([before])
    held = Unit(NAME)
    told = [held.watchdog, watchdogs.own(held)]
    time.sleep(3 * SECONDS)
    found = {"told": told, "held": Unit(NAME).main_pid == before.main_pid}
    watchdogs.release()
    found["released"] = Unit(NAME).watchdog
    time.sleep(0.5 * SECONDS)
    found["at once"] = Unit(NAME).main_pid == before.main_pid
    time.sleep(1.5 * SECONDS)
    return {**found, "later": Unit(NAME).main_pid == before.main_pid}


if __name__ == "__main__":
    main(sys.argv[1] == "True")
