"""The kernel module on the node: what it needs, when it is built, and which installed one fits."""

import pathlib
import re
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._engines import kmod, ppp, registry

ENGINE = ppp.Ppp()


@pytest.fixture(autouse=True)
def no_module(monkeypatch):
    monkeypatch.setattr(kmod, "installed", lambda release: None)


@pytest.mark.parametrize(("release", "fits"), [("6.1.0-44-amd64", True), ("5.10.0-30-amd64", False), ("7.2.1", True)])
def test_kernels_that_the_module_knows(release, fits):
    assert (not ENGINE.kernel_blockers(release, daemon=False)) == fits


def test_a_kernel_without_headers(monkeypatch):
    monkeypatch.setattr(kmod, "headers", lambda release: release != "7.2.1-cloud-amd64")
    assert ENGINE.kernel_blockers("6.12.1-cloud-amd64", daemon=True) == []
    assert ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=False) == []
    (blocker,) = ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=True)
    assert (blocker.code, blocker.object) == ("kernel-headers", "Kernel 7.2.1-cloud-amd64")
    assert blocker.sentence().endswith("install linux-headers-7.2.1-cloud-amd64.")
    monkeypatch.setattr(kmod, "installed", lambda release: "/lib/modules/x.ko")
    assert ENGINE.kernel_blockers("7.2.1-cloud-amd64", daemon=True) == []
    assert kmod.packages(["7.2.1-cloud-amd64"]) == []


def test_packages_are_asked_for_by_this_engine_only(monkeypatch):
    monkeypatch.setattr(kmod, "headers", lambda release: release == "6.12.1")
    monkeypatch.setattr(kmod.shutil, "which", lambda command: None)
    assert set(registry.packages("ppp", ["6.12.1", "7.2.1"])) >= {"linux-headers-7.2.1", "make"}
    assert registry.packages("foam", ["6.12.1", "7.2.1"]) == []
    assert registry.packages("auto", ["6.12.1", "7.2.1"]) == []


def test_the_module_is_built_again_only_if_something_has_changed(monkeypatch, tmp_path):
    source, place, made = tmp_path / "source", tmp_path / "place", []
    source.mkdir()
    place.mkdir()
    (source / "main.c").write_text("one")

    def make(command, timeout):
        made.append(command[-1])
        with open(f"{command[2]}/kup_ppp.ko", "w", encoding="ascii") as stream:
            stream.write("module")

    monkeypatch.setattr(kmod, "SOURCE", str(source))
    monkeypatch.setattr(kmod, "run", make)
    assert kmod.provide("7.2.1", str(place))
    assert not kmod.provide("7.2.1", str(place))
    (source / "main.c").write_text("two")
    assert kmod.provide("7.2.1", str(place))
    assert made == ["KERNEL=7.2.1"] * 2
    assert (place / "kup_ppp.ko").read_text() == "module"
    # One that is installed is not built.
    (tmp_path / "dkms.ko").write_text("installed")
    monkeypatch.setattr(kmod, "installed", lambda release: str(tmp_path / "dkms.ko"))
    assert kmod.provide("7.2.1", str(place))
    assert not kmod.provide("7.2.1", str(place))
    assert (place / "kup_ppp.ko").read_text() == "installed"
    assert len(made) == 2


@pytest.mark.parametrize(("version", "fits"), [("1.0", True), ("0.9", False), ("", False)])
def test_an_installed_module_must_be_of_this_version(monkeypatch, tmp_path, version, fits):
    monkeypatch.undo()
    (tmp_path / "kup_ppp.h").write_text('#define KUP_PPP_VERSION "1.0"\n')
    monkeypatch.setattr(kmod, "SOURCE", str(tmp_path))
    said = {"filename": "/lib/modules/7.2.1/updates/kup_ppp.ko\n" if version else "", "version": f"{version}\n"}
    monkeypatch.setattr(kmod, "run", lambda argv, check: types.SimpleNamespace(stdout=said[argv[4]]))
    assert bool(kmod.installed("7.2.1")) == fits


def test_the_version_is_the_one_that_dkms_is_told():
    sources = pathlib.Path(__file__).resolve().parents[3] / "files/kmod"
    version = re.search(r'#define KUP_PPP_VERSION "(.*)"', (sources / "kup_ppp.h").read_text(encoding="utf-8")).group(1)
    assert f'PACKAGE_VERSION="{version}"' in (sources / "dkms.conf").read_text(encoding="utf-8")
