"""How much room there is: on the node, and below the limits of control groups."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import memory

MIB = 1 << 20


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Control groups a and a/b below a folder; a function that writes one of their files."""
    monkeypatch.setattr(memory, "CGROUPS", str(tmp_path))
    monkeypatch.setattr(memory, "available", lambda: 500 * MIB)
    (tmp_path / "a" / "b").mkdir(parents=True)

    def write(group, name, text):
        (tmp_path / group / name).write_text(f"{text}\n")

    for group in ("a", "a/b"):
        write(group, "memory.max", "max")
        write(group, "memory.high", "max")
        write(group, "memory.current", 100 * MIB)
        write(group, "memory.stat", f"anon {80 * MIB}\nactive_file {10 * MIB}\ninactive_file {5 * MIB}\nshmem 7")
    return write


def test_without_limits_it_is_the_node(groups):
    assert memory.room("/a/b") == (500 * MIB, "the node's memory")


def test_the_cache_of_files_can_be_dropped(groups):
    groups("a/b", "memory.max", 120 * MIB)
    assert memory.room("/a/b") == (35 * MIB, "memory.max of /a/b")


def test_the_least_of_all_limits_counts(groups):
    groups("a/b", "memory.max", 120 * MIB)
    groups("a", "memory.high", 90 * MIB)
    assert memory.room("/a/b") == (5 * MIB, "memory.high of /a")
    assert memory.room("/a/b/gone") == (5 * MIB, "memory.high of /a")


def test_the_node_counts_as_well(groups, monkeypatch):
    groups("a", "memory.max", 700 * MIB)
    monkeypatch.setattr(memory, "available", lambda: 3 * MIB)
    assert memory.room("/a/b") == (3 * MIB, "the node's memory")


def test_what_is_available(monkeypatch):
    monkeypatch.setattr(memory, "read_text", lambda path: "MemTotal: 90000 kB\nMemAvailable:   40960 kB\n")
    assert memory.available() == 40 * MIB
