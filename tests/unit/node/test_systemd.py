"""One unit's failure with systemd itself: which units keep their process, which start fresh, and what the record says then."""

import json

import atonce
import fakeboot
import fakesystemd
import pytest
from fakenode import NEW

A, B = "a.service", "b.service"
BROKEN = "the image is damaged"
ON_NEW = {"running": NEW}
B_MAY_FAIL = {"running": NEW, "ON_FAILURE": f"{B}=continue"}

pytestmark = pytest.mark.skipif(not fakesystemd.namespaces(), reason="needs root, systemd and namespaces of its own")


FAILURES = {
    "error": ({A: ("restored", 1), B: (BROKEN, 0)}, f"process 77: {BROKEN}"),
    "late_error": ({A: ("restored", 0), B: (BROKEN, 1)}, f"process 77: {BROKEN}"),
    "not_started": ({A: ("restored", 0), B: ("needs", 0)}, "its restore was not started"),
    "crash": ({A: ("restored", 2), B: ("crashes", 0)}, "it ended right after it was restored"),
}
FRAMES = {
    f"frames_{name}_{order}": {
        "units": {A: ("restored", order), B: (BROKEN, 1 - order)},
        "frames": True,
        "values": values,
    }
    for name, values in {"old": {}, "new": B_MAY_FAIL}.items()
    for order in (0, 1)
}
ALL_BACK = {
    name: {
        "units": {A: ("restored", 0), B: (BROKEN, 1)},
        "frames": frames,
        "values": ON_NEW,
        "jumps": True,
    }
    for name, frames in {"back": False, "back_with_frames": True}.items()
}
KILLED = {"nft": "[ -e /run/killed ] || { : >/run/killed; kill -9 $PPID; }"}
# Name → what `fakeboot.main` takes.
CASES = {
    **{name: {"units": units} for name, (units, _cause) in FAILURES.items()},
    **FRAMES,
    **ALL_BACK,
    "nothing": {"units": {A: (BROKEN, 0), B: (BROKEN, 1)}},
    "killed": {"units": {A: ("restored", 0), B: ("restored", 0)}, "fakes": KILLED},
}


@pytest.fixture(scope="module")
def ends():
    """Dict case → the end of its boot."""

    def boot(name):
        return json.loads(fakesystemd.run(fakeboot.__file__, json.dumps(CASES[name])))

    # Most of a boot is waiting.
    return atonce.each(boot, CASES, workers=4)


@pytest.mark.parametrize("name", FAILURES)
def test_on_the_old_kernel_one_unit_s_failure_is_its_own(ends, name):
    end = ends[name]
    assert end["kept"] == [A]
    assert end["states"][B][0] == "active"
    record = end["record"]
    assert (record["PHASE"], record["DATA"], record["FRESH_UNITS"]) == ("fell_back", "partial", B)
    assert f"started fresh on 6.12-old: {B}: {FAILURES[name][1]}" in record["REASON"]


@pytest.mark.parametrize("name", FRAMES)
def test_with_frames_too(ends, name):
    end = ends[name]
    assert end["kept"] == [A]
    assert (end["record"]["DATA"], end["record"]["FRESH_UNITS"]) == ("partial", B)
    assert end["record"]["PHASE"] == ("probation" if FRAMES[name]["values"] else "fell_back")
    assert end["decision"] == "go-on"


@pytest.mark.parametrize("name", ALL_BACK)
def test_on_the_new_kernel_all_go_back_with_it(ends, name):
    end = ends[name]
    assert end["jumped"]
    assert end["record"]["REASON"].startswith(f"the restore failed on {NEW}: {B}: process 77: {BROKEN}")
    assert end["record"]["FAILED_UNITS"].split()[0] == B


def test_where_nothing_can_be_restored_all_start_fresh(ends):
    end = ends["nothing"]
    assert (end["record"]["PHASE"], end["record"]["DATA"], end["kept"]) == ("failed", "fresh", [])


def test_an_early_boot_that_was_killed_costs_no_state_on_the_old_kernel(ends):
    end = ends["killed"]
    assert end["kept"] == [A, B]
    assert end["record"]["PHASE"] == "fell_back"
    assert "FRESH_UNITS" not in end["record"]
