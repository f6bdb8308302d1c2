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


def commit(tested=(".", *NOT_TESTED)):
    """Return the last commit of this tree that changed a TESTED file, abbreviated, with "-dirty" where one differs from it; "unknown"
    without git. Of the whole tree it is the last commit.
    """
    paths = () if tested[0] == "." else ("--", *tested)
    head = _git("log", "-1", "--abbrev=12", "--format=%h", *paths)
    if head.returncode:
        return UNKNOWN
    clean = _git("diff", "--quiet", "HEAD", "--", *tested).returncode == 0
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
