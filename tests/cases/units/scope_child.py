"""A child of the main process in a control group of its own (systemd-run --scope)"""

import subprocess
import time

REFUSAL = "control group|scope"
ALONE = True
SCOPE = "case-scope-child-1"


def program():
    child = subprocess.Popen(["systemd-run", "--quiet", "--scope", f"--unit={SCOPE}", "sleep", "1000000"])
    time.sleep(2)

    def observe():
        if child.poll() is not None:
            return {"child": 0, "group": "ended"}
        with open(f"/proc/{child.pid}/cgroup", encoding="ascii") as file:
            return {"child": child.pid, "group": file.read().strip()}

    return observe
