"""A rollout's arguments: what is refused with which sentence, and how batches are made."""

from pathlib import Path

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.modules import kup_drain
from ansible_collections.kup.fleet.plugins.plugin_utils import _drain, _plan

OPTIONS, DEFAULTS = _plan.described(Path(__file__).parents[3])
HOSTS = [f"node{number}" for number in range(1, 11)]
WANTED = {**DEFAULTS, "kup_kernel": "7.2", "kup_units": ["memcached.service"], "kup_report_dir": "/var/tmp/report"}


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


def checked(*hosts):
    """Check hosts with these variables, node1 first; returns what their texts and empty values stand for."""
    variables = _plan.Variables(OPTIONS, DEFAULTS)
    meant = [variables.add(f"node{number}", {**WANTED, **host}) for number, host in enumerate(hosts, 1)]
    variables.check()
    return meant


def refusal(*hosts, **wanted):
    """What is said of these hosts, or of one with these variables."""
    with pytest.raises(KupError) as caught:
        checked(*(hosts or [wanted]))
    return str(caught.value)


def test_a_good_rollout_is_accepted():
    assert checked({}, {}) == [{}, {}]


def test_no_host_is_refused():
    with pytest.raises(KupError, match="no node to update"):
        _plan.check_hosts([], {})


@pytest.mark.parametrize("transport", ["local", "ansible.builtin.local"])
def test_the_transport_local_is_refused(transport):
    with pytest.raises(KupError, match="^node2 has the connection 'local'"):
        _plan.check_hosts(HOSTS, {"node1": "ssh", "node2": transport})


@pytest.mark.parametrize("name", ["rack 1", "node*", "a:b", "a,b", "!node", "&node", "node[1:3]", "node?", "~node"])
def test_a_host_that_a_play_cannot_name_is_refused(name):
    with pytest.raises(KupError) as error:
        _plan.check_hosts(["node1", name], {})
    assert str(error.value).startswith(f"{name!r} is the name of a host and would be read as a pattern")


@pytest.mark.parametrize("name", ["node-1.example.net", "192.0.2.7", "2001:db8::7", "rack_1", "nöde"])
def test_a_host_may_have_any_other_name(name):
    _plan.check_hosts([name], {})


@pytest.mark.parametrize("kernel", ["", None, 7.2, 7, "seven", "7", "linux-image-7.2", "7.2; reboot"])
def test_what_is_no_kernel_is_refused(kernel):
    assert refusal(kup_kernel=kernel).startswith(f"node1: kup_kernel is {kernel!r}, expected")


def test_a_kernel_that_yaml_has_made_a_number_of_is_to_be_quoted():
    assert 'quote it, as in kup_kernel: "6.10"' in refusal({}, {"kup_kernel": 6.1})


@pytest.mark.parametrize("units", [[], None, "", [""], [3], ["a b"], ["memcached.socket"], ["x.service/y"], {"a": 1}])
def test_what_is_no_list_of_services_is_refused(units):
    assert "expected" in refusal(kup_units=units)


def test_a_service_named_twice_is_refused():
    assert "more than once" in refusal(kup_units=["memcached", "memcached"])
    assert "more than once" in refusal(kup_units=["memcached", "memcached.service"])


def test_an_unknown_engine_is_refused_with_those_there_are():
    assert refusal(kup_engine="magic") == "node1: kup_engine is 'magic', expected one of auto, ppp, foam, criu."


@pytest.mark.parametrize("name", ["kup_max_failed", "kup_max_unreachable", "kup_batch_success"])
@pytest.mark.parametrize("value", [-1, 1.5, True, "x", [1], "101%", "-1%"])
def test_a_bad_budget_is_refused(name, value):
    assert refusal(**{name: value}).startswith(f"node1: {name} is {value!r}, expected a whole number")


@pytest.mark.parametrize("value", [0, "0", "0%"])
def test_a_batch_needs_a_success(value):
    assert "expected a whole number of at least 1 or a percentage from '1%'" in refusal(kup_batch_success=value)


@pytest.mark.parametrize("value", [0, -1])
def test_a_bad_timeout_is_refused_by_its_name(value):
    sentence = f"node1: kup_switch_timeout is {value!r}, expected a whole number of at least 1."
    assert refusal(kup_switch_timeout=value) == sentence


