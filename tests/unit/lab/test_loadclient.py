"""The load client's pure parts: values, protocol, ledger of writes, outages."""

import pytest

from lab.load import ledger, meta, values
from lab.load.errors import LoadError
from lab.load.ledger import Ledger
from lab.load.outages import Outages


@pytest.mark.parametrize("size", [values.MIN_SIZE, 33, 1024, values.MAX_SIZE])
def test_value_has_its_size_and_depends_on_key_and_generation(size):
    assert len(values.value(7, 3, size)) == size
    assert values.value(7, 3, size) == values.value(7, 3, size)
    # Not only the head differs: the last bytes of two values have nothing in common.
    tails = {values.value(number, generation, size)[-8:] for number in (7, 8) for generation in (3, 4)}
    assert len(tails) == 4


def test_head_of_the_largest_key_and_generation_fits_in_the_smallest_value():
    largest = values.value(values.MAX_KEYS - 1, 10**10 - 1, values.MIN_SIZE)
    assert values.origin(largest) == (values.MAX_KEYS - 1, 10**10 - 1)


def test_describe_names_the_value_found_in_the_wrong_place():
    expected = values.value(1, 2, 100)
    assert "kup:9 generation 0" in values.describe(values.value(9, 0, 100), expected)
    damaged = bytearray(expected)
    damaged[40] ^= 1
    assert values.describe(bytes(damaged), expected) == "1 of 100 bytes differ, the first at 40, the last at 40"
    assert "99 bytes instead of 100" in values.describe(bytes(damaged[:99]), expected)


@pytest.mark.parametrize("name", ["kup", "kup:", "kup:x", "other:1", "kup:-1"])
def test_key_number_refuses_what_is_no_key_of_ours(name):
    with pytest.raises(ValueError, match="is not of the form"):
        values.key_number(name)


def test_parse_waits_for_whole_answers_and_takes_one_at_a_time():
    answers = b"HD\r\nVA 4 x\r\n\r\n\r\n\r\nEN\r\n"
    assert meta.parse(answers[:3]) is None
    assert meta.parse(answers) == (b"HD", None, 4)
    rest = answers[4:]
    assert all(meta.parse(rest[:length]) is None for length in range(14))
    assert meta.parse(rest) == (b"VA 4 x", b"\r\n\r\n", 14)
    assert meta.parse(rest[14:]) == (b"EN", None, 4)


@pytest.mark.parametrize("noise", [b"VA x\r\n", b"VA 2\r\nabcd", b"x" * 5000])
def test_parse_refuses_what_is_no_answer(noise):
    with pytest.raises(meta.ProtocolError):
        meta.parse(noise)


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


def _attempts(outages, instants, latency=0.001):
    for instant in instants:
        outages.started(instant)
        outages.answered(instant, instant + latency)


def test_no_outage_while_answers_keep_coming_however_late_each_one_is():
    outages = Outages(threshold=0.1)
    for step in range(50):
        outages.started(step * 0.02)
        if step >= 20:
            outages.answered((step - 20) * 0.02, step * 0.02)
    assert outages.result(1.0) == []


def test_outage_spans_from_the_last_answered_start_to_the_first_answer():
    outages = Outages(threshold=0.1)
    _attempts(outages, [0.00, 0.02])
    for instant in (0.04, 0.06, 0.50, 0.90):
        outages.started(instant)
    outages.failed(0.04)
    outages.answered(0.90, 1.50)
    # Known only after the outage, but belonging to it.
    outages.failed(0.06)
    _attempts(outages, [1.52])
    (outage,) = outages.result(1.53)
    assert (outage["start_monotonic"], outage["end_monotonic"]) == (0.02, 1.50)
    assert outage["seconds"] == pytest.approx(1.48)
    assert outage["attempts_failed"] == 2
    assert outage["blind_s"] == pytest.approx(0.60)


def test_outage_that_does_not_end_is_reported_open():
    outages = Outages(threshold=0.1)
    _attempts(outages, [0.0])
    outages.started(0.02)
    (outage,) = outages.result(3.0)
    assert outage["end"] is None
    assert outage["seconds"] == pytest.approx(3.0)
