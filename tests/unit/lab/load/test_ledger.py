"""The ledger of writes: the generations that a key may hold."""

import pytest

from lab.load import ledger
from lab.load.errors import LoadError
from lab.load.ledger import Ledger


def test_ledger_allows_the_acknowledged_generation_and_what_is_under_way():
    writes = Ledger()
    assert list(writes.allowed(5)) == [0]
    assert writes.begin(5) == 1
    assert list(writes.allowed(5)) == [0, 1]
    writes.acknowledge(5, 100.0)
    assert list(writes.allowed(5)) == [1]
    assert writes.begin(5) == 2
    writes.refuse(5)
    assert list(writes.allowed(5)) == [1]


def test_ledger_until_makes_later_writes_optional():
    writes = Ledger()
    for acked_at in (100.0, 200.0, 300.0):
        writes.begin(5)
        writes.acknowledge(5, acked_at)
    assert list(writes.allowed(5)) == [3]
    assert list(writes.allowed(5, until=200.0)) == [2, 3]
    assert list(writes.allowed(5, until=50.0)) == [0, 1, 2, 3]


def test_ledger_goes_on_after_a_write_that_never_got_its_answer():
    writes = Ledger()
    writes.begin(5)
    content = {"keys": 10, "size": 64, "writes": writes.to_json()}
    assert content["writes"] == {"kup:5": {"acked": 0, "in_flight": 1, "acked_at": None, "history": []}}
    later = ledger.from_result(content, 10, 64, "state.json")
    assert list(later.allowed(5)) == [0, 1]
    assert later.begin(5) == 2
    later.refuse(5)
    assert list(later.allowed(5)) == [0, 1]
    assert later.begin(5) == 2
    later.acknowledge(5, 1.0)
    assert list(later.allowed(5)) == [2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"keys": 9, "size": 64, "writes": {}}, "9 keys of 64 bytes, not 10 keys of 64 bytes"),
        ({"writes": {}}, "holds no result of a run"),
        ([], "holds no result of a run"),
        ({"keys": 10, "size": 64, "writes": {"foreign": {}}}, "holds no result of a run"),
    ],
)
def test_a_state_that_is_not_of_this_run_is_refused(content, message):
    with pytest.raises(LoadError, match=message):
        ledger.from_result(content, 10, 64, "state.json")
