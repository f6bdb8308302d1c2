"""One unit's failure with systemd itself: which units keep their process, which start fresh, and what the record says then."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import fakeboot
import pytest
from fakenode import NEW

A, B = "a.service", "b.service"
BROKEN = "the image is damaged"
ON_NEW = {"running": NEW}
B_MAY_FAIL = {"running": NEW, "ON_FAILURE": f"{B}=continue"}


def namespaces():
    """Whether this machine lets us have what `fakeboot` needs."""
    if os.geteuid() or not shutil.which("unshare") or not os.path.exists(fakeboot.MANAGER):
        return False
    return (
        subprocess.run([*fakeboot.BEGIN, fakeboot.PREPARE, "sh", "true"], check=False, capture_output=True).returncode
        == 0
    )


pytestmark = pytest.mark.skipif(not namespaces(), reason="needs root, systemd and namespaces of its own")


def boot(**case):
    """The end of a boot, see `fakeboot.main`."""
    tests = pathlib.Path(fakeboot.__file__).parent
    command = [*fakeboot.BEGIN, fakeboot.PREPARE, "sh", sys.executable, fakeboot.__file__, json.dumps(case)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


FAILURES = pytest.mark.parametrize(
    ("units", "cause"),
    [
        ({A: ("restored", 1), B: (BROKEN, 0)}, f"process 77: {BROKEN}"),
        ({A: ("restored", 0), B: (BROKEN, 1)}, f"process 77: {BROKEN}"),
        ({A: ("restored", 0), B: ("needs", 0)}, "its restore was not started"),
        ({A: ("restored", 2), B: ("crashes", 0)}, "it ended right after it was restored"),
    ],
)


@FAILURES
def test_on_the_old_kernel_one_unit_s_failure_is_its_own(units, cause):
    end = boot(units=units)
    assert end["kept"] == [A]
    assert end["states"][B][0] == "active"
    record = end["record"]
    assert (record["PHASE"], record["DATA"], record["FRESH_UNITS"]) == ("fell_back", "partial", B)
    assert f"started fresh on 6.12-old: {B}: {cause}" in record["REASON"]


@pytest.mark.parametrize("values", [{}, B_MAY_FAIL])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_with_frames_too(values, order):
    end = boot(units={A: ("restored", order[0]), B: (BROKEN, order[1])}, frames=True, values=values)
    assert end["kept"] == [A]
    assert (end["record"]["DATA"], end["record"]["FRESH_UNITS"]) == ("partial", B)
    assert end["record"]["PHASE"] == ("probation" if values else "fell_back")
    assert end["decision"] == "go-on"


@pytest.mark.parametrize("frames", [False, True])
def test_on_the_new_kernel_all_go_back_with_it(frames):
    end = boot(units={A: ("restored", 0), B: (BROKEN, 1)}, frames=frames, values=ON_NEW, jumps=True)
    assert end["jumped"]
    assert end["record"]["REASON"].startswith(f"the restore failed on {NEW}: {B}: process 77: {BROKEN}")
    assert end["record"]["FAILED_UNITS"].split()[0] == B


def test_where_nothing_can_be_restored_all_start_fresh():
    end = boot(units={A: (BROKEN, 0), B: (BROKEN, 1)})
    assert (end["record"]["PHASE"], end["record"]["DATA"], end["kept"]) == ("failed", "fresh", [])


def test_an_early_boot_that_was_killed_costs_no_state_on_the_old_kernel():
    killed = {"nft": "[ -e /run/killed ] || { : >/run/killed; kill -9 $PPID; }"}
    end = boot(units={A: ("restored", 0), B: ("restored", 0)}, fakes=killed)
    assert end["kept"] == [A, B]
    assert end["record"]["PHASE"] == "fell_back"
    assert "FRESH_UNITS" not in end["record"]