@pytest.mark.parametrize("value", ["soon", 1.5, True, [600]])
def test_what_is_no_number_is_refused_by_its_name(value):
    assert refusal(kup_switch_timeout=value) == f"node1: kup_switch_timeout is {value!r}, expected a whole number."


@pytest.mark.parametrize("value", [0, "0", "0.0"])
def test_a_rehearsal_that_may_not_freeze_is_refused(value):
    assert "kup_rehearse_max" in refusal(kup_rehearse_max=value)


@pytest.mark.parametrize(
    ("hooks", "says"),
    [
        ({"before_swich": "/etc/passwd"}, "kup_hooks has the key 'before_swich', expected only before_prepare"),
        ({"before_switch": "drain.yml"}, "kup_hooks.before_switch is 'drain.yml', expected the absolute path"),
        ({"before_switch": "/not/here.yml"}, "kup_hooks.before_switch is '/not/here.yml', expected the absolute path"),
        ({"before_switch": ""}, "kup_hooks.before_switch is '', expected the absolute path"),
        ("/etc/passwd", "kup_hooks has the line '/etc/passwd', expected a dictionary, in lines such as"),
    ],
)
def test_a_hook_that_is_not_there_is_refused(hooks, says):
    assert f"node2: {says}" in refusal({}, {"kup_hooks": hooks})


# Services, and what follows where one cannot be restored.


@pytest.mark.parametrize(
    "unit", [{"name": "b"}, {"name": "b.service", "on_failure": "continue"}, {"name": "b", "on_failure": "stop"}]
)
def test_a_service_may_have_a_policy_of_its_own(unit):
    assert checked({"kup_units": ["a", unit], "kup_on_unit_failure": "fall_back"})


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
            "kup_units has for b the key 'on_fail', expected one of name, on_failure, lease_s.",
        ),
        (
            {"name": "b", "on_failure": "ignore"},
            "on_failure of b in kup_units is 'ignore', expected one of fall_back, continue, stop.",
        ),
        ({"name": "b", "lease_s": True}, "lease_s of b in kup_units is True, expected a number of seconds above 0"),
        ({"name": "b", "lease_s": 0}, "lease_s of b in kup_units is 0"),
        ({"name": "b", "lease_s": "30"}, "lease_s of b in kup_units is '30'"),
        ({"name": "b", "on_failure": None}, "on_failure of b in kup_units is None"),
        ({"name": "b", "on_failure": ["stop"]}, "on_failure of b in kup_units is ['stop']"),
        ({"name": "a.service"}, "names a.service more than once"),
    ],
)
def test_what_is_no_service_is_refused(unit, says):
    assert says in refusal(kup_units=["a", unit])


def test_an_unknown_policy_is_refused():
    assert refusal(kup_on_unit_failure="ignore") == (
        "node1: kup_on_unit_failure is 'ignore', expected one of fall_back, continue, stop."
    )


# Many hosts.


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"kup_units": []}, "node2: kup_units is [], expected"),
        ({"kup_units": [{"name": "b", "on_failure": 1}]}, "node2: on_failure of b in kup_units is 1"),
        ({"kup_on_unit_failure": "x"}, "node2: kup_on_unit_failure is 'x'"),
        ({"kup_gate_ports": {"a": 1}}, "node2: kup_gate_ports is {'a': 1}, expected a list."),
    ],
)
def test_each_host_is_checked(variables, says):
    assert refusal({}, variables, {}).startswith(says)


def test_what_is_wrong_on_many_hosts_is_said_once():
    assert refusal({}, {"kup_units": []}, {"kup_units": []}, {"kup_units": []}).startswith(
        "node2 and 2 more: kup_units"
    )


def test_each_mistake_has_its_sentence():
    said = refusal({"kup_units": []}, {"kup_kernel": 6.1})
    assert "node1: kup_units is []" in said
    assert "node2: kup_kernel is 6.1" in said


