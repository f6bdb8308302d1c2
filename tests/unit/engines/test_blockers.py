"""What the engines look at on a node: each finding of a check counts."""

import pathlib
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import foam, page_daemon, ppp, registry

FOAM, PPP = registry.ENGINES["foam"], registry.ENGINES["ppp"]
SIZE = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"


@pytest.fixture
def node(monkeypatch):
    """A node on which both engines work, with the parts to change."""
    parts = types.SimpleNamespace(runs=True, said={}, kind="ext4", machine="x86_64", files={})
    monkeypatch.setattr(page_daemon, "runs", lambda: parts.runs)
    for module, command in ((foam, foam.criu_command), (ppp, ppp.command)):
        monkeypatch.setattr(command, "check", lambda feature: parts.said.get(feature, ""))
        monkeypatch.setattr(module, "read_text", lambda path, default: parts.files.get(path, default))  # pylint: disable=unnecessary-lambda
    monkeypatch.setattr(foam.filesystems, "of", lambda path: types.SimpleNamespace(kind=parts.kind))
    monkeypatch.setattr(ppp.os, "uname", lambda: types.SimpleNamespace(machine=parts.machine))
    monkeypatch.setattr(ppp.glob, "glob", lambda pattern: [SIZE] if pathlib.PurePath(SIZE).match(pattern) else [])
    return parts


def codes(engine, daemon=True):
    return [blocker.code for blocker in engine.blockers("/images", daemon)]


def test_a_node_on_which_all_engines_work(node):
    assert [codes(engine) for engine in registry.ENGINES.values()] == [[], [], []]


@pytest.mark.parametrize(
    ("part", "value", "of_foam", "of_ppp"),
    [
        ("runs", False, ["page-daemon"], ["page-daemon"]),
        ("said", {"mem_dirty_track": "no"}, ["criu-feature"], ["criu-feature"]),
        ("said", {"uffd-noncoop": "no"}, ["criu-feature"], []),
        ("kind", "btrfs", ["images-file-system"], []),
        ("machine", "aarch64", [], ["machine"]),
        ("files", {"/sys/kernel/security/lockdown": "none [integrity] confidentiality"}, [], ["unsigned-code"]),
        ("files", {SIZE: "[always] inherit madvise never"}, [], ["huge-page-size"]),
    ],
)
def test_each_part_counts(node, part, value, of_foam, of_ppp):
    setattr(node, part, value)
    assert (codes(FOAM), codes(PPP)) == (of_foam, of_ppp)


def test_before_the_page_daemon_is_installed_it_is_not_missed(node):
    node.runs = False
    assert (codes(FOAM, daemon=False), codes(PPP, daemon=False)) == ([], [])


def test_an_option_that_a_kernel_lacks(node):
    node.files = {"/boot/config-7.2": "#\nCONFIG_MEM_SOFT_DIRTY=y\n"}
    (blocker,) = FOAM.kernel_blockers("7.2", daemon=True)
    assert (blocker.code, blocker.object) == ("kernel-option", "Kernel 7.2")
    assert FOAM.kernel_blockers("6.12", daemon=True) == []
