"""Directories that must be there before a unit's mounts are made."""

import os
import types

from ansible_collections.kup.fleet.plugins.module_utils._environment import mount_points
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans


def plan_of(tmp_path, monkeypatch, points, own_mounts=True, node=("/", "/run")):
    places = {"/proc/self": node, "/proc/7": points}
    monkeypatch.setattr(
        mount_points.mountinfo, "of", lambda process: [types.SimpleNamespace(place=place) for place in places[process]]
    )
    unit = types.SimpleNamespace(name="a.service", main=types.SimpleNamespace(path="/proc/7"), own_mounts=own_mounts)
    mount_points.put_plan(Plans(str(tmp_path / "plans")), [unit])
    path = tmp_path / "plans/2-mount-points.plan"
    return path.read_text().splitlines()[1:] if path.exists() else None


def test_directories_in_memory_and_the_way_to_them(tmp_path, monkeypatch):
    monkeypatch.setattr(mount_points, "_MEMORY", (f"{tmp_path}/",))
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o2750)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("a")
    points = ["/home", *(f"{tmp_path}/{name}" for name in ("a/b", "file", "link", "none/x"))]
    found = plan_of(tmp_path, monkeypatch, points)
    owner = f"{os.getuid()} {os.getgid()}"
    assert f"directory optional a.service {tmp_path}/a 2750 {owner}" in found
    assert found.index(f"directory optional a.service {tmp_path}/a/b 755 {owner}") == len(found) - 1
    assert not [line for line in found if "file" in line or "link" in line or "none" in line or "/home" in line]


def test_what_the_node_has_mounted_comes_by_itself(tmp_path, monkeypatch):
    assert plan_of(tmp_path, monkeypatch, ["/run/lock"], node=("/run/lock",)) is None


def test_a_unit_without_mounts_of_its_own_needs_none(tmp_path, monkeypatch):
    assert plan_of(tmp_path, monkeypatch, ["/run/lock"], own_mounts=False) is None