def test_a_message_has_an_end():
    said = refusal(*({"kup_kernel": f"wrong {number}"} for number in range(50)))
    assert said.count("kup_kernel is") == 10
    assert said.endswith("There are 40 more such sentences.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kup_batches", ["2"]),
        ("kup_max_failed", 3),
        ("kup_max_unreachable", "5%"),
        ("kup_report_dir", "/x"),
        ("kup_stopped_fails", True),
        ("kup_window_patience", 60),
    ],
)
def test_what_the_rollout_decides_once_cannot_differ(name, value):
    assert f"node2: {name} is {value!r}, and" in refusal({}, {name: value})


def test_hosts_may_differ_in_everything_else():
    checked({}, {"kup_units": ["b"], "kup_kernel": "6.12", "kup_engine": "criu", "kup_commit_timeout": 60})


@pytest.mark.parametrize(
    ("kernel", "release", "meant"),
    [
        ("7.2", "7.2.12-amd64", {"kup_kernel": "7.2.12-amd64"}),
        ("newest", " 7.2.12-amd64", {"kup_kernel": "7.2.12-amd64", "kup_kernel_release": "7.2.12-amd64"}),
        ("7.2", "", {}),
        ("7.2", " ", {"kup_kernel_release": ""}),
        # Hosts of a group that is to get another series.
        ("6.12", "7.2.12-amd64", {}),
        ("7.2.11-amd64", "7.2.12-amd64", {}),
    ],
)
def test_a_release_counts_where_the_kernel_means_it(kernel, release, meant):
    assert checked({"kup_kernel": kernel, "kup_kernel_release": release}) == [meant]


def test_what_is_no_release_is_refused():
    assert refusal(kup_kernel_release="the canary's").startswith(
        'node1: kup_kernel_release is "the canary\'s", expected '
    )
    assert refusal(kup_window_patience=-1) == "node1: kup_window_patience is -1, expected a whole number of at least 0."


# Failure domains.


@pytest.mark.parametrize("value", [7, 1.5, True, ["a"], {"a": 1}, "a\nb", "a\x1b[2J"])
def test_what_is_no_name_of_a_domain_is_refused(value):
    assert refusal({}, {"kup_domain": value}).startswith(f"node2: kup_domain is {value!r}, expected a text on one line")


def test_a_node_without_a_domain_among_others_is_refused():
    said = refusal({"kup_domain": " "}, {"kup_domain": "a"}, {"kup_domain": None}, {"kup_domain": "b"})
    assert said == (
        "node1 and 1 more: kup_domain is empty, and 'a' on node2; expected a domain for each node of the rollout, or for none."
    )


def test_domains_are_for_all_or_none():
    for given, found in (("", {}), (" rack 1 ", {"node1": "rack 1", "node2": "rack 1"})):
        variables = _plan.Variables(OPTIONS, DEFAULTS)
        for host in ("node1", "node2"):
            variables.add(host, {**WANTED, "kup_domain": given})
        variables.check()
        assert variables.domains() == found


@pytest.mark.parametrize("value", [0, "0%", "none", True])
def test_a_domain_of_which_no_node_may_begin_is_refused(value):
    assert refusal(kup_domain_parallel=value).startswith(f"node1: kup_domain_parallel is {value!r}, expected a whole")


def test_an_unknown_order_of_domains_is_refused():
    assert refusal(kup_domain_order="all") == "node1: kup_domain_order is 'all', expected one of any, one_at_a_time."


# Alerts.


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kup_alerts": "prometheus:9090"}, "kup_alerts is 'prometheus:9090', expected an address such as"),
        ({"kup_alerts": "https://me:secret@a"}, "kup_alerts has an account in its address"),
        ({"kup_alerts_ignore": ["("]}, "kup_alerts_ignore has the element '(', expected a regular expression"),
        (
            {"kup_alerts_match": "severity=critical"},
            "kup_alerts_match has the line 'severity=critical', expected a dictionary,",
        ),
        ({"kup_alerts_match": {"severity": 3}}, "kup_alerts_match.severity is 3, expected a regular expression"),
        ({"kup_alerts_patience": -1}, "kup_alerts_patience is -1, expected a whole number of at least 0."),
    ],
)
def test_alerts_are_checked(given, says):
    said = refusal(**given)
    assert said.startswith(f"node1: {says}")
    assert "secret" not in said


# Texts and empty fields, as a survey leaves them.


