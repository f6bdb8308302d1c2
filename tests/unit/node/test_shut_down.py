"""boot/shut-down: a node that is shut down in order while its kernel is on probation."""

import pytest
from fakenode import OLD, OTHER, UNIT

TWO = f"{UNIT} {OTHER}"


def stopping(node, state="stopping", job="", **values):
    made = node(**{"phase": "probation", "units": TWO, **values})
    made.fake("systemctl", f"[ $1 = show ] && echo '{job}' || echo {state}")
    return made


def test_the_units_start_fresh_in_words_and_nothing_of_the_checkpoint_is_left(node):
    made = stopping(node)
    made.run("boot/shut-down")
    record = made.load()
    assert (record["PHASE"], record["DATA"]) == ("fell_back", "fresh")
    assert record["REASON"].startswith("the node was shut down or restarted on probation; the units start fresh")
    assert not made.plan.exists()
    assert not (made.root / "var/lib/kup/images/update").exists()
    assert made.timeline() == ["shut-down"]


@pytest.mark.parametrize(
    "values",
    [
        {"state": "running"},
        {"state": "maintenance"},
        {"job": "77"},  # of soft-reboot.target
        {"phase": "committed"},
        {"phase": "returning"},
        {"phase": "switching"},
        {"running": OLD},
    ],
)
def test_nothing_else_ends_an_update(node, values):
    made = stopping(node, **values)
    made.run("boot/shut-down")
    assert made.load()["PHASE"] == values.get("phase", "probation")
    assert made.plan.exists()


def test_applications_that_run_already_are_on_probation(node):
    made = stopping(node, phase="switching")
    (made.root / "run/kup/open").symlink_to("now")
    made.run("boot/shut-down")
    assert made.load()["PHASE"] == "fell_back"


def test_a_disk_that_is_full_keeps_no_machine_from_shutting_down(node):
    made = stopping(node)
    (made.root / "var/lib/kup/timeline").mkdir()
    made.run("boot/shut-down")
    assert made.load()["PHASE"] == "fell_back"
