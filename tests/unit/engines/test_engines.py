# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the engines do at each step of an update, with the page daemon, CRIU and kexec replaced."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._engines import (
    base,
    dump_checkpoint,
    foam,
    frames,
    page_daemon,
    page_server,
    ppp,
    registry,
)
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update.record import Record

SETTINGS = {
    "ROUNDS_MAX": "5",
    "FREEZE_TARGET": "0.3",
    "PPP_BIND": "eager",
    "KERNEL_OLD": "6.12.1",
    "KERNEL_NEW": "7.2.1",
}
PAGE = 4096


class Server:
    """A page daemon for one dump."""

    options, socket = ("--page-server", "--ps-socket", "7"), 7

    def __init__(self, events, words, said=None):
        self._events, self.words = events, words
        self._said = {"pages": 10, "bytes": 10 * PAGE} if said is None else said
        events.append("server started")

    def finish(self, word=""):
        self._events.append(f"server finished {word}".strip())
        return self._said

    def end(self):
        self._events.append("server ended")


class Dump:
    """A CRIU."""

    killed, ended, bytes = False, False, 100
    failing = ""

    def __init__(self, events, words, descriptors):
        self._events = events
        events.append(f"criu started {' '.join(words)}".strip())
        self.descriptors = descriptors

    def __getattr__(self, name):
        def note(*_arguments):
            self._events.append(f"criu {name}")
            if name == self.failing:
                raise KupError("CRIU failed")

        return note


@pytest.fixture
def events(monkeypatch):
    """What was started, in order."""
    events = []

    def dump(unit, findings, directory, words=(), descriptors=()):
        return Dump(events, words, descriptors)

    def server(words):
        return Server(events, words)

    monkeypatch.setattr(dump_checkpoint, "Dump", dump)
    monkeypatch.setattr(foam, "Server", server)
    monkeypatch.setattr(page_daemon, "Server", server)
    monkeypatch.setattr(foam.huge_pages, "suspend", lambda processes: events.append("huge pages split") or 2048)
    monkeypatch.setattr(foam.huge_pages, "resume", lambda: events.append("huge pages again"))
    return events


@pytest.fixture
def unit():
    return types.SimpleNamespace(name="a.service", rss=100 * PAGE, processes=[], main_pid=100, own_mounts=False)


def checkpoint(name, unit, directory, **settings):
    return registry.ENGINES[name].checkpoint(unit, str(directory), {**SETTINGS, **settings})


@pytest.mark.parametrize("name", registry.ENGINES)
def test_every_engine_is_complete(name, unit, tmp_path):
    engine = registry.ENGINES[name]
    assert isinstance(engine, base.Engine)
    assert engine.name == name
    assert isinstance(checkpoint(name, unit, tmp_path), base.Checkpoint)


@pytest.mark.parametrize("name", ["criu", "foam"])
def test_the_kernel_is_loaded_for_the_switch(monkeypatch, name):
    called = []
    monkeypatch.setattr(base.direct, "load", lambda *arguments: called.append(arguments))
    record = Record(KERNEL_NEW="7.2.1", CRASHKERNEL="crashkernel=1K@0")
    assert registry.ENGINES[name].load(record, "7.2.1") == ""
    assert called == [("7.2.1", "crashkernel=1K@0")]
    registry.ENGINES[name].prove(record, "6.12.1")
    assert called[1:] == [("6.12.1", "")]


def test_a_patched_kernel_is_proven_as_it_is_loaded(monkeypatch):
    called = []
    monkeypatch.setattr(frames.kexec, "unload", lambda: called.append("unload"))
    monkeypatch.setattr(frames.kexec, "load_summed", lambda *arguments: called.append(arguments))
    registry.ENGINES["ppp"].prove(Record(KERNEL_NEW="7.2.1", CRASHKERNEL="crashkernel=1K@0"), "7.2.1")
    image = f"{frames.kexec.place('7.2.1')}/patched"
    assert called == ["unload", (image, ["--kexec-syscall"], "crashkernel=1K@0")]


