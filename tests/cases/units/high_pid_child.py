"""A child whose pid is above 32767, of a main process whose pid is not"""

import os

MUST = {"high": True}


def program():
    with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
        file.write("4194304")
    with open("/proc/sys/kernel/ns_last_pid", "r+", encoding="ascii") as file:
        last = file.read()
        file.seek(0)
        file.write("223456")
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(last)

    def observe():
        return {"child": child, "high": child > 32767, "alive": os.waitpid(child, os.WNOHANG) == (0, 0)}

    return observe
