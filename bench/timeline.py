"""Draw docs/timeline.svg: one update of one node, from the report of a rollout.

python3 -m bench.timeline REPORT [NODE]    keep that node's row as bench/timeline.json, and draw it
python3 -m bench.timeline                  draw bench/timeline.json again
"""

import argparse
import html
import json
import pathlib

from lab.paths import REPO

KEPT = REPO / "bench" / "timeline.json"
PICTURE = REPO / "docs" / "timeline.svg"
FIELDS = ("kernel_before", "kernel_after", "engine", "outage_s", "memory", "timeline")

# class of the bar, its name, the events that it lies between
STEPS = (
    ("dump", "freeze and dump", "freeze", "dumped"),
    ("plan", "boot plan and record", "dumped", "planned"),
    ("jump", "kexec", "planned", "kernel-start"),
    ("kernel", "kernel starts", "kernel-start", "user-space"),
    ("early", "early boot", "user-space", "restore-start"),
    ("restore", "restore", "restore-start", "restore-end"),
    ("open", "packets pass again", "restore-end", "open"),
)

WIDTH, LEFT, RIGHT, TOP = 880, 118, 24, 92
BAR, PITCH = 24, 40
LONGEST = 1.9  # of the outage: the memory of a large application would push everything else together
STYLE = """
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .inside { font-size: 12px; fill: #ffffff }
  .card { fill: #ffffff; stroke: #d1d9e0 }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .old { fill: #6e7781 } .new { fill: #0969da } .serves { fill: #1a7f37 } .frozen { fill: #cf222e } .lazy { fill: #8250df }
  .dump { fill: #bc4c00 } .plan { fill: #d4a72c } .jump { fill: #6e7781 } .kernel { fill: #0969da }
  .early { fill: #54aeff } .restore { fill: #1b9e96 } .open { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    .card { fill: #0d1117; stroke: #3d444d }
    .grid { stroke: #3d444d }
  }
"""


def keep(report, name):
    """The row of node ``name`` (or of the first that was updated) in the file ``report``."""
    rows = [row for row in json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["nodes"] if row.get("timeline")]
    rows = [row for row in rows if row["name"] == name] if name else rows
    if not rows:
        raise SystemExit(
            f"timeline.py: {report} has no timeline of {name or 'any node'}; give the report of an update."
        )
    return {field: rows[0][field] for field in FIELDS}


def seconds(events):
    """event → seconds since the last freeze: the first restore and page after it, the last of everything else."""
    freeze = max(event["at"] for event in events if event["event"] == "freeze")
    boots = {event["boot"] for event in events if event["at"] >= freeze}
    found = {}
    for event in sorted(events, key=lambda event: event["at"]):
        # A boot's clock may begin a second early.
        if event["boot"] in boots and event["at"] >= freeze - 1:
            if event["event"] == "restore-start" and "restore-start" in found:
                continue
            found[event["event"]] = max(event["at"] - freeze, 0.0)
    return found


class Picture:
    """Bars over seconds, as SVG."""

    def __init__(self, begin, end):
        self._begin, self._scale = begin, (WIDTH - LEFT - RIGHT) / (end - begin)
        self.parts = []

    def x(self, at):
        return round(LEFT + (at - self._begin) * self._scale, 1)

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(words)}</text>')

    def draw_bar(self, row, kind, begin, end, words=""):
        x, y = self.x(begin), TOP + row * PITCH
        width = max(round(self.x(end) - x, 1), 1.5)
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{BAR}" rx="2"/>')
        if width > 7.2 * len(words):
            self.text(round(x + width / 2, 1), y + 16, words, "inside", "middle")

    def grid(self, step, first, last, height):
        at = first
        while at <= last:
            self.parts.append(f'<line class="grid" x1="{self.x(at)}" y1="{TOP - 8}" x2="{self.x(at)}" y2="{height}"/>')
            self.text(self.x(at), TOP - 14, f"{at:g} s", "small", "middle")
            at += step


def draw(row):
    """The picture of ``row`` as text."""
    at = seconds(row["timeline"])
    steps = [step for step in STEPS if step[2] in at and step[3] in at]
    drained = at.get("drained", at["open"])
    last = min(max(drained * 1.04, at["open"] * 1.2), at["open"] * LONGEST)
    begin = -0.14 * last
    picture = Picture(begin, last)
    bottom = TOP + 3 * PITCH + BAR + 8
    picture.grid(_nice(last / 8), 0, last, bottom)
    for number, label in enumerate(("kernel", "applications", "steps", "memory")):
        picture.text(LEFT - 12, TOP + number * PITCH + 16, label, anchor="end")
    old, new = (row[key].partition("+")[0] for key in ("kernel_before", "kernel_after"))
    picture.draw_bar(0, "old", begin, at["planned"], old)
    picture.draw_bar(0, "new", at["kernel-start"], last, new)
    picture.draw_bar(1, "serves", begin, 0, "serve")
    picture.draw_bar(1, "frozen", 0, at["open"], f"outage {row['outage_s']:.1f} s")
    picture.draw_bar(1, "serves", at["open"], last, "serve")
    for kind, _name, first, second in steps:
        picture.draw_bar(2, kind, at[first], at[second])
    if drained > at["open"]:
        picture.draw_bar(3, "lazy", at["open"], min(drained, last), f"lazy pages come in, until {drained:.0f} s")
    columns = 3
    for number, (kind, name, first, second) in enumerate(steps):
        x, y = LEFT + number % columns * 245, bottom + 18 + number // columns * 24
        picture.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="12" height="12" rx="2"/>')
        picture.text(x + 20, y + 11, f"{name}  {at[second] - at[first]:.1f} s")
    height = bottom + 18 + -(-len(steps) // columns) * 24 + 10
    picture.text(24, 32, f"One update: {row['kernel_before']} to {row['kernel_after']}", "title")
    picture.text(24, 54, _about(row), "small")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="Timeline of one update">\n<style>{STYLE}</style>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
        + "\n".join(picture.parts)
        + "\n</svg>\n"
    )


def _about(row):
    """What is to be known of the bars."""
    rounds = [each for unit in row["memory"].values() for each in unit.get("rounds", ())]
    copied = f", {len(rounds)} rounds of copying before the freeze, while they serve" if rounds else ""
    return f"engine {row['engine']}, units {', '.join(row['memory'])}{copied}"


def _nice(step):
    """The next of 1, 2, 5, 10, 20 … from ``step`` on."""
    power = 0.1
    while True:
        for factor in (1, 2, 5):
            if power * factor >= step:
                return power * factor
        power *= 10


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