def test_the_packed_old_kernel_is_proven_too_for_a_way_back_without_frames(monkeypatch):
    called = []
    monkeypatch.setattr(frames.kexec, "unload", lambda: called.append("unload"))
    monkeypatch.setattr(frames.kexec, "load", lambda release, more="", call="": called.append((release, more, call)))
    monkeypatch.setattr(frames.kexec, "load_summed", lambda image, options, more: called.append(image))
    registry.ENGINES["ppp"].prove(Record(KERNEL_OLD="6.12.1", KERNEL_NEW="7.2.1"), "6.12.1")
    image = f"{frames.kexec.place('6.12.1')}/patched"
    assert called == ["unload", ("6.12.1", "", "--kexec-syscall"), "unload", image]


def test_a_kernel_on_the_way_back_has_no_crash_kernel(monkeypatch):
    called = []
    monkeypatch.setattr(base.direct, "load", lambda *arguments: called.append(arguments))
    registry.ENGINES["criu"].load(Record(KERNEL_NEW="7.2.1", CRASHKERNEL="crashkernel=1K@0"), "6.12.1")
    assert called == [("6.12.1", "")]


@pytest.mark.parametrize("name", registry.ENGINES)
def test_what_never_started_can_be_resumed(name, unit, tmp_path, events):
    each = checkpoint(name, unit, tmp_path)
    each.resume()
    assert not each.killed
    assert not [event for event in events if event.startswith(("criu", "server"))]


@pytest.mark.parametrize(("name", "restores_memory"), [("criu", True), ("foam", False), ("ppp", True)])
def test_a_restore_that_brings_the_memory_in_may_take_as_long_as_that(name, restores_memory, unit, tmp_path):
    assert checkpoint(name, unit, tmp_path).restores_memory == restores_memory


def test_a_restore_that_leaves_the_memory_for_later_need_not(unit, tmp_path):
    assert not ppp.PppCheckpoint(unit, str(tmp_path), SETTINGS, is_lazy=True).restores_memory


def test_foam_knows_its_pace_and_its_freeze_from_its_rounds(unit, tmp_path, monkeypatch):
    each = checkpoint("foam", unit, tmp_path)
    assert (each.pace, each.freeze_forecast()) == (64 << 20, unit.rss / (64 << 20))
    monkeypatch.setattr(foam.time, "monotonic", lambda: 10)
    each._done = [foam.rounds.Round(0, 8, 1000, 0.1), foam.rounds.Round(8, 2, 100, 0.1)]
    assert (each.pace, each.freeze_forecast()) == (1000 * PAGE / 8, 0.5)


@pytest.mark.parametrize("name", ["foam", "ppp"])
def test_pages_go_to_a_page_daemon_that_is_there_first(name, unit, tmp_path, events):
    each = checkpoint(name, unit, tmp_path)
    each.start()
    assert events[0] == "server started"
    assert "--page-server --ps-socket 7 --track-mem" in events[1]


@pytest.mark.parametrize("name", ["foam", "ppp"])
def test_a_page_daemon_ends_before_criu_is_told_to_resume(name, unit, tmp_path, events):
    each = checkpoint(name, unit, tmp_path)
    each.start()
    each.resume()
    assert events.index("server ended") < events.index("criu resume")


@pytest.mark.parametrize("step", ["wait_ready", "wait_complete"])
def test_what_the_page_daemon_complains_of_is_told_with_the_failure_of_criu(unit, tmp_path, events, monkeypatch, step):
    def finish(word=""):
        raise KupError("The disk is full.")

    each = checkpoint("foam", unit, tmp_path)
    each.start()
    each._dump.failing, each._dump.ended = step, True
    each.server.finish = finish
    with pytest.raises(KupError, match=r"CRIU failed \(The disk is full\.\)"):
        getattr(each, step)(0)


