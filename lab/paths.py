"""Where the lab's files are."""

import pathlib

REPO = pathlib.Path(__file__).resolve().parents[1]
#: What runs on nodes.
GUEST = REPO / "lab" / "guest"
#: Where Python finds this tree as a collection, see tests/bootstrap.sh.
COLLECTIONS = REPO / "build" / "collections"
#: A folder per lab: disks, consoles, inventory.
STATE = REPO / "build" / "lab"
