"""docs/pairs.json: the last result of each pair of kernels and engine; docs/pairs.md, made from it."""

import collections
import re
import statistics

from lab import results
from lab.paths import REPO
from tests.cases import record, table
from tests.kernels.packages import series

ROWS, PAGE = REPO / "docs" / "pairs.json", REPO / "docs" / "pairs.md"
GOOD = "committed"


def _numbers(release):
    """Return what sorts releases: their numbers."""
    return [int(number) for number in re.findall(r"\d+", release)]


def _key(row):
    return _numbers(row["from"]), _numbers(row["to"]), row["from"], row["to"], row["engine"]


def _name(row):
    return row["from"], row["to"], row["engine"]


def read():
    return record.read(ROWS)


def append(row):
    """Record ROW in the place of the last result of its pair and engine."""
    record.write(ROWS, {**row, "commit": record.commit()}, _name)


def is_good(row):
    """True if an update was kept, and nothing of the memory was lost or altered."""
    return row["result"] == GOOD and not row["lost"] and not row["wrong"]


def write_page():
    PAGE.write_text(page(read()), encoding="utf-8")


def page(rows):
    """Return the text of the page from the rows of docs/pairs.json."""
    rows = sorted(rows, key=_key)
    good = [row for row in rows if is_good(row)]
    releases = {row[end] for row in rows for end in ("from", "to")}
    lines = [
        "# From which kernel to which",
        "",
        "`make pairs` takes a node of Debian 13 with a memcached in use from kernel to kernel: each of Debian's cloud kernels to the next",
        "one and back, and to the newest of all; and the newest of each series to the newest of each other series. Kernels of which the",
        "archive has not kept all packages are left out. Nothing is started anew between two updates: the",
        "same process and the same connection of a client go all the way. After each update the client finishes a command of which it had",
        "sent one half before, and compares every key. A node that goes back, or loses something, is a result, too. CRIU is that of",
        "`make lab`; memcached has `MemoryDenyWriteExecute=no`, which kernels before 6.3 cannot keep otherwise. This page",
        "and `docs/pairs.json` have the last result of each pair.",
        "",
        f"{len(good)} of {len(rows)} ordered pairs of {len(releases)} kernels were updated and kept with nothing lost. In the paper it was 23 of",
        "23 updates, of which kpatch could make 2 (Kashyap et al., USENIX ATC 2016).",
        "",
        results.by_commit(rows),
        "",
        "## Across series",
        "",
        "How many pairs were updated and kept, of how many, and the median of their outages, on an emulated processor. Before the update:",
        "the row; after it: the column.",
        "",
        *_across(rows),
        "",
        "## All pairs",
        "",
        "Lost and wrong are numbers of keys.",
        "",
        "| from | to | engine | result | keys | lost | wrong | outage |",
        f"{'| --- ' * 8}|",
    ]
    for row in rows:
        said = table.result(row["result"], row["reason"], not is_good(row))
        outage = "" if row["outage_s"] is None else f"{row['outage_s']:.1f} s"
        lines.append(
            f"| {row['from']} | {row['to']} | `{row['engine']}` | {said} | {row['keys']} | {row['lost']} | {row['wrong']} | {outage} |"
        )
    return "\n".join(lines) + "\n"


def _across(rows):
    cells = collections.defaultdict(list)
    for row in rows:
        cells[series(row["from"]), series(row["to"])].append(row)
    known = sorted({name for pair in cells for name in pair}, key=_numbers)
    yield f"| | {' | '.join(known)} |"
    yield f"{'| --- ' * (len(known) + 1)}|"
    for before in known:
        yield f"| {before} | {' | '.join(_cell(cells[before, after]) for after in known)} |"


def _cell(rows):
    if not rows:
        return ""
    outages = [row["outage_s"] for row in rows if is_good(row) and row["outage_s"] is not None]
    median = f", {statistics.median(outages):.0f} s" if outages else ""
    return f"{sum(map(is_good, rows))}/{len(rows)}{median}"
