"""What is made of the output of another ansible-core's tests, and which Python it runs on."""

import stat

import pytest

from tests import cores


@pytest.mark.parametrize(
    "last, expected",
    [
        ("12 passed in 3.10s", {"passed": 12, "failed": 0, "skipped": 0}),
        ("1 failed, 11 passed, 2 skipped, 1 error in 3.10s", {"passed": 11, "failed": 2, "skipped": 2}),
        ("no tests ran in 0.10s", {"passed": 0, "failed": 0, "skipped": 0}),
    ],
)
def test_errors_are_failures(last, expected):
    assert cores.counted(f"....\n{last}\n") == expected


def test_the_newest_python_that_a_series_knows(tmp_path):
    def python(minor):
        path = tmp_path / f"python3.{minor}"
        path.write_text(f"#!/bin/sh\necho 3 {minor}\n")
        path.chmod(stat.S_IRWXU)
        return path

    given = [python(9), python(13), python(15), tmp_path / "missing"]
    assert cores.interpreter("2.20", given) == given[1]


def test_series_before_the_one_that_is_asked_for_are_not_supported():
    assert [series for series in cores.SERIES if cores.is_supported(series)] == ["2.19", "2.20", "2.21"]
