"""Files that only a unit sees: recorded from outside, and made anew in the restored unit's view. Real mounts, as root."""

import os
import pathlib
import socket
import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import private_files, run_files, trees
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system.private_places import Place

PROGRAM = pathlib.Path(__file__).parents[3] / "files/environment"
PLACE = Place("/srv", is_bound=False)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mounts")

SCRIPT = """mount -t tmpfs none /srv
chmod 1770 /srv
mkdir -p /srv/deep/er /srv/mounted
mount --bind /srv/deep /srv/mounted
echo content >/srv/deep/file
chown 7:8 /srv/deep/file
chmod 4640 /srv/deep/file
ln /srv/deep/file /srv/deep/other
ln -s /etc /srv/link
mkfifo /srv/fifo"""


@pytest.fixture
def unit(inside):
    """A unit whose main process sees such files."""

    def unit(script=SCRIPT):
        return types.SimpleNamespace(name="a.service", cgroup="/a", main=inside(script), own_mounts=True, processes=[])

    return unit


class Room:
    limit = 1 << 20

    def __init__(self):
        self.taken = []

    def take(self, name, found):
        self.taken.append((name, found.path))


def test_what_is_seen_there_is_walked_without_links_and_mounts(unit):
    found = [path for path, _status, _parent in private_files.walk(unit().main, PLACE)]
    assert found == [f"/srv/{name}" for name in ("deep", "deep/er", "deep/file", "deep/other", "fifo", "link")]


def test_its_size_is_told_beforehand(unit, monkeypatch):
    use = run_files.Use(places=[PLACE, Place("/var/tmp", "/x")], main=unit().main)
    assert run_files.survey([use]) == (6, 2 * len("content\n"))
    monkeypatch.setattr(run_files, "OBJECTS_MAX", 1)
    assert run_files.survey([use])[0] == 4


def test_the_environment_program_makes_all_of_it_anew(unit, inside, tmp_path):
    room = Room()
    private_files.put_plan(unit(), [PLACE, Place("/var/tmp", "/x")], str(tmp_path), room)
    assert len(room.taken) == 6
    assert room.taken[0] == ("a.service", "/srv/deep")
    subprocess.run(["make", "-s", "-C", PROGRAM, f"OUT={tmp_path}/program"], check=True)
    (tmp_path / "run").mkdir()
    restored = inside("mount -t tmpfs none /srv; mkdir /srv/left; touch /srv/left/over; mkdir /srv/mounted")
    view = f"{restored.path}/root"
    words = ["apply", "--view", view, "--run", tmp_path / "run", tmp_path / "private-a.service/files.plan"]
    subprocess.run([tmp_path / "program/environment", *words], check=True)
    made = pathlib.Path(f"{view}/srv")
    assert sorted(os.listdir(made)) == ["deep", "fifo", "link"]
    assert made.stat().st_mode & 0o7777 == 0o1770
    status = (made / "deep/file").stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o4640, 7, 8)
    assert (made / "deep/other").samefile(made / "deep/file")
    assert (made / "deep/file").read_text() == "content\n"
    assert os.readlink(made / "link") == "/etc"
    assert (made / "fifo").is_fifo()


def test_a_unit_without_places_in_memory_has_no_plan(tmp_path):
    private_files.put_plan(None, [Place("/var/tmp", "/x")], str(tmp_path), Room())
    assert [*tmp_path.iterdir()] == []


def test_a_place_is_taken_for_what_the_unit_sees(unit, monkeypatch):
    monkeypatch.setattr(run_files.private_places, "below", lambda places, path: path.startswith("/tmp/") and places)
    found = run_files.Use(places=[PLACE], main=unit().main)
    found.add("/tmp/x")
    assert found.tops == set()
    found.add("/dev/shm/x")
    assert found.tops == {"/dev/shm/x"}


def test_a_tree_may_not_be_too_deep(unit):
    script = "mount -t tmpfs none /srv; cd /srv; n=0; while [ $n -lt 120 ]; do mkdir d; cd d; n=$((n + 1)); done"
    with pytest.raises(KupError, match=r"is deeper than 100 directories, expected fewer; remove what .* not need\.$"):
        list(private_files.walk(unit(script).main, PLACE))


def test_directories_of_systemd_on_a_disk_are_kept_for_this_boot(tmp_path, monkeypatch):
    monkeypatch.setattr(private_files, "TEMPORARY", (str(tmp_path),))
    (tmp_path / "systemd-private-1").mkdir()
    places = [Place("/tmp"), Place("/var/tmp", f"{tmp_path}/systemd-private-1/tmp"), Place("/x", "/var/lib/kup/p/tmp")]
    assert list(private_files.kept(places)) == [f"{tmp_path}/systemd-private-1"]
    plans = Plans(f"{tmp_path}/environment")
    steps = private_files.steps(places, plans)
    assert [step.split()[3] for step in steps] == [b"/run/tmpfiles.d", b"/run/tmpfiles.d/kup-private.conf"]
    text = (tmp_path / "environment/contents/1").read_text()
    assert text.splitlines()[1:] == [f"x {tmp_path}/systemd-private-1"]
    assert private_files.steps(places[:1], plans) == []


def test_names_of_one_file_are_kept(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one").write_text("x")
    (tmp_path / "a/two").hardlink_to(tmp_path / "a/one")
    found = {each.path: each.same_as for each in trees.objects(trees.walk(str(tmp_path / "a")), 9)}
    assert found == {f"{tmp_path}/a": "", f"{tmp_path}/a/one": "", f"{tmp_path}/a/two": f"{tmp_path}/a/one"}


def test_a_socket_is_left_to_criu(unit, tmp_path):
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{tmp_path}/s")
        assert [path for path, _status, _parent in trees.walk(str(tmp_path))] == [str(tmp_path)]
