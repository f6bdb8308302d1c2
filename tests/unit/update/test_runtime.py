"""The node's own copy of the library and of files/node: what is installed where, and what of an older layout is removed."""

import hashlib
import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._paths import PROGRAMS
from ansible_collections.kup.fleet.plugins.module_utils._update import runtime
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record
from ansible_collections.kup.fleet.plugins.plugin_utils import _programs

LIBRARY = {"_paths.py": "1\n", "_update/cli.py": "2\n"}
NODE = {"cli": "#!/bin/sh\n", "boot/generator": "#!/bin/sh\n:\n", "boot/early": "#!/bin/sh\n", "lib/record.sh": ":\n"}
NODE["switch/from-inside.in"] = "@PROGRAM@\n"


@pytest.fixture
def node(tmp_path, monkeypatch):
    root = tmp_path / "lib"
    monkeypatch.setattr(runtime, "RUNTIME", str(root))
    monkeypatch.setattr(runtime, "_PACKAGE", f"{root}/kup")
    monkeypatch.setattr(runtime, "GENERATOR", str(tmp_path / "generators/kup"))
    monkeypatch.setattr(runtime.program, "INSIDE", f"{root}/inside")
    monkeypatch.setattr(runtime.kmod, "SOURCE", f"{root}/kmod")
    monkeypatch.setattr(runtime.record, "load", Record)
    return root


def wanted():
    return runtime.layout(LIBRARY, NODE, {"main.c": "3\n"})


def installed(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


LAYOUT = {"kup/__init__.py", "kup/_paths.py", "kup/_update/cli.py", "cli", "boot/early", "lib/record.sh", "kmod/main.c"}
LAYOUT |= {"inside/action-script", "inside/apparmor_parser", "digests"}


def test_folders_are_kept(node):
    changed = runtime.install(wanted())
    assert installed(node) == LAYOUT
    assert (node.parent / "generators/kup").read_text() == NODE["boot/generator"]
    assert set(changed) == {*(f"{node}/{name}" for name in LAYOUT - {"digests"}), f"{node.parent}/generators/kup"}
    assert (node / "boot/early").stat().st_mode & 0o777 == 0o755
    assert (node / "lib/record.sh").stat().st_mode & 0o777 == 0o644
    assert runtime.install(wanted()) == []


def test_files_and_folders_of_an_older_layout_are_removed(node):
    runtime.install(wanted())
    for name in ("kup/_old/a.py", "kup/_old/__pycache__/a.pyc", "kup/__pycache__/b.pyc", "lib.sh", "gone/deep/file"):
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).touch()
    assert runtime.install(wanted(), dry=True) == [
        f"{node}/{name}" for name in ("gone/deep/file", "kup/_old/a.py", "lib.sh")
    ]
    runtime.install(wanted())
    assert installed(node) == {*LAYOUT, "kup/__pycache__/b.pyc"}
    assert not (node / "gone").exists()
    assert not (node / "kup/_old").exists()


def test_programs_that_are_sent_are_installed_and_the_others_stay(node):
    first, second = PROGRAMS[0], PROGRAMS[-1]  # one in a directory of its own
    runtime.install(wanted(), {first: _programs.pack(b"old"), second: _programs.pack(b"\0\xff" * 5000)})
    assert runtime.install(wanted(), {first: _programs.pack(b"new")}) == [f"{node}/{first}"]
    assert installed(node) == {*LAYOUT, first, second}
    assert (node / first).read_bytes() == b"new"
    assert (node / second).read_bytes() == b"\0\xff" * 5000
    assert all((node / name).stat().st_mode & 0o7777 == 0o755 for name in (first, second))
    assert runtime.install(wanted()) == []


def test_programs_are_not_installed_in_check_mode(node):
    runtime.install(wanted())
    assert runtime.install(wanted(), {"paged": _programs.pack(b"new")}, dry=True) == [f"{node}/paged"]
    assert installed(node) == LAYOUT


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "../paged",
            _programs.pack(b""),
            "expected one of paged, environment, fingerprint, ends/kup_pairs.so, sums/kup_sums.so",
        ),
        ("paged", _programs.pack(b"program")[:-8], "came to the node damaged"),
        ("paged", "no base64", "came to the node damaged"),
    ],
)
def test_a_program_that_is_damaged_or_unknown_changes_nothing(node, name, text, sentence):
    with pytest.raises(KupError, match=sentence):
        runtime.install(wanted(), {name: text})
    assert not node.exists()


def test_an_installed_program_has_the_digest_of_its_content(node):
    runtime.install(wanted())
    assert runtime.programs() == dict.fromkeys(PROGRAMS, "")
    program, other, link = (node / name for name in PROGRAMS[:3])
    program.write_bytes(b"program")
    program.chmod(0o755)
    other.write_bytes(b"program")
    other.chmod(0o775)
    link.symlink_to(program)
    digests = {program.name: hashlib.sha256(b"program").hexdigest(), other.name: "", link.name: ""}
    assert runtime.programs() == dict.fromkeys(PROGRAMS, "") | digests


def test_what_was_sent_is_found_as_long_as_all_is_as_it_was_installed(node):
    assert runtime.found() == ""
    runtime.install(wanted(), {PROGRAMS[0]: _programs.pack(b"program")}, sent="abc")
    assert runtime.found() == "abc"
    runtime.install(wanted(), sent="def")
    assert runtime.found() == "def"
    runtime.install(wanted(), dry=True, sent="ghi")
    assert runtime.found() == "def"
    runtime.install({})
    assert runtime.found() == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "boot/early").write_text("#!/bin/bash\n"),
        lambda root: (root / PROGRAMS[0]).write_bytes(b"another"),
        lambda root: (root / "inside/action-script").unlink(),
        lambda root: (root / "boot/one-more").touch(),
        lambda root: (root / "lib/record.sh").chmod(0o666),
        lambda root: (
            (root / "kmod/main.c").rename(root / "kmod/main.o") and (root / "kmod/main.c").symlink_to("main.o")
        ),
        lambda root: (root / "digests").write_text("abc"),
        lambda root: (root / "digests").write_text(""),
    ],
)
def test_nothing_is_found_once_a_file_is_another(node, change):
    runtime.install(wanted(), {PROGRAMS[0]: _programs.pack(b"program")}, sent="abc")
    change(node)
    assert runtime.found() == ""
    runtime.install(wanted(), {PROGRAMS[0]: _programs.pack(b"program")}, sent="abc")
    assert runtime.found() == "abc"


def test_a_file_of_another_user_is_written_anew(node):
    runtime.install(wanted())
    os.chown(node / "boot/early", 12345, -1)
    assert runtime.install(wanted()) == [f"{node}/boot/early"]


def test_all_of_it_goes(node):
    runtime.install(wanted())
    (node / "paged").touch()
    runtime.install({})
    assert not node.exists()
    assert not (node.parent / "generators/kup").exists()


def test_not_while_an_update_is_under_way(node, monkeypatch):
    runtime.install(wanted())
    monkeypatch.setattr(runtime.record, "load", lambda: Record(PHASE="probation"))
    with pytest.raises(KupError, match="An update is under way"):
        runtime.install({})
    assert installed(node) == LAYOUT
