"""Without the checks of preflight: what the rehearsal has to say of a case."""

import importlib.util
import sys

import pytest

from tests.cases import unseen

SAME = {"answers": True, "same": True, "differences": []}


def kept(verdict, sentence=""):
    return {"case-one.service": {"verdict": verdict, "sentence": sentence}}


@pytest.mark.parametrize(
    ("kept", "seen", "result"),
    [
        (kept("refused", "CRIU said so."), SAME, ("refused", "CRIU said so.")),
        (kept("passed"), SAME, ("wrong", "the rehearsal says passed")),
        (kept("skipped", "no time"), SAME, ("wrong", "the rehearsal says skipped: no time")),
        ({}, SAME, ("wrong", "its dump was not rehearsed")),
        (kept("refused", "no"), {**SAME, "differences": ["it is new"]}, ("wrong", "it is new")),
        (kept("refused", "no"), {**SAME, "same": False}, ("lost", "its memory is lost")),
    ],
)
def test_only_a_refusal_that_changes_nothing_is_good(kept, seen, result):
    assert unseen.result("case-one.service", kept, seen) == result


def test_a_copy_of_the_collection_is_blind_for_these_checks_only(tmp_path, monkeypatch):
    folder = unseen.blind_copy(tmp_path / "blind", {"io-uring", "tracer"})
    library = folder / "ansible_collections/kup/fleet/plugins/module_utils"
    assert (folder / "ansible.cfg").exists() and (library / "_criu/checks.py").exists()
    text = (
        (library / "_blocker.py")
        .read_text(encoding="utf-8")
        .replace("from ._errors", "from ansible_collections.kup.fleet.plugins.module_utils._errors")
    )
    (tmp_path / "blinded.py").write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("blinded", tmp_path / "blinded.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "blinded", module)  # where dataclasses look
    spec.loader.exec_module(module)

    def tracer(found):
        """A tracer."""
        yield found, "is there", "end it"

    def other(found):
        """Another."""
        yield from tracer(found)

    assert module.check(tracer)("x") == [] and module.check(tracer).code == "tracer"
    assert [each.code for each in module.check(other)("x")] == ["other"]
