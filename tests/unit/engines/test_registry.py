"""The choice of an engine: the best that works, or the one that was asked for."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocker
from ansible_collections.kup.fleet.plugins.module_utils._engines import base, registry
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError


class Fake(base.Engine):
    def __init__(self, *blockers, kernels=(), survives_power_cut=True):
        self._blockers, self._kernels, self.survives_power_cut = list(blockers), kernels, survives_power_cut

    def checkpoint(self, unit, directory, settings):
        raise NotImplementedError

    def blockers(self, images, daemon):
        return self._blockers

    def kernel_blockers(self, release, daemon):
        return [Blocker("option", f"Kernel {release}", "lacks it", "do")] if release in self._kernels else []


NO = Blocker("no", "It", "cannot", "do")


@pytest.fixture
def engines(monkeypatch):
    def have(**found):
        monkeypatch.setattr(registry, "ENGINES", found)

    return have


def test_auto_takes_the_first_that_works_and_says_why_no_better_one(engines):
    engines(foam=Fake(NO), criu=Fake())
    assert registry.choose("auto", "/images", ("6.12", "7.2")) == ("criu", ["Engine foam: It cannot; do."])


def test_an_engine_must_work_on_both_kernels(engines):
    engines(foam=Fake(kernels=("7.2",)), criu=Fake())
    chosen, reasons = registry.choose("auto", "/images", ("6.12", "7.2"))
    assert (chosen, reasons) == ("criu", ["Engine foam: Kernel 7.2 lacks it; do."])


def test_the_disk_checkpoint_must_work_as_well(engines):
    engines(ppp=Fake(survives_power_cut=False), foam=Fake(NO))
    assert registry.choose("ppp", "/images", ()) == ("ppp", [])
    with pytest.raises(KupError, match=r"^Engine foam: It cannot; do\.$"):
        registry.choose("ppp", "/images", (), disk_checkpoint="foam")


@pytest.mark.parametrize(
    ("engine", "disk_checkpoint", "most"),
    [("foam", "", 6400), ("criu", "foam", 6400), ("ppp", "", 1200), ("ppp", "foam", 7600)],
)
def test_room_for_images_is_what_the_engine_writes(engine, disk_checkpoint, most):
    assert registry.images_bytes(engine, disk_checkpoint, rss=6400, shmem=1000) == most


def test_an_engine_that_was_asked_for_is_used_or_refused(engines):
    engines(foam=Fake(NO), criu=Fake())
    with pytest.raises(KupError, match="Engine foam: It cannot; do."):
        registry.choose("foam", "/images", ())
