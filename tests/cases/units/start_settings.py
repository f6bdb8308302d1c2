"""Limits of address space, file size and processor time, a mask of modes, a working directory, and the lowest priorities"""

import os
import resource

from service import libc

SERVICE = """LimitAS=2G
LimitDATA=1G
LimitFSIZE=0
LimitCPU=1h
UMask=0777
Nice=10
CPUSchedulingPolicy=batch
CPUAffinity=0
IOSchedulingClass=idle
TemporaryFileSystem=/opt
BindPaths=/var/tmp:/opt/there
WorkingDirectory=/opt/there"""
LIMITS = ("AS", "DATA", "FSIZE", "CPU")
IOPRIO_GET, WHO_PROCESS = 252, 1
MUST = {"nice": 10, "policy": os.SCHED_BATCH, "processors": [0], "umask": 0o777, "directory": "/opt/there"}


def program():
    def observe():
        mask = os.umask(0o777)
        os.umask(mask)
        return {
            "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in LIMITS],
            "umask": mask,
            "nice": os.nice(0),
            "policy": os.sched_getscheduler(0),
            "processors": sorted(os.sched_getaffinity(0)),
            "io": libc.syscall(IOPRIO_GET, WHO_PROCESS, 0),
            "directory": os.getcwd(),
        }

    return observe
