"""A daemon that has forked twice: the process that made its session has ended"""

import os

SERVICE = "Type=forking\nPIDFile=/run/case-forked-twice.pid"
PROGRAM = """/usr/bin/setsid --wait /bin/sh -c '{command} & echo $$! >/run/case-forked-twice.pid'"""
MUST = {"leads": False, "leader": False}


def program():
    def observe():
        session = os.getsid(0)
        return {
            "session": session,
            "group": os.getpgid(0),
            "leads": session == os.getpid(),
            "leader": os.path.exists(f"/proc/{session}"),
        }

    return observe
