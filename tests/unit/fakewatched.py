"""A unit with a watchdog, watched by systemd itself (`fakesystemd`): it says no word, as while CRIU holds it.

fakewatched.py EXTENDED    whether its watchdog is extended meanwhile; prints as JSON what systemd made of it
"""

import json
import os
import subprocess
import sys
import time

import fakesystemd

from ansible_collections.kup.fleet.plugins.module_utils._system.units import Unit
from ansible_collections.kup.fleet.plugins.module_utils._update import watchdogs

NAME = "watched.service"
SECONDS = 2
TEXT = f"""[Unit]
DefaultDependencies=no
[Service]
Type=notify
WatchdogSec={SECONDS}
WatchdogSignal=SIGKILL
ExecStart=/bin/sh -c 'systemd-notify --pid=$$$$ --ready; exec sleep 1000'
"""


def main(extended):
    watchdogs._SYSTEMD = f"{os.environ['XDG_RUNTIME_DIR']}/systemd/notify"
    with fakesystemd.manager({NAME: TEXT}):
        subprocess.run(["systemctl", "start", NAME], check=True)
        print(json.dumps(watch(extended)))


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
