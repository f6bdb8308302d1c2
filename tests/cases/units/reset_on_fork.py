"""Scheduling that children do not inherit (CPUSchedulingResetOnFork=)"""

import os

SERVICE = "CPUSchedulingPolicy=batch\nCPUSchedulingResetOnFork=yes"
REFUSAL = "CPUSchedulingResetOnFork="
MUST = {"reset": True}


def program():
    def observe():
        return {"reset": bool(os.sched_getscheduler(0) & os.SCHED_RESET_ON_FORK)}

    return observe
