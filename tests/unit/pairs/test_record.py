"""docs/pairs.json and its page."""

import pytest

from tests.pairs import record

GOOD = {
    "from": "6.12.9+deb13-cloud-amd64", "to": "7.2.12+deb13-cloud-amd64", "engine": "foam", "result": "committed", "keys": 2001,
    "lost": 0, "wrong": 0, "outage_s": 21.4, "reason": "", "commit": "0123456789ab",
}  # fmt: skip


@pytest.mark.parametrize("bad", [{"result": "fell_back"}, {"lost": 1}, {"wrong": 1}])
def test_an_update_that_was_not_kept_or_lost_something_is_not_good(bad):
    assert record.is_good(GOOD)
    assert not record.is_good(GOOD | bad)


def test_the_page_counts_what_was_kept_and_shows_the_rest():
    back = GOOD | {"from": "7.2.12+deb13-cloud-amd64", "to": "6.12.10+deb13-cloud-amd64", "result": "fell_back"}
    page = record.page(
        [back | {"reason": "the gate"}, GOOD, GOOD | {"to": "7.2.13+deb14-cloud-amd64", "outage_s": 24.6}]
    )
    assert "2 of 3 ordered pairs of 4 kernels" in page
    assert "| 6.12 |  | 2/2, 23 s |" in page
    assert "| 7.2 | 0/1 |  |" in page
    assert "| **fell_back**: the gate |" in page


def test_releases_are_sorted_by_their_numbers():
    ten = GOOD | {"from": "6.12.10+deb13-cloud-amd64"}
    lines = record.page([ten, GOOD]).splitlines()
    assert lines[-2].startswith("| 6.12.9+") and lines[-1].startswith("| 6.12.10+")


def test_a_row_takes_the_place_of_the_last_one_of_its_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ROWS", tmp_path / "pairs.json")
    record.append(GOOD)
    record.append(GOOD | {"lost": 3})
    assert [row["lost"] for row in record.read()] == [3]
