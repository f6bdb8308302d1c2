"""Rooms of the library: which may import which. Arrows go one way, so that a room can be read with those below it only."""

import ast
import pathlib

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = REPO / "plugins/module_utils"
COLLECTION = "ansible_collections.kup.fleet.plugins."

#: Each room, and the rooms that it may import besides the foot.
ROOMS = {
    "_image": set(),
    "_system": set(),
    "_drain": set(),
    "_metrics": set(),
    "_ready": {"_system"},
    "_boot": {"_system"},
    "_criu": {"_system"},
    "_environment": {"_system", "_criu"},
    "_engines": {"_image", "_system", "_boot", "_criu", "_environment"},
    "_update": {"_system", "_drain", "_boot", "_criu", "_environment", "_engines"},
}
FOOT = {"_again", "_blocker", "_errors", "_files", "_paths", "_run", "_windows"}

#: All that the controller's own code (action plugins, plugin_utils) may know of the library.
FOR_THE_CONTROLLER = {
    "_errors",
    "_files",
    "_paths",
    "_windows",
    "_boot.kernels",
    "_engines.registry",
    "_metrics.exposition",
    "_metrics.status",
    "_metrics.textfile",
    "_system.units",
    "_update.record",
    "_update.timeline",
    "_update.unit_names",
}


def imports(path):
    """Modules of the library that the file imports, as dotted names below plugins/module_utils."""
    package = path.relative_to(LIBRARY).parent.parts if path.is_relative_to(LIBRARY) else None
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level and package is not None:
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        elif (node.module or "").startswith(COLLECTION + "module_utils"):
            base = node.module[len(COLLECTION) :].split(".")[1:]
        else:
            continue
        base = [part for part in base if part]
        for name in [alias.name for alias in node.names]:
            whole = [*base, name]
            yield ".".join(whole if LIBRARY.joinpath(*whole).with_suffix(".py").exists() else base)


def modules():
    return sorted(path for path in LIBRARY.rglob("*.py") if path.name != "__init__.py")


def name_of(path):
    return ".".join(path.relative_to(LIBRARY).with_suffix("").parts)


def room_of(name):
    return name.partition(".")[0]


def test_every_module_is_in_a_room_or_belongs_to_the_foot():
    assert {room_of(name_of(path)) for path in modules()} == {*ROOMS, *FOOT}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_imports_only_what_is_below_its_room(path):
    room = room_of(name_of(path))
    allowed = FOOT if room in FOOT else {room, *FOOT, *ROOMS[room]}
    assert {room_of(name) for name in imports(path)} <= allowed


def test_arrows_between_rooms_go_one_way():
    seen = set()
    for room, below in ROOMS.items():  # in order: nothing below a room comes after it
        assert below <= seen, room
        seen.add(room)


def test_no_module_imports_itself_through_others():
    graph = {name_of(path): set(imports(path)) for path in modules()}
    left = dict(graph)
    while left:
        leaves = [name for name, below in left.items() if not below & left.keys()]
        assert leaves, f"a circle among {sorted(left)}"
        for name in leaves:
            del left[name]


def test_the_controller_knows_little_of_the_library():
    files = [path for folder in ("action", "plugin_utils") for path in (REPO / "plugins" / folder).glob("*.py")]
    known = {name for path in files for name in imports(path)}
    assert known <= FOR_THE_CONTROLLER
