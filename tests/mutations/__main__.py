"""Break the product in small ways, one at a time, and see whether the unit tests notice.

    python3 -m tests.mutations [--only TEXT] [--again]    those that have no result on this commit; --again: all
    python3 -m tests.mutations --list                     what there is, and its last result

A mutation replaces one text by another in a copy of the last commit (`cases`). It is caught if the checks of its part fail.
Each result is written as soon as it is there, so that a run may be stopped and goes on. The exit code is 1 if fewer than nine
of ten are caught, or if one does not fit the code any more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from tests.mutations.cases import CASES, Mutation

REPO = pathlib.Path(__file__).resolve().parents[2]
TREE = REPO / "build/mutations/tree"
LOGS = REPO / "build/mutations/logs"
RESULTS = REPO / "tests/mutations/results.json"
WANTED = 0.9

# What only C code can make fail takes half a minute, and is left out elsewhere.
PYTEST = ("python", "-m", "pytest", "-q", "-x")
LIBRARY = (*PYTEST, "-k", "not sanitizers")
C_CODE = (*PYTEST, "-k", "sanitizers")
#: What tests each part; a mutation in a file of it is caught if this command fails.
CHECKS = {
    "plugins": LIBRARY,
    "files/node": LIBRARY,
    "files/environment": ("make", "-s", "-C", "files/environment", "check"),
    "files/fingerprint": ("make", "-s", "-C", "files/fingerprint", "check"),
    "files/paged": ("make", "-s", "-C", "files/paged", "check"),
    "files/kmod": C_CODE,
    "files/stub": C_CODE,
}
LIMIT = 900  # seconds; a test that a mutation lets hang has noticed it


class Stale(Exception):
    """A mutation does not fit the code."""


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=REPO, text=True, capture_output=True, check=True)
    return done.stdout.strip()


@contextlib.contextmanager
def copy_of_the_commit():
    """A work tree of the last commit, as the unit tests expect it."""
    subprocess.run(["git", "worktree", "remove", "--force", str(TREE)], cwd=REPO, capture_output=True, check=False)
    git("worktree", "prune")
    git("worktree", "add", "--detach", str(TREE), "HEAD")
    try:
        subprocess.run(["tests/bootstrap.sh", "tree"], cwd=TREE, check=True)
        yield
    finally:
        git("worktree", "remove", "--force", str(TREE))


@contextlib.contextmanager
def applied(mutation: Mutation):
    """:raises Stale: its text is not in the file exactly once."""
    path = TREE / mutation.path
    text = path.read_text() if path.exists() else ""
    if text.count(mutation.old) != 1:
        raise Stale(
            f"{mutation.path} has {text.count(mutation.old)} times what '{mutation.what}' replaces, expected once: {mutation.old!r}"
        )
    path.write_text(text.replace(mutation.old, mutation.new))
    try:
        yield
    finally:
        path.write_text(text)


def check_of(path: str) -> tuple[str, ...]:
    """The command that has to fail if the file ``path`` is mutated. Tests of its own room come first: most fail there."""
    command = next(command for folder, command in CHECKS.items() if path.startswith(folder + "/"))
    room = pathlib.Path(path).parent.name.lstrip("_") if path.startswith("plugins/") else "node"
    own = f"tests/unit/{room}"
    return (*command, own, "tests/unit") if command == LIBRARY and (REPO / own).is_dir() else command


def passes(command, log: pathlib.Path) -> bool:
    """Whether the command ends well, in time."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, cwd=TREE, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            return process.wait(LIMIT) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def load() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(results: dict) -> None:
    known = {mutation.what for mutation in CASES}
    kept = {what: row for what, row in sorted(results.items()) if what in known}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def run(wanted: list[Mutation]) -> None:
    results, commit = load(), git("rev-parse", "HEAD")
    with copy_of_the_commit():
        folders = {
            folder: command for folder, command in CHECKS.items() if any(m.path.startswith(folder) for m in wanted)
        }
        for command in dict.fromkeys(folders.values()):
            if not passes(command, LOGS / "unchanged.log"):
                sys.exit(
                    f"mutations: {' '.join(command)} fails on the unchanged commit {commit[:12]}, see {LOGS}/unchanged.log"
                )
        for number, mutation in enumerate(wanted):
            began = time.monotonic()
            with applied(mutation):
                caught = not passes(check_of(mutation.path), LOGS / f"{number}.log")
            results[mutation.what] = {
                "path": mutation.path,
                "caught": caught,
                "seconds": round(time.monotonic() - began, 1),
                "commit": commit,
            }
            save(results)
            print(f"{'caught' if caught else 'MISSED'}  {mutation.path}: {mutation.what}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="those whose path or description has this text")
    parser.add_argument("--again", action="store_true", help="also those that have a result on this commit")
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    results, commit = load(), git("rev-parse", "HEAD")
    chosen = [mutation for mutation in CASES if options.only in f"{mutation.path} {mutation.what}"]
    if not options.list:
        try:
            run([m for m in chosen if options.again or results.get(m.what, {}).get("commit") != commit])
        except Stale as error:
            sys.exit(f"mutations: {error}; correct tests/mutations/cases.py")
        results = load()
    found = [results[mutation.what] for mutation in chosen if mutation.what in results]
    caught = sum(row["caught"] for row in found)
    for mutation in chosen:
        row = results.get(mutation.what)
        if options.list or (row and not row["caught"]):
            verdict = "no result" if not row else "caught" if row["caught"] else "MISSED"
            print(f"{verdict:10} {mutation.path}: {mutation.what}")
    print(f"{caught} of {len(chosen)} mutations caught, {len(chosen) - len(found)} without a result")
    return 0 if len(found) == len(chosen) and caught >= WANTED * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
