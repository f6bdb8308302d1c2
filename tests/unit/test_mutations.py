"""The mutations of tests/mutations still fit the code: one that does not would test nothing when somebody runs them."""

import pytest

from tests.mutations.__main__ import REPO
from tests.mutations.cases import CASES


@pytest.mark.parametrize("mutation", CASES, ids=lambda mutation: f"{mutation.path}: {mutation.what}")
def test_a_mutation_replaces_one_place(mutation):
    assert (REPO / mutation.path).read_text().count(mutation.old) == 1


def test_mutations_have_names_of_their_own():
    names = [mutation.what for mutation in CASES]
    assert len(names) == len(set(names))
