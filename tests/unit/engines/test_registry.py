"""The choice of an engine: the best that works, or the one that was asked for."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._engines import base, registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

ALL = frozenset(base.DANGERS)
FAILED_RESTORE = frozenset(("restore_failure",))
SURVIVE = ("restore_failure", "panic")


class Fake(base.Engine):
    def __init__(self, *blockers, kernels=(), survives=ALL, packages=(), units=(), disk=False):
        self._blockers, self._kernels, self._packages, self._units = list(blockers), kernels, list(packages), units
        self.survives, self.writes_disk_checkpoints = survives, disk

    def checkpoint(self, unit, directory, settings):
        raise NotImplementedError

    def blockers(self, images, daemon):
        return list(self._blockers)

    def kernel_blockers(self, release, daemon):
        return [Blocker("option", f"Kernel {release}", "lacks it", "do")] if release in self._kernels else []

    def packages(self, kernels):
        return self._packages

    def unit_blockers(self, unit):
        return [Blocker("swapped-out", "", "is out", "make room", unit)] if unit in self._units else []


NO = Blocker("no", "It", "cannot", "do")
FRAMES = {"survives": FAILED_RESTORE}


@pytest.fixture(autouse=True)
def disk(monkeypatch):
    """Images are on a disk."""
    monkeypatch.setattr(registry.filesystems, "in_memory", lambda images: "memory" in images)
    monkeypatch.setattr(registry.direct, "packages", lambda: ["python3-pyelftools"])


@pytest.fixture
def engines(monkeypatch):
    def have(**found):
        monkeypatch.setattr(registry, "ENGINES", found)

    return have


def choose(engine="auto", disk_checkpoint="", survive=SURVIVE, images="/images", kernels=("6.12", "7.2"), **more):
    found = registry.choose(registry.Wish(engine, disk_checkpoint, survive), images, kernels, **more)
    return found.engine, found.disk_checkpoint, list(found.reasons)


def test_auto_takes_the_first_that_works_and_says_why_no_better_one(engines):
    engines(foam=Fake(NO), criu=Fake())
    assert choose() == ("criu", "", ["Engine foam: It cannot; do."])


def test_an_engine_must_work_on_both_kernels(engines):
    engines(foam=Fake(kernels=("7.2",)), criu=Fake())
    assert choose() == ("criu", "", ["Engine foam: Kernel 7.2 lacks it; do."])


def test_the_disk_checkpoint_must_work_as_well(engines):
    engines(ppp=Fake(**FRAMES), foam=Fake(NO))
    assert choose("ppp") == ("ppp", "", [])
    with pytest.raises(KupError, match=r"^Engine foam: It cannot; do\.$"):
        choose("ppp", "foam")


@pytest.mark.parametrize("survive", [(), ("restore_failure",), SURVIVE, ("power_cut",)])
def test_auto_takes_no_engine_that_does_not_survive_what_it_has_to(engines, survive):
    engines(ppp=Fake(**FRAMES), foam=Fake(disk=True), criu=Fake())
    name, disk_checkpoint, reasons = choose(survive=survive)
    lost = "".join(danger for danger in survive if danger != "restore_failure")
    assert (name, disk_checkpoint) == (("foam" if lost else "ppp"), "")
    says = "which kup_survive has; take that out of kup_survive for a shorter outage."
    assert reasons == [f"Engine ppp: It does not survive {lost}, {says}"] * bool(lost)
    # A person who names the engine has accepted what it does not survive.
    assert choose("ppp", survive=survive) == ("ppp", "", [])


def test_auto_makes_the_disk_checkpoint_that_was_asked_for(engines):
    engines(ppp=Fake(**FRAMES), foam=Fake(disk=True), criu=Fake())
    assert choose(disk_checkpoint="foam", survive=())[:2] == ("ppp", "foam")
    engines(ppp=Fake(**FRAMES), foam=Fake(NO, disk=True), criu=Fake())
    assert choose(disk_checkpoint="foam", survive=())[:2] == ("criu", "")


def test_auto_installs_nothing_for_an_engine(engines):
    engines(ppp=Fake(packages=["linux-headers-7.2", "python3-pyelftools"], **FRAMES), foam=Fake(disk=True))
    name, _disk_checkpoint, reasons = choose(survive=())
    assert name == "foam"
    assert reasons == [
        "Engine ppp: linux-headers-7.2 would have to be installed for it, which kup_engine auto does not do; "
        "install what is missing, or name the engine in kup_engine."
    ]
    assert choose("ppp")[0] == "ppp"


def test_auto_takes_an_engine_that_can_carry_all_units(engines):
    engines(ppp=Fake(units=("b.service",), **FRAMES), foam=Fake(disk=True))
    assert choose(units=["a.service"], survive=())[0] == "ppp"
    name, _disk_checkpoint, reasons = choose(units=["a.service", "b.service"], survive=())
    assert (name, reasons) == ("foam", ["Engine ppp: b.service is out; make room."])
    # Whoever names it is refused by the unit's own blocker.
    assert choose("ppp", units=["b.service"])[0] == "ppp"


def test_auto_goes_on_to_the_next_when_one_could_not_be_prepared(engines):
    engines(ppp=Fake(**FRAMES), foam=Fake(disk=True))
    failed = {"ppp": registry.checks.engine_failed("make failed.")[0]}
    name, _disk_checkpoint, reasons = choose(failed=failed, survive=())
    assert name == "foam"
    assert reasons == [
        "Engine ppp: It could not be prepared: make failed; look at that, or name another engine in kup_engine."
    ]


def test_images_in_memory_do_not_survive_a_power_cut(engines):
    engines(foam=Fake(disk=True), criu=Fake())
    assert choose(images="/memory")[0] == "foam"
    with pytest.raises(KupError, match="is in memory, which a power cut empties; set kup_images_dir to a disk"):
        choose(images="/memory", survive=("power_cut",))


@pytest.mark.parametrize(
    ("engine", "disk_checkpoint", "most"), [("foam", "", 6400), ("ppp", "", 1200), ("ppp", "foam", 7600)]
)
def test_room_for_images_is_what_the_engine_writes(engine, disk_checkpoint, most):
    assert registry.images_bytes(engine, disk_checkpoint, rss=6400, shmem=1000) == most


def test_an_engine_that_was_asked_for_is_used_or_refused(engines):
    engines(foam=Fake(NO), criu=Fake())
    with pytest.raises(KupError, match=r"Engine foam: It cannot; do\."):
        choose("foam")


def test_an_unknown_engine_is_refused():
    with pytest.raises(KupError, match="kup_engine is 'fog', expected one of auto, ppp, foam, criu"):
        registry.Wish.of({"engine": "fog", "ppp_disk_checkpoint": "none", "survive": []})
