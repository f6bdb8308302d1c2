"""A service with a watchdog that is shorter than CRIU holds the service (WatchdogSec=2)"""

import os

from watched import show_life, watchdog

SERVICE = "Type=notify\nNotifyAccess=main\nWatchdogSec=2\nRestart=on-failure"
# The more there is to copy, the longer it is held.
MIB = 250
# Beside many others an emulated processor may be too slow for it, without any update.
ALONE = True
MUST = {"armed": True}


def program():
    pages = [os.urandom(1 << 20) for _number in range(MIB)]
    show_life(0.4)
    return lambda: {"pages": sum(page[-1] for page in pages)}


def look():
    return watchdog("case-watchdog-short.service")
