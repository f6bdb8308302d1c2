"""A unit of root with closed files in /tmp and /dev/shm, as web servers in Java have them for what is sent to them"""

import os
import pathlib

PLACES = [pathlib.Path(base, "case-root-tmp/inner") for base in ("/tmp", "/dev/shm")]
MUST = {"state": ["kept", "kept"]}


def program():
    for place in PLACES:
        place.mkdir(parents=True, exist_ok=True)
        os.chmod(place.parent, 0o700)
        (place / "state").write_text("kept")

    def observe():
        return {
            "state": [(place / "state").read_text() for place in PLACES],
            "mode": [oct(place.parent.stat().st_mode) for place in PLACES],
        }

    return observe
