"""Values of the load: every byte follows from key and generation."""

import pytest

from lab.load import values


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
