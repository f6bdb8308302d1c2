"""Limits of tasks, processor time and disk, and a device policy"""

import errno
import os
import pathlib

SERVICE = "TasksMax=8\nCPUQuota=80%\nIOReadBandwidthMax=/ 50M\nDevicePolicy=closed"
MUST = {"tasks": "8", "processor": "80000 100000", "device": "EPERM"}
GROUP = pathlib.Path("/sys/fs/cgroup/system.slice/case-limits.service")


def _device():
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "opened"


def program():
    return lambda: {"device": _device()}


def look():
    disks = (GROUP / "io.max").read_text().split()
    return {
        "tasks": (GROUP / "pids.max").read_text().strip(),
        "processor": (GROUP / "cpu.max").read_text().strip(),
        # Without the number of the disk, which is the kernel's.
        "disk": sorted(word for word in disks if "=" in word),
    }
