"""boot/generator: which units systemd sees in which boot."""

import pytest
from fakenode import NEW, OLD, UNIT


def linked(node, *marks, **values):
    """Names of the folders of the boot plan that the generator links."""
    made = node(**values)
    for folder in ("pages", "restore", "ahead", "probation"):
        made.write_plan(f"{folder}/{folder}")
    made.mark(*marks)
    early = made.root / "early"
    early.mkdir()
    made.run("boot/generator", "normal", str(early), "late")
    return {path.name for path in early.iterdir()}


RESTORE = {"pages", "restore", "ahead"}


@pytest.mark.parametrize(
    ("phase", "running", "units"),
    [
        ("switching", NEW, {*RESTORE, "probation"}),
        ("switching", OLD, RESTORE),
        ("probation", NEW, {*RESTORE, "probation"}),
        ("probation", OLD, RESTORE),
        ("returning", OLD, RESTORE),
        ("returning", NEW, RESTORE),
        *(
            (phase, NEW, set())
            for phase in ("prepared", "checkpointing", "committed", "fell_back", "aborted", "failed")
        ),
    ],
)
def test_a_boot_does_what_the_record_says(node, phase, running, units):
    assert linked(node, phase=phase, running=running) == units


def test_after_the_restore_only_probation_goes_on(node):
    assert linked(node, "restore-done", phase="probation") == {"probation"}


def test_a_restore_that_waits_for_the_network_is_not_ahead_of_it(node):
    assert linked(node, "network-later") == {"pages", "restore", "probation"}


@pytest.mark.parametrize("phase", ["committed", "fell_back", "failed"])
def test_page_daemons_stay_while_pages_are_pending(node, phase):
    assert linked(node, "restore-done", f"{UNIT}.pending", phase=phase) == {"pages"}


def test_a_cold_start_restores_the_disk_checkpoint(node):
    made = node(DISK_CHECKPOINT="2", running=OLD)
    made.write("var/lib/kup/boot/1/restore/frames")
    made.write("var/lib/kup/boot/2/restore/disk")
    early = made.root / "early"
    early.mkdir()
    made.run("boot/generator", "normal", str(early), "late")
    assert {path.name for path in early.iterdir()} == {"disk"}
    made.write("proc/cmdline", "kup_ppp.table=0x1000,0x2")
    made.run("boot/generator", "normal", str(early), "late")
    assert {path.name for path in early.iterdir()} == {"disk", "frames"}


def test_a_folder_that_is_missing_keeps_no_other_away(node):
    made = node()
    made.write_plan("restore/restore")
    made.write_plan("probation/probation")
    early = made.root / "early"
    early.mkdir()
    made.run("boot/generator", "normal", str(early), "late")
    assert {path.name for path in early.iterdir()} == {"restore", "probation"}


def test_without_a_record_it_does_nothing(node):
    made = node()
    for name in ("record", "record.copy"):
        (made.root / "var/lib/kup" / name).unlink()
    made.run("boot/generator", "normal", str(made.root / "early"), "late")
    assert not (made.root / "early").exists()


def test_with_nothing_to_do_it_starts_one_process(node, tmp_path):
    """Every boot and daemon-reload of the node waits for it."""
    made = node(phase="committed")
    for command in ("uname", "cat", "grep", "cp", "readlink", "mkdir"):
        made.fake(command)
    made.fake("sha256sum", "/usr/bin/sha256sum")
    made.run("boot/generator", "normal", str(tmp_path / "early"), "late")
    assert made.calls == ["sha256sum"]


def test_the_state_may_lie_off_var(node):
    made = node()
    (made.root / "usr/local/var").mkdir(parents=True)
    (made.root / "var/lib/kup").rename(made.root / "usr/local/var/kup")
    for folder in ("pages", "restore", "probation"):
        made.write(f"usr/local/var/kup/boot/1/{folder}/{folder}")
    early = made.root / "early"
    early.mkdir()
    made.run("boot/generator", "normal", str(early), "late")
    assert {path.name for path in early.iterdir()} == {"pages", "restore", "probation"}
