"""Numbers in messages of protobuf."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._criu import protobuf

# Field 1: a message with field 2 = 300; before it another one without that.
MESSAGE = b"\x0a\x02\x08\x05" + b"\x0a\x03\x10\xac\x02" + b"\x18\x07"


@pytest.mark.parametrize(("path", "value"), [((1, 2), 300), ((1, 1), 5), ((3,), 7), ((4,), None), ((1, 9), None)])
def test_a_number_is_found_by_its_fields(path, value):
    assert protobuf.number(MESSAGE, 0, len(MESSAGE), *path) == value


def test_a_message_ends_where_it_is_said_to_end():
    assert protobuf.number(MESSAGE, 0, 9, 3) is None
    with pytest.raises(ValueError):
        protobuf.number(MESSAGE, 0, 8, 3)


@pytest.mark.parametrize("message", [b"\x80" * 12, b"\x0a\x05\x08", b"\x0b\x00", b"\x09\x00"])
def test_what_is_no_message_is_an_error(message):
    with pytest.raises(ValueError):
        list(protobuf.fields(message, 0, len(message)))
