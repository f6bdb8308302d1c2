"""A node that goes back by itself is not told to once more."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import service


class Locked(Exception):
    """The chain is about to begin."""


@pytest.mark.parametrize(
    ("said", "begins"), [("active\ninactive\n", False), ("inactive\nactivating\n", False), ("failed\ninactive\n", True)]
)
def test_only_a_node_that_does_not_go_back_begins(monkeypatch, said, begins):
    def refuse():
        raise Locked

    monkeypatch.setattr(service, "run", lambda argv, check: types.SimpleNamespace(stdout=said))
    monkeypatch.setattr(service.lock, "exclusive", refuse)
    if begins:
        with pytest.raises(Locked):
            service.go_back("a reason")
    else:
        service.go_back("a reason")
