"""A child that may be killed where memory runs out, of a main process that may not, as PostgreSQL's"""

import os

SERVICE = "OOMScoreAdjust=-500\n"
MUST = {"child": 0, "main": -500}


def of(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as stream:
        return int(stream.read())


def program():
    told, tell = os.pipe()
    ended, _end = os.pipe()
    child = os.fork()
    if not child:
        os.close(_end)
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as stream:
            stream.write("0")
        os.write(tell, b"s")
        os.read(ended, 1)
        os._exit(0)
    os.read(told, 1)
    return lambda: {"child": of(child), "main": of("self")}
