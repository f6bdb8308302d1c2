"""A main process whose pid is above 32767"""

SETUP = "sysctl -qw kernel.pid_max=4194304; cp /proc/sys/kernel/ns_last_pid /run/case-last-pid; echo 123456 >/proc/sys/kernel/ns_last_pid"
# The processes that start next shall be ordinary ones.
AFTER = "cat /run/case-last-pid >/proc/sys/kernel/ns_last_pid"
MUST = {"high": True}


def program():
    import os

    return lambda: {"high": os.getpid() > 32767}
