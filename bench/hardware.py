"""Add an update of a real node (on_hardware.yml) to those that were measured there, and show them as `bench.engines` shows the lab's.

    python3 -m bench.hardware FOLDER MIB RATE "CLOCK"

FOLDER has what the client saw (seen.json), the rollout's report (rollout/), and the updates so far (hardware.json). CLOCK is what
`holder.py clock` says on the node.
"""

import itertools
import json
import pathlib
import sys

from bench import engines
from lab import results
from lab.report import read_report


def add(path, mib, rate, row):
    """Add ROW to the file PATH, which is of the form of bench/engines.json; return all rows by size in MiB.

    An update of another commit or rate is not to be compared with this one, so that it begins a file of its own.
    """
    head = {"commit": results.commit(), "rate": rate}
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sizes = kept["sizes"] if {name: kept.get(name) for name in head} == head else {}
    if kept and not sizes:
        path.rename(_aside(path, kept["commit"]))
    sizes.setdefault(str(mib), []).append(row)
    path.write_text(json.dumps({**head, "sizes": sizes}, indent=2) + "\n", encoding="utf-8")
    return {int(size): rows for size, rows in sizes.items()}


def _aside(path, commit):
    """Return a name for what is at PATH that nothing has yet: rates may be changed back and forth."""
    names = (f".{commit}{more}.json" for more in itertools.chain([""], (f"-{number}" for number in itertools.count(2))))
    return next(free for free in map(path.with_suffix, names) if not free.exists())


def main():
    folder, mib, rate, clock = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    seen = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    sizes = add(
        folder / "hardware.json", mib, rate, engines.row(seen, clock, read_report(folder / "rollout")["nodes"][0])
    )
    wrong = sum(row["wrong"] for rows in sizes.values() for row in rows)
    (folder / "hardware.txt").write_text(f"{engines.table(sizes)}\n{wrong} wrong answers\n", encoding="utf-8")
    engines.plot(sizes, folder / "hardware.png")


if __name__ == "__main__":
    main()
