"""boot/pages-drained: the end of a unit's page daemon."""

import pytest
from fakenode import OLD, OTHER, UNIT

ENDED_WELL = {"SERVICE_RESULT": "success", "EXIT_STATUS": "0"}


def draining(node, **values):
    made = node(phase="probation", **values)
    made.mark("restore-done", f"{UNIT}.pending", f"{UNIT}.journal.drained")
    return made


def test_all_pages_are_in_place(node):
    made = draining(node)
    made.run("boot/pages-drained", UNIT, **ENDED_WELL)
    assert made.timeline() == ["drained"]
    assert made.marked(f"{UNIT}.drained")
    assert not made.marked(f"{UNIT}.pending")
    assert not made.marked(f"{UNIT}.journal.drained")
    assert not made.marked(f"{UNIT}.lost")
    assert made.group_value(UNIT, "memory.max") == "100"
    assert made.group_value(UNIT, "cpu.weight") == "50"
    assert made.called("systemctl") == ["systemctl daemon-reload"]


@pytest.mark.parametrize(
    ("result", "status"), [("exit-code", "2"), ("exit-code", "1"), ("signal", "KILL"), ("oom-kill", "KILL")]
)
def test_a_daemon_that_failed_has_not_drained(node, result, status):
    made = draining(node)
    made.run("boot/pages-drained", UNIT, SERVICE_RESULT=result, EXIT_STATUS=status)
    assert made.marked(f"{UNIT}.pending")
    assert not made.marked(f"{UNIT}.drained")
    assert not made.marked(f"{UNIT}.lost")
    assert made.timeline() == []
    assert made.calls == []


def test_lost_memory_is_noted_for_the_gate(node):
    made = draining(node)
    made.run("boot/pages-drained", UNIT, SERVICE_RESULT="exit-code", EXIT_STATUS="3")
    assert made.marked(f"{UNIT}.lost")
    assert made.timeline() == []
    assert not made.marked(f"{UNIT}.pending")


def test_the_limit_is_left_to_the_end_of_the_restore(node):
    made = draining(node)
    (made.root / "run/kup/restore-done").unlink()
    made.run("boot/pages-drained", UNIT, **ENDED_WELL)
    assert made.group_value(UNIT, "memory.max") == "max"


def test_services_stay_while_another_unit_s_pages_are_pending(node):
    made = draining(node, units=f"{UNIT} {OTHER}")
    made.mark(f"{OTHER}.pending")
    made.run("boot/pages-drained", UNIT, **ENDED_WELL)
    assert not made.called("systemctl")


def test_the_last_one_unloads_the_module(node):
    made = draining(node)
    made.write("dev/kup_ppp")
    made.run("boot/pages-drained", UNIT, **ENDED_WELL)
    assert made.called("paged release")
    assert made.called("rmmod") == ["rmmod kup_ppp"]


@pytest.mark.parametrize(("phase", "left"), [("fell_back", False), ("probation", True), ("failed", True)])
def test_the_images_go_only_after_a_way_back(node, phase, left):
    made = draining(node, running=OLD)
    made.save(PHASE=phase)
    made.run("boot/pages-drained", UNIT, **ENDED_WELL)
    assert (made.root / "var/lib/kup/images/update").exists() is left
    assert made.plan.exists() is left
