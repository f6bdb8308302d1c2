"""CRIU's image of a thread: the death signal is found and cleared, and broken bytes are refused."""

import types

import pytest
from fakeimage import core, field

from ansible_collections.kup.fleet.plugins.module_utils._environment import attributes, core_image, stopped
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


def image(signal=None, comm=b"sig\x40\x0f", state=1):
    """core_entry: mtype, thread_info, tc, ids, thread_core (images/core.proto)."""
    thread = field(1, 0) + field(2, 24) + field(5, 0) + field(6, 1 << 40) + field(7, field(1, 1) + field(2, 2))
    thread += b"" if signal is None else field(8, signal)
    thread += field(13, comm) + b"\x71" + b"\xff" * 8  # blk_sigset_extended is no such type, but may be one
    task = field(1, state) + field(8, 15)
    return core(field(1, 1), field(2, field(1, 1 << 50)), field(3, task), field(4, b"\x08\x01"), field(5, thread))


def test_a_death_signal_is_found_where_it_is():
    content = image(15)
    found = core_image.CoreImage(content)
    assert found.death_signal == 15
    assert content[found.place - 1 : found.place + 1] == b"\x40\x0f"
    assert core_image.CoreImage(image()).death_signal == 0


def test_only_the_signal_is_cleared(tmp_path):
    path = tmp_path / "core-7.img"
    path.write_bytes(image(9))
    assert attributes.take_death_signal(path) == 9
    assert path.read_bytes() == image(0)
    assert attributes.take_death_signal(path) == 0


def test_what_is_no_signal_is_refused(tmp_path):
    path = tmp_path / "core-7.img"
    path.write_bytes(image(300))
    with pytest.raises(KupError, match="has the death signal 300"):
        attributes.take_death_signal(path)
    assert path.read_bytes() == image(300)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "other").write_bytes(image(9))
    (tmp_path / "core-7.img").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        attributes.take_death_signal(tmp_path / "core-7.img")


@pytest.mark.parametrize("cut", range(len(image(15))))
def test_a_cut_image_is_refused(cut):
    with pytest.raises(KupError, match="not as CRIU writes it"):
        core_image.CoreImage(image(15)[:cut])


@pytest.mark.parametrize(
    "message",
    [
        b"\x2a\x05\x40",  # longer than the message
        b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",  # a number without an end
        b"\x2b\x00",  # a group
        field(5, b"\x40"),
        field(5, b"\x40\x80"),
        field(5, b"\x41\x00"),
    ],
)
def test_a_broken_message_is_refused(message):
    with pytest.raises(KupError, match="not as CRIU writes it"):
        core_image.CoreImage(core(message))


def test_another_image_is_refused():
    with pytest.raises(KupError):
        core_image.CoreImage(b"\0" * 8 + image(15)[8:])


def test_who_was_stopped_before_the_freeze(tmp_path):
    for pid, state in ((7, 1), (8, 3), (10, 1)):
        (tmp_path / f"core-{pid}.img").write_bytes(image(state=state))
    tree = [types.SimpleNamespace(pid=pid) for pid in (7, 8, 9, 10)]
    # Children first; the parents of the unit's main process come last.
    assert list(stopped.lines(tree, tmp_path, {7: 1, 8: 10, 10: 7})) == ["8 stopped", "10 run", "7 run"]
    (tmp_path / "core-8.img").write_bytes(b"")
    with pytest.raises(KupError, match="not as CRIU writes it"):
        list(stopped.lines(tree, tmp_path, {}))
