"""Recorded results: JSON lines, each with the commit that it was made on."""

import collections
import json
import subprocess

from .paths import REPO

# What a run itself writes, and what no result depends on.
NOT_TESTED = (
    ":!docs",
    ":!*.md",
    ":!*.jsonl",
    ":!bench/*.json",
    ":!tests/faults/outages.json",
    ":!tests/cases/before.json",
)
UNKNOWN = "unknown"


def commit():
    """Return the commit of this tree, abbreviated, with "-dirty" where tested files differ from it; "unknown" without git."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if head.returncode:
        return UNKNOWN
    clean = _git("diff", "--quiet", "HEAD", "--", ".", *NOT_TESTED).returncode == 0
    return head.stdout.strip() + ("" if clean else "-dirty")


def _git(*words):
    return subprocess.run(["git", "-C", str(REPO), *words], capture_output=True, text=True, check=False)


def read(path):
    """Return the rows of the file PATH, oldest first; none if it does not exist."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append(path, row):
    """Append ROW with the current commit to the file PATH."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({**row, "commit": commit()}) + "\n")


def by_commit(rows):
    """Return a sentence: how many of ROWS were made on which commit, the latest first."""
    counts = collections.Counter(row.get("commit", UNKNOWN) for row in reversed(rows))
    return "Results by commit: " + ", ".join(f"{name} ({count})" for name, count in counts.items()) + "."
