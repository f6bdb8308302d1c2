# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A value of another type is taken for what it can only mean, or refused in a sentence that begins with its name."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _values


@pytest.mark.parametrize(
    ("value", "option", "meant"),
    [
        ("7", {"type": "int"}, 7),
        ("0.5", {"type": "float"}, 0.5),
        (3, {"type": "float"}, 3.0),
        ("Yes", {"type": "bool"}, True),
        (0, {"type": "bool"}, False),
        (11211, {"type": "list", "elements": "str"}, ["11211"]),
        ([1, "25%"], {"type": "list", "elements": "str"}, ["1", "25%"]),
        ("[1, 2]", {"type": "list", "elements": "int"}, [1, 2]),
        ('[{"uri": "x"}]', {"type": "list", "elements": "dict"}, [{"uri": "x"}]),
        ("a\r\nb", {"type": "list", "elements": "str"}, ["a", "b"]),
        ({"a": 1}, {"type": "dict"}, {"a": 1}),
        ('{"a": 1}', {"type": "dict"}, {"a": 1}),
        ("a: critical|page\r\n\nb:c:d", {"type": "dict"}, {"a": "critical|page", "b": "c:d"}),
        ("", {"type": "dict"}, {}),
        (False, {"type": "str", "choices": ["dump", "off"]}, "off"),
        ("b, a", {"type": "list", "elements": "str", "choices": ["a", "b"]}, ["b", "a"]),
    ],
)
def test_what_a_value_can_only_mean(value, option, meant):
    assert _values.coerce("kup_x", value, option) == meant


@pytest.mark.parametrize(
    ("value", "option", "says"),
    [
        (6.1, {"type": "str"}, 'kup_x is 6.1, expected a text, in quotes as in kup_x: "6.1".'),
        (["a"], {"type": "str"}, "kup_x is ['a'], expected a text."),
        (True, {"type": "int"}, "kup_x is True, expected a whole number."),
        (1.5, {"type": "int"}, "kup_x is 1.5, expected a whole number."),
        ("1e3", {"type": "float"}, "kup_x is '1e3', expected a number such as 0.3."),
        ("maybe", {"type": "bool"}, "kup_x is 'maybe', expected true or false."),
        ({}, {"type": "list"}, "kup_x is {}, expected a list."),
        ("[1", {"type": "list"}, "kup_x is a text that begins as a list and is none in JSON: "),
        ("a", {"type": "list", "elements": "dict"}, "kup_x is a text, expected a list of dictionaries."),
        (
            [1],
            {"type": "list", "elements": "dict"},
            "kup_x has an element that is no dictionary, expected dictionaries only.",
        ),
        ([1.5], {"type": "list", "elements": "str"}, "kup_x has the element 1.5, expected a text."),
        ([None], {"type": "list", "elements": "str"}, "kup_x has the element None, expected a text."),
        (["x"], {"type": "list", "elements": "int"}, "kup_x has the element 'x', expected a whole number."),
        ([], {"type": "dict"}, "kup_x is [], expected a dictionary."),
        ("{a", {"type": "dict"}, "kup_x is a text that begins as a dictionary and is none in JSON: "),
        ("a", {"type": "dict"}, "kup_x has the line 'a', expected a dictionary, in lines such as 'NAME: VALUE'."),
        (": b", {"type": "dict"}, "kup_x has the line ':', expected a dictionary, in lines such as 'NAME: VALUE'."),
        ("b: c", {"type": "dict", "options": {"a": {}}}, "kup_x has the key 'b', expected only a."),
        ({"b": 1}, {"type": "dict", "options": {"a": {}}}, "kup_x has the key 'b', expected only a."),
        ("c", {"type": "str", "choices": ["a", "b"]}, "kup_x is 'c', expected one of a, b."),
        (
            "a, c",
            {"type": "list", "elements": "str", "choices": ["a", "b"]},
            "kup_x has the element 'c', expected a, b.",
        ),
    ],
)
def test_what_means_nothing_is_refused(value, option, says):
    with pytest.raises(KupError) as caught:
        _values.coerce("kup_x", value, option)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(("value", "is_unset"), [(None, True), ("", True), (" \n", True), ([], False), (0, False)])
def test_an_empty_field_is_unset(value, is_unset):
    assert _values.unset(value) is is_unset


def test_a_message_has_no_more_than_the_beginning_of_a_long_value():
    with pytest.raises(KupError) as caught:
        _values.coerce("kup_x", ["x" * 100] * 100, {"type": "int"})
    assert len(str(caught.value)) < 200
