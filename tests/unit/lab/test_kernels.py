"""Kernels by series: the newest, the newest but one, and those that the mirror has lost."""

import re

import pytest

from lab import kernels, mirror
from lab.command import LabError


def _image(release, version, *depends):
    return {
        "Package": f"linux-image-{release}",
        "Version": version,
        "Depends": ", ".join(depends),
        "Filename": f"pool/{release}",
    }


def _modules(release):
    return {"Package": f"linux-modules-{release}", "Version": "1", "Filename": f"pool/modules-{release}"}


@pytest.fixture(name="archive")
def _archive(monkeypatch):
    """A mirror that lists three kernels; gone from it are the files in the returned set."""
    new, middle, old = (f"6.12.{point}+deb13-cloud-amd64" for point in (101, 99, 9))
    listed = [
        _image(old, "6.12.9-1"),
        _image(new, "6.12.101-1", f"linux-modules-{new} (= 6.12.101-1)"),
        _image(middle, "6.12.99-1", f"linux-modules-{middle} (= 6.12.99-1)"),
        _modules(middle),
        _modules(new),
    ]
    gone = set()
    suite = mirror.Suite("http://archive.invalid/debian", "trixie")
    monkeypatch.setattr(mirror, "suites", lambda release: [suite])
    monkeypatch.setattr(mirror, "other_suites", lambda release: [])
    monkeypatch.setattr(mirror, "packages", lambda suite, wanted: [s for s in listed if s["Package"] not in gone])
    monkeypatch.setattr(mirror, "has_file", lambda suite, path: path not in gone)
    return gone


def test_series_is_its_newest_kernel_by_version_not_by_text(archive):
    assert kernels.resolve("6.12", "13").package == "linux-image-6.12.101+deb13-cloud-amd64"


@pytest.mark.parametrize("release", ["6.12.120+deb13-amd64", "6.12.120+deb13+1-amd64"])
def test_the_kernel_for_hardware_is_another_flavour(archive, monkeypatch, release):
    cloud, names = mirror.packages, ("", "-dbg", "-unsigned")

    def packages(suite, wanted):
        more = [_image(f"{release}{name}", "6.12.120-1") for name in names] + [
            _image("6.12.130+deb13-rt-amd64", "6.12.130-1")
        ]
        return [one for one in (*cloud(suite, wanted), *more) if re.fullmatch(wanted, one["Package"])]

    monkeypatch.setattr(mirror, "packages", packages)
    assert kernels.resolve("6.12-generic", "13").release == release
    assert kernels.resolve("6.12", "13").release == "6.12.101+deb13-cloud-amd64"


def test_newest_but_one(archive):
    assert kernels.resolve("6.12-1", "13").release == "6.12.99+deb13-cloud-amd64"


@pytest.mark.parametrize(
    "lost", ["linux-modules-6.12.101+deb13-cloud-amd64", "pool/modules-6.12.101+deb13-cloud-amd64"]
)
def test_kernel_whose_modules_rotated_away_is_passed_over(archive, lost):
    archive.add(lost)
    assert kernels.resolve("6.12", "13").release == "6.12.99+deb13-cloud-amd64"


@pytest.mark.parametrize("series", ["6", "6.12.3", "newest", ""])
def test_malformed_series_is_refused_with_the_expected_form(archive, series):
    with pytest.raises(LabError, match=r"expected the form 6\.12"):
        kernels.resolve(series, "13")


def test_too_few_kernels_of_a_series_are_said_so(archive):
    with pytest.raises(LabError, match="choose another series"):
        kernels.resolve("6.12-5", "13")
