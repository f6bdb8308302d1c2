"""Paths that documentation and comments name: each must be a file or a folder of this tree."""

import pathlib
import re
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.name for path in REPO.iterdir() if path.is_dir() and path.name not in ("build", "meta"))
PATH = re.compile(rf"(?<![\w./*$~{{}}-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*[\w/*](?![%$\w])")
PLACEHOLDER = re.compile(r"(?:^|/)[A-Z]{2,}(?:\.py)?(?:/|$)")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
# Recorded results name what there was when they were made; these tests have paths that must not exist.
LEFT_OUT = re.compile(r"^(LICENSES/|COPYING|changelogs/|tests/unit/|docs/.*\.png|.*\.jsonl?$)")


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=REPO, text=True, capture_output=True, check=True
    )
    return sorted(path for path in listed.stdout.splitlines() if not LEFT_OUT.match(path) and (REPO / path).is_file())


def is_there(name, beside):
    """Whether ``name`` (which may have wildcards) is in the tree, or in the folder of the file that names it, or will be built."""
    if any(any(folder.glob(name.rstrip("/"))) for folder in (REPO, beside)):
        return True
    return subprocess.run(["git", "check-ignore", "-q", name], cwd=REPO, check=False).returncode == 0


@pytest.mark.parametrize("path", tracked())
def test_a_file_names_only_paths_that_are_there(path):
    text = (REPO / path).read_text(errors="replace")
    beside = (REPO / path).parent
    found = {name for name in PATH.findall(text) if not PLACEHOLDER.search(name)}
    assert [name for name in sorted(found) if not is_there(name, beside)] == []
    if path.endswith(".md"):
        assert [name for name in LINK.findall(text) if not (beside / name).exists()] == []
