"""The declared cases are complete, and each says what it is."""

import re

import pytest

from tests.cases.guest.declared import Case, names

CASES = [Case(name) for name in names()]


@pytest.mark.parametrize("case", CASES, ids=names())
def test_a_case_is_whole(case):
    assert re.fullmatch(r"[A-Z][^\n]*[^.\n]", case.says), "one line without a full stop"
    assert callable(case.program) and callable(case.look)
    assert set(case.WAYS) <= {"update", "fallback", "panic"} and case.WAYS
    re.compile(case.REFUSAL)
    assert f"Description={case.says}\n" in case.unit_file()
    assert case.command() in case.unit_file() or case.PROGRAM != "{command}"


def test_no_two_share_a_port():
    assert len({case.port for case in CASES}) == len(CASES)


def test_a_case_with_a_peer_starts_it_first():
    case = Case("loopback-peer")
    assert "After=peer-loopback-peer.service\n" in case.unit_file()
    assert "run.py loopback-peer peer" in case.peer_file()


def test_an_instance_is_a_unit_of_its_template():
    assert Case("template-dropin").unit == "case-template-dropin@1.service"
