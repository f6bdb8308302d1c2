"""A rollout's arguments: what is refused with which sentence, and how batches are made."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _plan

HOSTS = [f"node{number}" for number in range(1, 11)]
WANTED = {
    "kup_kernel": "7.2",
    "kup_units": ["memcached.service"],
    "kup_engine": "auto",
    "kup_freeze_max": 0,
    "kup_rounds_max": 5,
    "kup_freeze_target": 0.3,
    "kup_batches": [1, "25%", "100%"],
    "kup_max_failed": 0,
    "kup_watch_interval": 10,
    "kup_commit_timeout": 600,
}


def sizes(hosts, batches):
    return [len(batch) for batch in _plan.batches(hosts, batches)]


@pytest.mark.parametrize(
    ("count", "batches", "expected"),
    [
        (10, [1, "25%", "100%"], [1, 2, 7]),
        (1, [1, "25%", "100%"], [1]),
        (3, [1, "25%", "100%"], [1, 1, 1]),
        (10, ["100%"], [10]),
        (10, [3], [3, 3, 3, 1]),
        (5, [1, 2], [1, 2, 2]),
        (10, ["1%"], [1] * 10),
        (10, ["2", "50%"], [2, 5, 3]),
        (2, [100], [2]),
    ],
)
def test_batches_are_those_of_serial(count, batches, expected):
    assert sizes(HOSTS[:count], batches) == expected


def test_batches_cover_every_host_once_and_in_order():
    assert sum(_plan.batches(HOSTS, [1, "25%", "100%"]), []) == HOSTS


@pytest.mark.parametrize(
    "batches",
    [[], None, "abc", 3, [0], ["0%"], [1, 0], ["101%"], ["x"], [-1], ["-5%"], [1.5], ["12.5%"], [True], [None], [[1]]],
)
def test_batches_that_never_cover_the_fleet_are_refused(batches):
    with pytest.raises(KupError, match=r"^kup_batches .*never covers the fleet.*expected"):
        _plan.batches(HOSTS, batches)


def refusal(hosts=HOSTS, connections=None, **wanted):
    with pytest.raises(KupError) as caught:
        _plan.examine(hosts, connections or {}, {**WANTED, **wanted})
    return str(caught.value)


def test_a_good_rollout_gives_its_batches():
    assert _plan.examine(HOSTS, {"node1": "ssh"}, WANTED)[0] == ["node1"]


def test_no_host_is_refused():
    assert "no node to update" in refusal(hosts=[])


@pytest.mark.parametrize("transport", ["local", "ansible.builtin.local"])
def test_the_transport_local_is_refused(transport):
    assert refusal(connections={"node2": transport}).startswith("node2 has the connection 'local'")


@pytest.mark.parametrize("kernel", ["", None, 7.2, "seven", "7", "linux-image-7.2", "7.2; reboot"])
def test_what_is_no_kernel_is_refused(kernel):
    assert refusal(kup_kernel=kernel).startswith(f"kup_kernel is {kernel!r}, expected")


@pytest.mark.parametrize("units", [[], None, "memcached", [""], [3], ["a b"], ["memcached.socket"], ["x.service/y"]])
def test_what_is_no_list_of_services_is_refused(units):
    assert "expected" in refusal(kup_units=units)


def test_a_service_named_twice_is_refused():
    assert "more than once" in refusal(kup_units=["memcached", "memcached"])
    assert "more than once" in refusal(kup_units=["memcached", "memcached.service"])


def test_an_unknown_engine_is_refused_with_those_there_are():
    assert refusal(kup_engine="magic") == "kup_engine is 'magic', expected one of auto, ppp, foam, criu."


@pytest.mark.parametrize("value", [-1, "-1", 1.5, True, None, "x", "1%"])
def test_a_bad_budget_is_refused(value):
    assert refusal(kup_max_failed=value) == f"kup_max_failed is {value!r}, expected a whole number of at least 0."


@pytest.mark.parametrize("value", [0, -1, "soon", None])
def test_a_bad_timeout_is_refused_by_its_name(value):
    sentence = f"kup_switch_timeout is {value!r}, expected a whole number of at least 1."
    assert refusal(kup_switch_timeout=value) == sentence


def test_digits_from_the_command_line_are_numbers():
    assert _plan.number("kup_max_failed", "2", 0) == 2


# Services, and what follows where one cannot be restored.


@pytest.mark.parametrize(
    "unit", [{"name": "b"}, {"name": "b.service", "on_failure": "continue"}, {"name": "b", "on_failure": "stop"}]
)
def test_a_service_may_have_a_policy_of_its_own(unit):
    assert _plan.examine(HOSTS, {}, {**WANTED, "kup_units": ["a", unit], "kup_on_unit_failure": "fall_back"})


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        (5, "has the element 5"),
        ("", "has the element ''"),
        (" ", "has the element ' '"),
        ({}, "has the element {}"),
        ({"name": ""}, "has the element {'name': ''}"),
        ({"on_failure": "stop"}, "expected the name of a service, or a dictionary with it as 'name'"),
        (
            {"name": "b", "on_fail": "stop"},
            "kup_units has for b the key 'on_fail', expected 'name' and 'on_failure' only",
        ),
        (
            {"name": "b", "on_failure": "ignore"},
            "on_failure of b in kup_units is 'ignore', expected one of fall_back, continue, stop.",
        ),
        ({"name": "b", "on_failure": None}, "on_failure of b in kup_units is None"),
        ({"name": "b", "on_failure": ["stop"]}, "on_failure of b in kup_units is ['stop']"),
        ({"name": "a.service"}, "names a.service more than once"),
    ],
)
def test_what_is_no_service_is_refused(unit, says):
    assert says in refusal(kup_units=["a", unit])


def test_an_unknown_policy_is_refused():
    assert refusal(kup_on_unit_failure="ignore") == (
        "kup_on_unit_failure is 'ignore', expected one of fall_back, continue, stop."
    )


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"kup_units": []}, "node2: kup_units is [], expected"),
        ({"kup_units": [{"name": "b", "on_failure": 1}]}, "node2: on_failure of b in kup_units is 1"),
        ({"kup_on_unit_failure": "x"}, "node2: kup_on_unit_failure is 'x'"),
    ],
)
def test_each_host_s_own_value_is_checked(variables, says):
    with pytest.raises(KupError) as caught:
        _plan.check_policies(variables, "node2: ")
    assert str(caught.value).startswith(says)


def test_a_host_without_values_of_its_own_has_the_default():
    _plan.check_policies({}, "node2: ")