def test_no_pages_stay_behind_of_a_checkpoint_that_is_discarded(unit, tmp_path, events):
    for name in ("pages-1.img", "pages-2.img", "dump.log"):
        (tmp_path / name).touch()
    for directory in ("store", "rounds/1"):
        (tmp_path / directory).mkdir(parents=True)
    checkpoint("foam", unit, tmp_path).discard()
    assert [path.name for path in tmp_path.iterdir()] == ["dump.log"]


# foam


@pytest.fixture
def rounds(monkeypatch, events, tmp_path):
    """A node on which CRIU copies in rounds of these seconds (the last goes on); its command lines."""
    clock = types.SimpleNamespace(now=0.0, seconds=[8.0, 2.0], code=0)
    clock.commands = []

    def run(command, **_options):
        clock.now += clock.seconds.pop(0) if len(clock.seconds) > 1 else clock.seconds[0]
        clock.commands.append(command)
        return types.SimpleNamespace(returncode=clock.code)

    monkeypatch.setattr(foam.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(foam.subprocess, "run", run)
    monkeypatch.setattr(foam.stats, "frozen", lambda path: 0.1)
    monkeypatch.setattr(foam.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=1 << 30))
    return clock


def test_rounds_end_when_the_freeze_is_short_enough(unit, tmp_path, rounds):
    each = checkpoint("foam", unit, tmp_path / "images", FREEZE_TARGET="0.6")
    assert each.pre_copy()
    assert len(rounds.commands) == 2
    each.pre_copy_again()
    assert len(rounds.commands) == 3


def test_rounds_end_at_their_limit_with_one_left_for_the_end(unit, tmp_path, rounds):
    rounds.seconds = [8.0, 6.0, 4.5, 3.4, 2.6]
    each = checkpoint("foam", unit, tmp_path / "images", ROUNDS_MAX="4", FREEZE_TARGET="0.01")
    each.pre_copy()
    assert len(rounds.commands) == 3
    each.pre_copy_again()
    assert len(rounds.commands) == 4


def test_without_rounds_nothing_is_copied_before_the_freeze(unit, tmp_path, rounds, events):
    each = checkpoint("foam", unit, tmp_path / "images", ROUNDS_MAX="0")
    assert not each.pre_copy()
    each.pre_copy_again()
    assert not rounds.commands
    assert events == []
    each.start()
    assert "--first" in each.server.words and "--last" in each.server.words


def test_every_round_leaves_out_what_the_one_before_has(unit, tmp_path, rounds, events):
    each = checkpoint("foam", unit, tmp_path / "images", FREEZE_TARGET="0.6")
    each.pre_copy()
    first, second = rounds.commands
    assert "--prev-images-dir" not in first
    assert second[second.index("--prev-images-dir") + 1] == "../1"
    each.start()
    assert "--prev-images-dir rounds/2" in " ".join(events)
    assert "--first" not in each.server.words


def test_huge_pages_are_split_before_the_rounds_and_come_back(unit, tmp_path, rounds, events):
    each = checkpoint("foam", unit, tmp_path / "images")
    each.pre_copy()
    assert events[0] == "huge pages split"
    each.resume()
    assert events[-1] == "huge pages again"


def test_a_round_that_does_not_fit_on_the_disk_is_not_begun(unit, tmp_path, rounds, monkeypatch):
    monkeypatch.setattr(foam.shutil, "disk_usage", lambda path: types.SimpleNamespace(free=unit.rss))
    with pytest.raises(KupError, match=r"MiB free, expected .* for the next round of copying a\.service"):
        checkpoint("foam", unit, tmp_path / "images").pre_copy()
    assert not rounds.commands


def test_a_round_that_fails_names_the_unit_and_the_cause(unit, tmp_path, rounds, events, monkeypatch):
    rounds.code = 1
    monkeypatch.setattr(foam.criu_command, "complaint", lambda directory, verb, code: "Error: a device")
    with pytest.raises(KupError, match=r"could not copy the memory of a\.service: Error: a device"):
        checkpoint("foam", unit, tmp_path / "images").pre_copy()
    assert events[-1] == "server ended"


