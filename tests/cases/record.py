"""docs/cases.json: the last result of each case, engine and way; before.json: what they were before the environment was carried;
docs/filter.json: each update during which a client outside has tried what the node's filter forbids.
"""

import json
import pathlib

from lab import results
from lab.paths import REPO

ROWS = REPO / "docs" / "cases.json"
KNOCKS = REPO / "docs" / "filter.json"
# What a result depends on.
COLLECTION = ("files", "plugins", "playbooks", "roles")
BEFORE = pathlib.Path(__file__).resolve().parent / "before.json"


def commit():
    """Return the last commit that changed the collection, with "-dirty" where its files differ from it."""
    return results.commit(COLLECTION)


def read(path=ROWS):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _key(row):
    return row["case"], row["engine"], row["way"]


def write(path, row, key=_key):
    """Write ROW to the file PATH, in the place of the one with the same KEY."""
    rows = {key(old): old for old in read(path)} | {key(row): row}
    _write(path, [rows[each] for each in sorted(rows)])


def _write(path, rows):
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def knocked(engine, way, knocks):
    """Record how often a client outside has tried a forbidden port during an update, and was answered."""
    _write(KNOCKS, [*read(KNOCKS), {"engine": engine, "way": way, **knocks, "commit": commit()}])


def append(row):
    """Record ROW in the place of the last result of its case, engine and way."""
    old = {_key(one): one for one in read(BEFORE)}.get(_key(row))
    said = f"{old['result']}: {old['sentence']}".removesuffix(": ") if old else ""
    write(ROWS, {**row, "before": said, "commit": commit()})


def before(row):
    """Record ROW as what was before."""
    write(BEFORE, {**row, "commit": commit()})


def nowhere(_row):
    """Record nothing."""
