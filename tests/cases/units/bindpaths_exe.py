"""A program that is only in the unit's own view (BindReadOnlyPaths=)"""

import os

HIDDEN, SEEN = "/opt/case-bindpaths", "/usr/local/case-bindpaths"
SETUP = f"mkdir -p {HIDDEN} {SEEN}; cp $(readlink -f /usr/bin/python3) {HIDDEN}/python"
SERVICE = f"BindReadOnlyPaths={HIDDEN}:{SEEN}"
PROGRAM = f"{SEEN}/python -B /usr/local/lib/kup-cases/run.py bindpaths-exe program"


def program():
    return lambda: {"exe": os.readlink("/proc/self/exe"), "readable": os.access(f"{SEEN}/python", os.X_OK)}
