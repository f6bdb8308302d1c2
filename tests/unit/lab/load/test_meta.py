"""memcached's meta protocol."""

import pytest

from lab.load import meta


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
