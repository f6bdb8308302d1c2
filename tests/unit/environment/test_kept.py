"""Configuration in /run, after an update."""

from ansible_collections.kup.fleet.plugins.module_utils._environment import kept


def test_what_has_been_read_goes_and_the_rest_stays(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("read", "tried", "to come", "absent")]
    for path in paths[:3]:
        path.touch()
    states = dict(zip(map(str, paths), ("active", "failed", "activating", "active"), strict=False))
    monkeypatch.setattr(kept, "_READERS", {path: path for path in states})
    monkeypatch.setattr(kept, "show", lambda reader, name: {name: states[reader]})
    kept.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["to come"]


def test_networkd_has_read_its_drop_ins_when_it_runs(tmp_path, monkeypatch):
    folder = tmp_path / "lan.network.d"
    folder.mkdir()
    (folder / "zz-kup-addresses.conf").touch()
    monkeypatch.setattr(kept.networkd, "_FOLDER", str(tmp_path))
    monkeypatch.setattr(kept, "_READERS", {})
    states = {"systemd-networkd.service": "activating"}
    monkeypatch.setattr(kept, "show", lambda reader, name: {name: states[reader]})
    assert kept.removable() == []
    states["systemd-networkd.service"] = "active"
    assert kept.removable() == [str(folder / "zz-kup-addresses.conf")]