def test_what_is_given_as_its_type_is_left_alone():
    given = {"kup_gate_ports": [11211], "kup_install_packages": False, "kup_batches": [1, "100%"], "kup_freeze_max": 9}
    assert checked(given) == [{}]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("kup_units", "a.service\nb.service\n", ["a.service", "b.service"]),
        ("kup_units", '["a", {"name": "b", "on_failure": "stop"}]', ["a", {"name": "b", "on_failure": "stop"}]),
        ("kup_batches", "1, 25%, 100%", ["1", "25%", "100%"]),
        ("kup_gate_ports", "11211\n192.0.2.7:80", ["11211", "192.0.2.7:80"]),
        ("kup_gate_remote_ports", "80 , 443", [80, 443]),
        ("kup_commit_timeout", " 60 ", 60),
        ("kup_commit_timeout", "", 600),
        ("kup_gate_numbers", "", []),
        ("kup_hooks", None, {}),
        ("kup_engine", "", "auto"),
        ("kup_install_packages", "no", False),
        ("kup_freeze_target", "0.5", 0.5),
        ("kup_engine", "foam\n", "foam"),
        ("kup_kernel", " 7.2\n", "7.2"),
        ("kup_max_failed", " 10% ", "10%"),
        ("kup_alerts_match", "severity: critical|page", {"severity": "critical|page"}),
    ],
)
def test_a_text_is_what_it_can_only_mean(name, text, value):
    assert checked({name: text})[0][name] == value


def test_what_an_empty_field_hides_is_said_in_any_case():
    variables = _plan.Variables(OPTIONS, DEFAULTS)
    given = {**WANTED, "kup_units": ["a.service"], "kup_soak": 5, "kup_notify": [{"url": "https://example.org/secret"}]}
    assert variables.add("node1", given, {"kup_units", "kup_soak", "kup_notify"}) == {
        "kup_units": ["a.service"],
        "kup_soak": 5,
    }


def test_what_one_node_has_is_asked_of_all(tmp_path):
    (tmp_path / "after.yml").write_text("[]")
    variables = _plan.Variables(OPTIONS, DEFAULTS)
    variables.add("node1", {**WANTED, "kup_soak": "0", "kup_drain": "", "kup_textfile_dir": ""})
    assert variables.extras() == []
    variables.add(
        "node2", {**WANTED, "kup_gate_remote_ports": "22", "kup_hooks": {"after_node": str(tmp_path / "after.yml")}}
    )
    variables.add("node3", {**WANTED, "kup_textfile_dir": "/var/lib/prometheus/node-exporter"})
    assert variables.extras() == ["kup_gate_remote_ports", "kup_hooks.after_node", "kup_textfile_dir"]


def test_off_without_quotes_is_off():
    checked({"kup_rehearse": False})


def test_what_hosts_have_in_common_is_said_once():
    meant = {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1}}
    assert _plan.shared(meant) == {"meant": {"x": 1}, "host_meant": {"a": {"y": 2}, "b": {"y": 3}}}


@pytest.mark.parametrize("name", ["kup_gate_commands", "kup_gate_uris", "kup_gate_numbers"])
def test_what_may_hold_a_secret_is_in_no_output(name):
    found = _plan.shared({"a": {"x": 1}, "b": {"x": 1, name: [{}]}})
    assert found == {"meant": {"x": 1}, "host_meant": {"b": {name: [{}]}}, "_ansible_no_log": True}


@pytest.mark.parametrize(
    "values",
    [{"kup_lock_ttl": 1200}, {"kup_lock_ttl": "7200", "kup_commit_timeout": 6600}, {"kup_switch_timeout": 6600}],
)
def test_a_lock_that_expires_while_a_node_is_away_is_refused(values, monkeypatch):
    monkeypatch.setitem(_plan._CHECKS, "kup_lock", lambda place: None)
    assert refusal(kup_lock="/srv/lock", **values).startswith("node1: kup_lock_ttl is ")
    checked(values)
    checked({"kup_lock": "/srv/lock", **values, "kup_lock_ttl": 7201})


# Balancers.


