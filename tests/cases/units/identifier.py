"""What it writes to its output is in the journal under its own name"""

import json
import subprocess
import threading
import time

UNIT = "case-identifier.service"
MUST = {"name": "python3"}


def program():
    def beat():
        while True:
            print("beat", flush=True)
            time.sleep(1)

    threading.Thread(target=beat, daemon=True).start()
    return dict


def look():
    words = ["journalctl", "-q", "-b", "-n1", "-ojson", f"_SYSTEMD_UNIT={UNIT}", "_TRANSPORT=stdout", "MESSAGE=beat"]
    for _try in range(20):
        said = subprocess.run(words, capture_output=True, check=True).stdout
        if said:
            break
        time.sleep(0.5)
    return {"name": json.loads(said or "{}").get("SYSLOG_IDENTIFIER")}
