"""Recorded results: each row has the commit that it was made on."""

import subprocess

import pytest

from lab import results


@pytest.fixture(name="tree")
def _tree(tmp_path, monkeypatch):
    """A repository with a tested file and recorded results."""
    for name in ("tested.py", "results.jsonl"):
        (tmp_path / name).write_text("\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@test.invalid"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(results, "REPO", tmp_path)
    return tmp_path


def test_a_commit_is_dirty_only_where_a_tested_file_differs(tree):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True).stdout
    assert head.startswith(results.commit())
    (tree / "results.jsonl").write_text("{}\n")
    assert head.startswith(results.commit())
    (tree / "tested.py").write_text("changed\n")
    assert results.commit().endswith("-dirty")


def test_a_tree_without_git_has_an_unknown_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(results, "REPO", tmp_path)
    assert results.commit() == "unknown"


def test_rows_are_read_as_they_were_appended_each_with_its_commit(tree):
    path = tree / "results.jsonl"
    path.unlink()
    assert results.read(path) == []
    results.append(path, {"case": "one"})
    results.append(path, {"case": "two"})
    assert results.read(path) == [{"case": name, "commit": results.commit()} for name in ("one", "two")]


def test_rows_without_a_commit_are_counted_as_unknown():
    rows = [{"case": "old"}, {"case": "older"}, {"case": "new", "commit": "abc"}]
    assert results.by_commit(rows) == "Results by commit: abc (1), unknown (2)."
