"""A service that systemd watches (WatchdogSec=)"""

from watched import show_life, watchdog

SERVICE = "Type=notify\nNotifyAccess=main\nWatchdogSec=10\nRestart=on-failure"
MUST = {"armed": True}


def program():
    show_life(2)
    return dict


def look():
    return watchdog("case-watchdog.service")
