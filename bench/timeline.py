"""Draw docs/timeline.svg: one update of one node, from the report of a rollout.

python3 -m bench.timeline REPORT [NODE]    keep that node's row as bench/timeline.json, and draw it
python3 -m bench.timeline                  draw bench/timeline.json again
"""

import argparse
import json
import pathlib
import sys

from lab.paths import COLLECTIONS, REPO

sys.path.insert(0, str(COLLECTIONS))

from ansible_collections.kup.fleet.plugins.plugin_utils import _svg, _update_picture

KEPT = REPO / "bench" / "timeline.json"
PICTURE = REPO / "docs" / "timeline.svg"
FIELDS = ("kernel_before", "kernel_after", "engine", "outage_s", "memory", "timeline")

TOP = 92


def keep(report, name):
    """The row of node ``name`` (or of the first that was updated) in the file ``report``."""
    rows = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["nodes"]
    rows = [row for row in rows if _update_picture.since_freeze(row.get("timeline"))]
    rows = [row for row in rows if row["name"] == name] if name else rows
    if not rows:
        raise SystemExit(
            f"timeline.py: {report} has no timeline of {name or 'any node'}; give the report of an update."
        )
    return {field: rows[0][field] for field in FIELDS}


def draw(row):
    """The picture of ``row`` as text."""
    picture, height = _update_picture.draw(row, TOP)
    width = _update_picture.WIDTH
    picture.text(24, 32, f"One update: {row['kernel_before']} to {row['kernel_after']}", "title")
    picture.text(24, 54, _about(row), "small")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="Timeline of one update">\n<style>{_svg.STYLE}</style>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>\n'
        + "\n".join(picture.parts)
        + "\n</svg>\n"
    )


def _about(row):
    """What is to be known of the bars."""
    rounds = [each for unit in row["memory"].values() for each in unit.get("rounds", ())]
    copied = f", {len(rounds)} rounds of copying before the freeze, while they serve" if rounds else ""
    return f"engine {row['engine']}, units {', '.join(row['memory'])}{copied}"


def main():
    parser = argparse.ArgumentParser(prog="timeline.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("report", nargs="?", help="report.json of a rollout (default: the row that is kept)")
    parser.add_argument("node", nargs="?", help="its node (default: the first that was updated)")
    args = parser.parse_args()
    if args.report:
        KEPT.write_text(json.dumps(keep(args.report, args.node), indent=2) + "\n", encoding="utf-8")
    PICTURE.write_text(draw(json.loads(KEPT.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
