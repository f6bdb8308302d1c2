"""The unit tests and ansible-test's sanity tests on each series of ansible-core that is supported; the others are refused by the first task.

    python3 -m tests.cores [--only 2.20,2.21] [--python FILE]...      the series that have no result on this commit
    python3 -m tests.cores --table      write docs/cores.md from docs/cores.json

A series needs a Python that it knows: one of --python, or python3.N of PATH. Where there is none, that is said, and nothing recorded. Each
series has a virtual environment of its own in build/cores.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import results
from lab.command import LabError, clean_environment, say
from lab.paths import COLLECTIONS, REPO
from tests import suite
from tests.cases import record
from tests.rollout.nodes import Rollout

ROWS, PAGE = REPO / "docs/cores.json", REPO / "docs/cores.md"
OUT = REPO / "build/cores"
# Series → minor versions of Python 3 that its controller runs on (the release notes of each).
SERIES = {
    "2.16": (10, 11, 12),
    "2.17": (10, 11, 12),
    "2.18": (11, 12, 13),
    "2.19": (11, 12, 13),
    "2.20": (12, 13, 14),
    "2.21": (12, 13, 14),
}
# Of tests/requirements.txt: what no unit test needs.
LINTERS = ("ansible-core", "ansible-lint", "molecule", "ruff", "reuse", "antsibull-changelog", "galaxy-importer")
TESTED = ("plugins", "playbooks", "roles", "meta", "awx", "tests/unit", "tests/rollout")
GOOD = ("right", "refused")


def arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.cores", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="series, comma separated, with a result or not")
    parser.add_argument("--python", type=Path, action="append", default=[], metavar="FILE", help="an interpreter")
    parser.add_argument("--table", action="store_true", help="write the page and test nothing")
    parser.add_argument("--refused", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def is_supported(series):
    # Here: an ansible-core that is not supported may not load all of the collection.
    from ansible_collections.kup.fleet.plugins.plugin_utils import _ansible_core

    return not _ansible_core.objection(f"{series}.0", (REPO / "meta/runtime.yml").read_text(encoding="utf-8"))


def _version(python):
    """Return the (major, minor) of an interpreter; None if it does not run: a version manager's may not be active."""
    try:
        said = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(map(int, said.stdout.split()))


def interpreter(series, given):
    """Return a Python for SERIES, the newest that it knows; None without one."""
    found = [*given, *filter(None, (shutil.which(f"python3.{minor}") for minor in SERIES[series]))]
    known = {_version(python): python for python in reversed(found)}
    fit = [version for version in known if version and version[0] == 3 and version[1] in SERIES[series]]
    return known[max(fit)] if fit else None


def environment(series, python):
    """Make the virtual environment of SERIES; return its directory."""
    place = OUT / series
    wanted = [
        line for line in (REPO / "tests/requirements.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", *LINTERS))
    ]  # fmt: skip
    subprocess.run([python, "-m", "venv", "--clear", place], check=True)
    pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"ansible-core=={series}.*", *(wanted if is_supported(series) else ())], check=True)
    return place


def _run(place, log, *command):
    """Run COMMAND with the virtual environment in PLACE first; return the exit code and the output, which goes to the file LOG."""
    path = f"{place / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    done = subprocess.run(
        command, cwd=REPO, env={**clean_environment(), "PATH": path, "KUP_VENV": str(place)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    (OUT / log).write_text(done.stdout, encoding="utf-8")
    return done.returncode, done.stdout


def _versions(place):
    code = "import platform, ansible.release; print(ansible.release.__version__, platform.python_version())"
    core, python = subprocess.run(
        [place / "bin/python", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    return {"core": core, "python": python}


def counted(output):
    """Return {"passed", "failed", "skipped"} of what pytest says last; errors are failures."""
    last = output.strip().splitlines()[-1]
    numbers = {what: int(number) for number, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", last)}
    failed = numbers.get("failed", 0) + numbers.get("error", 0) + numbers.get("errors", 0)
    return {"passed": numbers.get("passed", 0), "failed": failed, "skipped": numbers.get("skipped", 0)}


def support(series, place):
    """Test a supported series; return its result."""
    code, output = _run(place, f"{series}-pytest.log", str(place / "bin/python"), "-m", "pytest", "-q", "tests/unit")
    found = counted(output)
    sane, _output = _run(place, f"{series}-sanity.log", "tests/sanity.sh", str(place))
    right = not code and not found["failed"] and found["passed"] and not sane
    return {"result": "right" if right else "failed", **found, "sanity": not sane}


def refuse(series, place):
    """Try a series that is not supported: the first task has to say so, and nobody may have been asked anything."""
    code, output = _run(place, f"{series}.log", str(place / "bin/python"), "-m", "tests.cores", "--refused")
    right = not code and json.loads(output.splitlines()[-1])
    return {"result": "refused" if right else "failed"}


def try_rollout():
    """Print whether a rollout with this Python's ansible-core ends with the sentence."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "rollout")
        folder.mkdir()
        done = Rollout(folder, {"node1": {}}).run(kup_kernel="7.2", kup_units=["memcached.service"])
    sentence = re.search(r"The controller has ansible-core \S+, expected [\d.]+ or later; install it", done.said)
    print(done.output)
    print(json.dumps(bool(done.code and sentence and not done.asked)))


def work(args):
    if args.refused:
        try_rollout()
        return []
    if args.table:
        PAGE.write_text(page(record.read(ROWS)), encoding="utf-8")
        return []
    commit, bad = results.commit(TESTED), []
    done = {row["series"] for row in record.read(ROWS) if row["commit"] == commit}
    wanted = args.only.split(",") if args.only else [series for series in SERIES if series not in done]
    OUT.mkdir(parents=True, exist_ok=True)
    for series in wanted:
        if series not in SERIES:
            raise LabError(f"ansible-core {series} is not known, expected one of {', '.join(SERIES)}.")
        python = interpreter(series, args.python)
        if python is None:
            say(f"{series}: no Python 3.{SERIES[series][0]} to 3.{SERIES[series][-1]} was found")
            continue
        place = environment(series, python)
        row = {**_versions(place), **(support if is_supported(series) else refuse)(series, place)}
        record.write(ROWS, {"series": series, **row, "commit": commit}, lambda one: one["series"])
        say(f"{series}: {row}")
        bad += [] if row["result"] in GOOD else [f"{series}: {row}; see {OUT}"]
    return bad


def page(rows):
    lines = [
        "# Which ansible-core",
        "",
        "`make cores` runs the unit tests, those of whole rollouts among them, and every sanity test of ansible-test on each series that is",
        "supported, on the newest Python that it knows and the machine has. A series that is not is refused by the first task, before any node",
        "is asked. This page is written from `docs/cores.json`.",
        "",
        "| ansible-core | Python | result | tests passed | failed | skipped | sanity | commit |",
        f"{'| --- ' * 8}|",
    ]
    for row in rows:
        sane = {True: "passed", False: "failed", None: ""}[row.get("sanity")]
        numbers = " | ".join(str(row.get(name, "")) for name in ("passed", "failed", "skipped"))
        lines.append(f"| {row['core']} | {row['python']} | {row['result']} | {numbers} | {sane} | {row['commit']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(COLLECTIONS))
    options = arguments()
    suite.end("cores", lambda: work(options))
