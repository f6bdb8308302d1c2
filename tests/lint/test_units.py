"""systemd reads every unit of a boot plan, as it is rendered from the templates in files/node/units.

``systemd-analyze verify`` reads units of this machine, too, so the paths of the node are replaced by those of a copy of files/node.
"""

import os
import re
import shutil
import subprocess

import fakeplan
import pytest
from fakenode import SCRIPTS

# Complaints that are expected from older releases of systemd, each with the release that knows better.
ALLOWED = {
    "Unknown key 'RestartMode' in section [Service], ignoring.": 254,
}
RUNTIME = "/usr/local/lib/kup"
# Programs that are installed there beside files/node.
PROGRAMS = ("paged", "environment", "fingerprint")  # and CRIU's plug-in, which no unit names


def release():
    return int(
        re.search(
            r"\d+", subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, check=True).stdout
        )[0]
    )


@pytest.fixture
def units(monkeypatch, tmp_path):
    """All units of a plan in one folder, as systemd sees them: the restored ones, the page daemons and those of the probation."""
    plan = fakeplan.write(monkeypatch, tmp_path)
    runtime, folder = tmp_path / "runtime", tmp_path / "units"
    shutil.copytree(SCRIPTS, runtime)
    for name in PROGRAMS:
        (runtime / name).write_text("#!/bin/sh\n")
        (runtime / name).chmod(0o755)
    for part in ("restore", "ahead", "pages", "probation"):
        shutil.copytree(plan / part, folder, dirs_exist_ok=True, symlinks=True)
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.write_text(path.read_text().replace("/proc/1/root", "").replace(RUNTIME, str(runtime)))
    return folder


def complaints(units):
    names = sorted(path.name for path in units.iterdir() if path.suffix in (".service", ".timer"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *(str(units / name) for name in names)],
        check=False,
        capture_output=True,
        text=True,
    )
    allowed = [text for text, known_from in ALLOWED.items() if release() < known_from]
    lines = (done.stdout + done.stderr).splitlines()
    # Only of our own: the machine's units are not ours to judge.
    ours = [line for line in lines if str(units) in line or any(line.startswith(f"{name}:") for name in names)]
    return [line for line in ours if not line.endswith(tuple(allowed))]


# Where a unit's drop-ins may be (systemd.unit(5)): its own, of its template, of its prefixes, and of the type.
DROP_INS = ("my-cache@1.service.d", "my-cache@.service.d", "my-@1.service.d", "my-@.service.d", "service.d")


def unknown_keys(early, later, name):
    """Lines in which systemd says that a setting of ``name`` is unknown, with two folders as its first unit paths."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(early / name)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{early}:{later}:"},
    )
    return [line for line in (done.stdout + done.stderr).splitlines() if "Unknown key 'Bogus'" in line]


@pytest.mark.parametrize("folder", DROP_INS)
def test_a_drop_in_of_a_restored_unit_is_not_read(monkeypatch, tmp_path, folder):
    name, later = "my-cache@1.service", tmp_path / "etc"
    drop_in = later / folder / "zzzz.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nBogus=1\n")
    plan = fakeplan.write(monkeypatch, tmp_path / "without", name=name)
    assert len(unknown_keys(plan / "restore", later, name)) == 1  # systemd would read it
    plan = fakeplan.write(monkeypatch, tmp_path / "with", name=name, drop_ins=[str(drop_in)])
    assert unknown_keys(plan / "restore", later, name) == []


def cycles(plan, folder, **texts):
    """Lines in which systemd says that it drops a job, when all of a plan's units are started with others."""
    for part in ("restore", "ahead", "pages"):
        if (plan / part).exists():
            shutil.copytree(plan / part, folder, dirs_exist_ok=True, symlinks=True)
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text)
    names = " ".join(name.replace("_", ".") for name in texts)
    early = "sysinit.target cryptsetup.target systemd-journald.service"
    (folder / "all.target").write_text(f"[Unit]\nWants={early} {names}\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(folder / "all.target")],
        check=False,
        capture_output=True,
        text=True,
    )
    return [line for line in (done.stdout + done.stderr).splitlines() if "deleted to break ordering cycle" in line]


TIMER = {"cache_timer": "[Timer]\nOnBootSec=10min\n"}
LATE = {"late_service": "[Unit]\nBefore=cache.service\n[Service]\nExecStart=/bin/true\n"}


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (TIMER, {"after": "cache.timer", "triggers": "cache.timer"}),
        (LATE, {"after": "late.service", "others": {"late.service": [LATE["late_service"]]}}),
    ],
    ids=["timer", "late"],
)
def test_no_restore_is_dropped_for_a_late_unit_that_asks_to_come_first(monkeypatch, tmp_path, texts, known):
    plan = fakeplan.write(monkeypatch, tmp_path / "ahead")
    assert cycles(plan, tmp_path / "a", **texts) != []  # which job is dropped is left to chance
    plan = fakeplan.write(monkeypatch, tmp_path / "waiting", **known)
    assert cycles(plan, tmp_path / "b", **texts) == []


def test_systemd_has_no_complaint(units):
    assert complaints(units) == []


def test_a_misspelled_key_is_a_complaint(units):
    path = units / "kup-early.service"
    path.write_text(path.read_text().replace("TimeoutStartSec=", "TimeoutStratSec="))
    assert [line for line in complaints(units) if "TimeoutStratSec" in line]


def test_a_misspelled_key_in_a_drop_in_is_a_complaint(units):
    path = units / "store.service.d/zz-kup-restore.conf"
    path.write_text(path.read_text().replace("KillSignal=", "KillSingal="))
    assert [line for line in complaints(units) if "KillSingal" in line]


def test_a_command_that_is_not_there_is_a_complaint(units):
    path = units / "kup-watch.service"
    path.write_text(path.read_text().replace("/cli ", "/clear "))
    assert [line for line in complaints(units) if "kup-watch.service" in line]


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("units/*.in")), ids=lambda path: path.stem)
def test_the_scripts_that_a_template_names_are_there(path):
    for name in re.findall(rf"{RUNTIME}/(\S+)", path.read_text()):
        assert name in PROGRAMS or (SCRIPTS / name).is_file(), name


def test_every_template_is_used():
    library = "".join(path.read_text() for path in (SCRIPTS.parents[1] / "plugins/module_utils").rglob("*.py"))
    assert [path.stem for path in SCRIPTS.glob("units/*.in") if f'"{path.stem}"' not in library] == []
