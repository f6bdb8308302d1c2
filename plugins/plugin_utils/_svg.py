# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Pictures as SVG: bars and words over a scale."""

from __future__ import annotations

import html

#: Of all pictures, for a `style` element: light or dark as the reader's system is.
STYLE = """
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .small { font-size: 12px; fill: #59636e }
  .inside { font-size: 12px; fill: #ffffff }
  .card { fill: #ffffff; stroke: #d1d9e0 }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .value { stroke: #0969da; stroke-width: 1 } .box { fill: none; stroke: #59636e; stroke-width: 1.5 } .median { stroke: #cf222e; stroke-width: 3 }
  .old { fill: #6e7781 } .new { fill: #0969da } .serves { fill: #1a7f37 } .frozen { fill: #cf222e } .lazy { fill: #8250df }
  .dump { fill: #bc4c00 } .plan { fill: #9a6700 } .jump { fill: #6e7781 } .kernel { fill: #0969da }
  .early { fill: #218bff } .restore { fill: #1b9e96 } .open { fill: #1a7f37 } .gate { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    .card { fill: #0d1117; stroke: #3d444d }
    .grid { stroke: #3d444d }
  }
"""


class Picture:
    """Bars over a scale from ``begin`` to ``end``, which lies between ``left`` and ``right``, in pixels; ``parts`` are the elements."""

    def __init__(self, begin, end, left, right):
        self._begin, self._left, self._scale = begin, left, (right - left) / (end - begin)
        self.parts = []

    def x(self, at):
        return round(self._left + (at - self._begin) * self._scale, 1)

    def text(self, x, y, words, kind="", anchor="start"):
        about = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self.parts.append(f'<text{about} x="{x}" y="{y}">{html.escape(words)}</text>')

    def rectangle(self, x, y, width, height, kind):
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="2"/>')

    def line(self, x, y, to_x, to_y, kind):
        self.parts.append(f'<line class="{kind}" x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"/>')

    def add_bar(self, y, height, kind, begin, end, words=""):
        """A bar from ``begin`` to ``end`` of the scale, with ``words`` if they find room in it."""
        x = self.x(begin)
        width = max(round(self.x(end) - x, 1), 1.5)
        self.rectangle(x, y, width, height, kind)
        if words and width > 7.2 * len(words):
            self.text(round(x + width / 2, 1), y + 16, words, "inside", "middle")

    def grid(self, step, last, top, bottom, unit=" s"):
        """Lines at multiples of ``step`` from 0 on, with their numbers above."""
        for number in range(int(last / step + 1e-9) + 1):
            x = self.x(number * step)
            self.line(x, top, x, bottom, "grid")
            self.text(x, top - 6, f"{round(number * step, 6):g}{unit}", "small", "middle")

    def svg(self, width, height, label):
        """All of it as an element for a page that has `STYLE`."""
        return (
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(label)}">' + "\n".join(self.parts) + "</svg>"
        )


def nice(step):
    """The next of 0.1, 0.2, 0.5, 1, 2, 5, 10, 20 … from ``step`` on."""
    power = 0.1
    while True:
        for factor in (1, 2, 5):
            if power * factor >= step:
                return power * factor
        power *= 10