def test_the_report_has_the_rounds(unit, tmp_path, rounds):
    each = checkpoint("foam", unit, tmp_path / "images", FREEZE_TARGET="0.6")
    each.pre_copy()
    each.start()
    each.wait_complete(0)
    told = each.statistics()
    assert [done["seconds"] for done in told["rounds"]] == [8.0, 2.0]
    assert (told["last_pages"], told["huge_pages_split_kib"]) == (10, 2048)
    assert each.bytes == 100 + 10 * PAGE + 2 * 10 * PAGE


# ppp


@pytest.fixture
def sealed(monkeypatch):
    """A table as the kernel module tells it."""
    table = {"frames": 100, "pages": 100, "own": 100, "runs": 3}
    asked = []
    monkeypatch.setattr(ppp.frames, "complete", lambda resident: asked.append(resident) or table)
    monkeypatch.setattr(ppp.memory, "available", lambda: 1 << 30)
    return table, asked


def test_the_tasks_of_all_units_are_numbered_on(unit, tmp_path, events, sealed):
    checkpoints = [checkpoint("ppp", unit, tmp_path / name) for name in ("a", "b")]
    for each, objects in zip(checkpoints, (3, 2), strict=True):
        each.start()
        each.server._said = {"objects": objects}
    registry.ENGINES["ppp"].seal(checkpoints)
    assert [event for event in events if "finished" in event] == ["server finished 0", "server finished 3"]
    table, asked = sealed
    assert asked == [2 * unit.rss]
    assert checkpoints[1].statistics() == {"objects": 2, "table": table}


def test_shared_pages_that_do_not_fit_once_more_are_refused(unit, tmp_path, events, sealed, monkeypatch):
    each = checkpoint("ppp", unit, tmp_path)
    each.start()
    each.server._said = {"objects": 1}
    sealed[0].update(pages=3000)
    monkeypatch.setattr(ppp.memory, "available", lambda: 100 * PAGE)
    with pytest.raises(KupError, match="copy-on-write"):
        registry.ENGINES["ppp"].seal([each])


def test_frames_are_dropped_with_the_switch(monkeypatch):
    dropped = []
    monkeypatch.setattr(ppp.frames, "drop", lambda: dropped.append(True))
    registry.ENGINES["ppp"].give_up()
    assert dropped


def test_what_is_swapped_out_comes_in_while_the_application_serves(unit, tmp_path, monkeypatch):
    monkeypatch.setattr(ppp.swap, "bring_in", lambda found: found is unit)
    assert checkpoint("ppp", unit, tmp_path).pre_copy()


def test_what_went_out_again_is_noticed_right_before_the_freeze(unit, tmp_path, monkeypatch):
    def check(found):
        raise KupError("swapped out again")

    monkeypatch.setattr(ppp.swap, "check", check)
    monkeypatch.setattr(ppp, "Unit", lambda name: unit)
    with pytest.raises(KupError, match="swapped out again"):
        checkpoint("ppp", unit, tmp_path).before_freeze()


def test_memory_that_comes_later_is_asked_for_by_the_restore(unit, tmp_path, monkeypatch):
    monkeypatch.setattr(dump_checkpoint.command, "restore_command", lambda *arguments: ["criu", "restore"])
    monkeypatch.setattr(ppp.command, "check", lambda feature: None)
    assert checkpoint("ppp", unit, tmp_path).restore_command("pid")[2:] == []
    lazy = checkpoint("ppp", unit, tmp_path, PPP_BIND="lazy")
    assert lazy.restore_command("pid")[2:] == [page_server.ON_DEMAND]
    assert checkpoint("foam", unit, tmp_path).restore_command("pid")[2:] == [page_server.ON_DEMAND]
    assert checkpoint("criu", unit, tmp_path).restore_command("pid") == ["criu", "restore"]


# The kernel of ppp


