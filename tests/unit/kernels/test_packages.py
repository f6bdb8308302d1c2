"""Which kernels the mirror has, and whether with all their packages."""

import pytest

from lab import mirror
from tests.kernels import packages

IMAGE, OLD = "linux-image-7.2.9+deb13-cloud-amd64", "linux-image-6.12.9+deb13-cloud-amd64"
BINARY, MODULES = (IMAGE.replace("image", part) for part in ("binary", "modules"))
BIG, SMALL = 20 << 20, 2000


def stanza(package, size, depends):
    return {
        "Package": package,
        "Version": "1",
        "Filename": f"pool/{package}.deb",
        "Size": str(size),
        "Depends": depends,
    }


KERNEL = [
    stanza(IMAGE, SMALL, f"{BINARY} (= 1), {MODULES} (= 1), kmod"),
    stanza(BINARY, BIG, "kmod"),
    stanza(MODULES, BIG, "kmod"),
]


@pytest.mark.parametrize(
    ("left_out", "is_whole"),
    [("", True), (MODULES, False), (IMAGE, False)],
)
def test_a_kernel_is_whole_if_all_parts_of_its_image_package_are_listed(monkeypatch, left_out, is_whole):
    listed = [one for one in KERNEL if one["Package"] != left_out]
    monkeypatch.setattr(mirror, "archives", lambda: ("http://main", "http://security"))
    monkeypatch.setattr(mirror, "packages", lambda suite, _wanted: listed if suite.name == "trixie-backports" else [])
    assert [(one.release, one.is_whole) for one in packages.wanted()] == [("7.2.9+deb13-cloud-amd64", is_whole)]


def test_a_kernel_in_one_package_is_whole(monkeypatch):
    monkeypatch.setattr(mirror, "archives", lambda: ("http://main", "http://security"))
    monkeypatch.setattr(mirror, "packages", lambda _suite, _wanted: [stanza(OLD, BIG, "kmod, linux-base (>= 4.3)")])
    assert [(one.release, one.is_whole) for one in packages.wanted()] == [("6.12.9+deb13-cloud-amd64", True)]
