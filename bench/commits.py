"""The outage of one update on several commits of this repository, in turn on the same host: whether a change costs downtime.

    python3 -m bench.commits BEFORE AFTER [--turns 5] [--engine foam] [--mib 256]

Each turn checks out every commit once, and has its own bench.engines update one node; the medians and their ratio to the first commit are
printed, and build/bench/commits.json is left with every turn. The outage is in counted instructions, a nanosecond each (engines.py says
what that sees and what not). Turns beside each other would share the lab's name, so one after the other.
"""

import argparse
import json
import subprocess
import sys
from statistics import median

from lab.command import LabError, run, say
from lab.paths import REPO

OUT = REPO / "build" / "bench"
PARTS = ("outage_s", "freeze_to_kexec_s", "silence_to_kernel_s", "kernel_to_answer_s")


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.commits", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT", help="the first is what the others are compared with")
    parser.add_argument("--turns", type=int, default=5, help="of all commits (default: %(default)s)")
    parser.add_argument("--engine", default="foam", help="(default: %(default)s)")
    parser.add_argument("--mib", type=int, default=256, help="the application's memory (default: %(default)s)")
    return parser.parse_args()


def checked_out(name):
    """Return the path of a work tree of commit NAME, ready to be run, which is kept for the next turn."""
    commit = run("git", "rev-parse", "--short=12", f"{name}^{{commit}}", cwd=REPO).strip()
    tree = OUT / "trees" / commit
    if not tree.is_dir():
        run("git", "worktree", "add", "--detach", tree, commit, cwd=REPO)
    # Ansible finds each tree by its collection's name, which its lab imports too.
    run("tests/bootstrap.sh", "tree", cwd=tree)
    run("make", "--silent", "tools", cwd=tree)
    return tree


def outage(tree, args):
    """Let the commit of TREE update a node once; return what it measured."""
    argv = [sys.executable, "-m", "bench.engines", "--turns", 1, "--sizes", args.mib, "--engines", args.engine]
    with (OUT / f"{tree.name}.log").open("a", encoding="utf-8") as log:
        done = subprocess.run(
            list(map(str, argv)), cwd=tree, check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    if done.returncode:
        raise LabError(f"The bench of {tree.name} ended with {done.returncode}; see {log.name}.")
    found = json.loads((tree / "build" / "bench" / "engines.json").read_text(encoding="utf-8"))
    return found["sizes"][str(args.mib)][0]


def table(turns):
    """Return the medians of TURNS, {commit: [what each turn measured]}, as a text; ratios are to the first commit."""
    base = None
    rows = [f"{'commit':<14}{'ratio':>7}" + "".join(f"{part[:-2]:>22}" for part in PARTS)]
    for commit, found in turns.items():
        medians = {part: median(each[part] for each in found) for part in PARTS}
        base = base or medians["outage_s"]
        seconds = "".join(f"{medians[part]:>20.3f} s" for part in PARTS)
        rows.append(f"{commit:<14}{medians['outage_s'] / base:>7.3f}{seconds}")
    return "\n".join(rows)


def main():
    args = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        trees = [checked_out(name) for name in args.commits]
        turns = {tree.name: [] for tree in trees}
        for turn in range(args.turns):
            for tree in trees:
                turns[tree.name].append(outage(tree, args))
                say(f"turn {turn + 1}, {tree.name}: outage {turns[tree.name][-1]['outage_s']:.3f} s")
                kept = {"engine": args.engine, "mib": args.mib, "turns": turns}
                (OUT / "commits.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(table(turns))


if __name__ == "__main__":
    main()