@pytest.fixture
def preserved(monkeypatch, tmp_path):
    """A preserved kernel 7.2.1 and what was done to it; the code that patches has the digest "one"."""
    done = []
    place = tmp_path / "7.2.1"
    place.mkdir()
    (place / "staged").write_text("123 456 none\nquiet\n")
    found = types.SimpleNamespace(done=done, place=place, digest="one", blockers=[])
    monkeypatch.setattr(frames.kexec, "KERNELS", str(tmp_path))
    monkeypatch.setattr(frames.kexec, "unload", lambda: done.append("unload"))
    monkeypatch.setattr(frames.kexec, "load_summed", lambda image, options: done.append("loaded"))
    monkeypatch.setattr(frames.kmod, "provide", lambda release, directory: False)
    image = frames.kernel_image
    monkeypatch.setattr(image, "code_digest", lambda: found.digest)
    monkeypatch.setattr(image, "read", lambda path: "kernel")
    monkeypatch.setattr(image, "build", lambda kernel: kernel)
    monkeypatch.setattr(image, "blockers", lambda described: found.blockers)
    monkeypatch.setattr(image, "write", lambda content, path: done.append(("written", content)))
    return found


def test_a_kernel_is_patched_once_and_proven_to_load(preserved):
    assert frames.prepare("7.2.1")
    assert preserved.done == [("written", "kernel"), "loaded", "unload"]
    assert not frames.prepare("7.2.1")
    assert len(preserved.done) == 3


def test_a_new_module_is_a_change(preserved, monkeypatch):
    frames.prepare("7.2.1")
    monkeypatch.setattr(frames.kmod, "provide", lambda release, directory: True)
    assert frames.prepare("7.2.1")


@pytest.mark.parametrize("what", ["digest", "image"])
def test_a_kernel_is_patched_again_by_other_code_or_from_another_image(preserved, what):
    frames.prepare("7.2.1")
    if what == "digest":
        preserved.digest = "two"
    else:
        (preserved.place / "staged").write_text("124 456 none\nquiet\n")
    assert frames.prepare("7.2.1")
    assert preserved.done.count(("written", "kernel")) == 2


def test_a_kernel_that_is_not_as_expected_is_not_patched(preserved):
    preserved.blockers = [Blocker("image", "The kernel", "has no symbols", "choose another")]
    with pytest.raises(KupError, match="no symbols"):
        frames.prepare("7.2.1")
    assert not preserved.done


def test_a_patched_kernel_that_does_not_load_is_not_done(preserved, monkeypatch):
    def refuse(image, options):
        raise KupError("refused")

    monkeypatch.setattr(frames.kexec, "load_summed", refuse)
    with pytest.raises(KupError, match="refused"):
        frames.prepare("7.2.1")
    assert not (preserved.place / "patched.source").exists()


@pytest.mark.parametrize("there", [True, False])
def test_frames_are_dropped_with_the_kernel_that_would_look_for_them(monkeypatch, tmp_path, there):
    done = []
    device = tmp_path / "device"
    if there:
        device.touch()
    monkeypatch.setattr(frames.kmod, "DEVICE", str(device))
    monkeypatch.setattr(frames.kexec, "unload", lambda: done.append("unload"))
    monkeypatch.setattr(frames, "run", lambda argv, check: done.append(" ".join(argv[-2:])))
    frames.drop()
    assert done == ([f"{page_daemon.PROGRAM} drop", "unload", "rmmod kup_ppp"] if there else [])


@pytest.mark.parametrize(
    ("survive", "engine"),
    [(["restore_failure"], "ppp"), (registry.OPTIONS["survive"]["default"], "foam"), (["power_cut"], "foam")],
)
def test_auto_takes_the_first_that_survives_what_it_has_to(monkeypatch, survive, engine):
    monkeypatch.setattr(registry, "_blockers", lambda *arguments: [])
    for each in registry.ENGINES.values():
        monkeypatch.setattr(type(each), "packages", lambda self, kernels: [])
    assert registry.choose(registry.Wish(survive=tuple(survive)), "/images", ("6.12.1", "7.2.1")).engine == engine