def drain_refusal(**given):
    variables = _plan.Variables(OPTIONS, DEFAULTS)
    host = {**WANTED, **given}
    variables.add("node1", host)
    variables.add_drain("node1", host, _drain.described(Path(__file__).parents[3]))
    try:
        variables.check()
    except KupError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kup_drain": ["haproxy"], "kup_drain_haproxy_hosts": ["lb1"]},
        {"kup_drain": "haproxy", "kup_drain_haproxy_hosts": ["lb1"]},
        {"kup_drain": ["consul", "kubernetes"], "kup_drain_wait": "30", "kup_drain_undrain_after": ["committed"]},
    ],
)
def test_good_balancers_are_accepted(given):
    assert drain_refusal(**given) == ""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"kup_drain": ["haproxi"]},
            "kup_drain has the element 'haproxi', expected haproxy, nginx, keepalived, consul",
        ),
        ({"kup_drain": ["haproxy"]}, "kup_drain_haproxy_hosts is [], expected a list of at least one element"),
        (
            {"kup_drain": ["haproxy"], "kup_drain_haproxy_hosts": "lb1"},
            "kup_drain_haproxy_hosts is 'lb1', expected a list.",
        ),
        (
            {"kup_drain": ["nginx"], "kup_drain_nginx_hosts": ["lb1"], "kup_drain_nginx_files": ["/x"]},
            "kup_drain_nginx_servers is [], expected a list of at least one element, for kup_drain has nginx.",
        ),
        ({"kup_drain": ["consul"], "kup_drain_wait": "soon"}, "kup_drain_wait is 'soon', expected a whole number."),
        ({"kup_drain": ["consul"], "kup_drain_on_timeout": "stop"}, "kup_drain_on_timeout is 'stop', expected one of"),
        ({"kup_drain": ["consul"], "kup_drain_undrain_after": ["lost"]}, "kup_drain_undrain_after is 'lost', expected"),
    ],
)
def test_balancers_are_checked(given, says):
    assert drain_refusal(**given).startswith(f"node1: {says}")


def test_the_plan_knows_the_balancers_of_the_module():
    assert tuple(_drain.BALANCERS) == tuple(kup_drain.BALANCERS)


JUDGED = {
    "kup_judge": [{"name": "errors", "query": 'errors{instance="$instance"}'}],
    "kup_judge_prometheus": "http://127.0.0.1:9090",
    "kup_soak": 600,
}


def test_a_judgement_is_checked_before_any_node_is_touched():
    assert checked(JUDGED, {**JUDGED, "kup_judge_instance": "node2:9100"}) == [{}, {}]
    assert "kup_judge_prometheus is empty" in refusal(JUDGED, {**JUDGED, "kup_judge_prometheus": ""})
    assert refusal({**JUDGED, "kup_judge_prometheus": "p:9090"}).startswith(
        "node1: kup_judge_prometheus is 'p:9090', expected"
    )
    assert "node2: kup_judge_instance is 'a\"b', expected" in refusal(JUDGED, {**JUDGED, "kup_judge_instance": 'a"b'})
    assert refusal({**JUDGED, "kup_soak": 0}).startswith("node1: kup_soak is 0 s, expected at least 150 s")
    assert refusal({**JUDGED, "kup_judge": [{"name": "errors"}]}).startswith(
        "node1: query of errors in kup_judge is None"
    )
    assert refusal(kup_judge="errors") == "node1: kup_judge is a text, expected a list of dictionaries."
    assert "kup_judge_interval is 0, expected a whole number of at least 1" in refusal(
        {**JUDGED, "kup_judge_interval": 0}
    )
    assert "node2: kup_judge_interval is 5, and 30 on node1" in refusal(JUDGED, {**JUDGED, "kup_judge_interval": 5})


def test_a_node_has_its_own_name_in_queries_or_another():
    variables = _plan.Variables(OPTIONS, DEFAULTS)
    variables.add("node1", {**WANTED, **JUDGED})
    variables.add("node2", {**WANTED, **JUDGED, "kup_judge_instance": "node2:9100"})
    assert variables.instances() == {"node1": "node1", "node2": "node2:9100"}


@pytest.mark.parametrize("value", [-1, "soon", True, [1]])
def test_what_is_no_number_of_hours_is_refused(value):
    assert (
        refusal(kup_soak_node_hours=value) == f"node1: kup_soak_node_hours is {value!r}, expected a number such as 0.3."
    )
