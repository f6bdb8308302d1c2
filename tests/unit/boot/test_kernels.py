"""Releases as Debian names them: which are meant, which flavour they have, which is newer."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kernels
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

NAMES = [
    ("6.12.117+deb13-cloud-amd64", "cloud-amd64"),
    ("7.2.12+deb13-cloud-amd64", "cloud-amd64"),
    ("7.2.12+deb14-cloud-amd64", "cloud-amd64"),
    ("6.1.0-49-cloud-amd64", "cloud-amd64"),
    ("6.12.9+bpo-cloud-amd64", "cloud-amd64"),
    ("6.12.117+deb13-rt-amd64", "rt-amd64"),
    ("6.12.9+bpo-rt-amd64", "rt-amd64"),
    ("6.1.0-49-rt-amd64", "rt-amd64"),
    ("6.1.0-49-amd64", "amd64"),
    ("6.12.117+deb13-amd64", "amd64"),
    ("5.10.0-35-cloud-amd64", "cloud-amd64"),
    ("6.12.117+deb13+1-amd64", "amd64"),
    ("7.3-rc2-cloud-amd64", "cloud-amd64"),
    ("7.3~rc2-cloud-amd64", "cloud-amd64"),
    ("6.16.12+deb13-amd64-unsigned", "amd64-unsigned"),
    ("6.1.0-0.deb11.21-cloud-amd64", "cloud-amd64"),
    ("6.12.63+deb13-arm64-16k", "arm64-16k"),
]


@pytest.mark.parametrize(("release", "flavour"), NAMES)
def test_flavour(release, flavour):
    assert kernels.flavour(release) == flavour


@pytest.mark.parametrize(
    ("release", "kind"),
    [
        ("7.2.12+deb13-cloud-amd64", "+deb13-cloud-amd64"),
        ("6.12.12+bpo-amd64", "+bpo-amd64"),
        ("6.1.0-25-amd64", "-amd64"),
        ("6.1.0-25-cloud-amd64", "-cloud-amd64"),
        ("7.3~rc2-amd64", "-amd64"),
        ("6.12.9", ""),
    ],
)
def test_a_kind_has_no_numbers(release, kind):
    assert kernels.kind(release) == kind


@pytest.mark.parametrize(
    ("selector", "release", "meant"),
    [
        ("7.2", "7.2.12+deb13-cloud-amd64", True),
        ("7.2.12", "7.2.12+deb13-cloud-amd64", True),
        ("7.2.1", "7.2.12+deb13-cloud-amd64", False),
        ("7.2", "7.20.1+deb13-cloud-amd64", False),
        ("6.1", "6.12.117+deb13-cloud-amd64", False),
        ("6.1", "6.1.0-49-cloud-amd64", True),
        ("6.1.0-49", "6.1.0-49-cloud-amd64", True),
        ("6.1.0-4", "6.1.0-49-cloud-amd64", False),
        ("6.12", "6.12.9+bpo-cloud-amd64", True),
        ("6.12.9", "6.12.9+bpo-cloud-amd64", True),
        ("7.3", "7.3~rc2-cloud-amd64", True),
        ("6.12.117+deb13-rt-amd64", "6.12.117+deb13-rt-amd64", True),
        ("6.12.117+deb13-rt-amd64", "6.12.117+deb13-cloud-amd64", False),
        ("newest", "5.10.0-35-cloud-amd64", True),
    ],
)
def test_matches(selector, release, meant):
    assert kernels.matches(selector, release) is meant


def test_order_is_by_number():
    oldest_first = [
        "5.10.0-35-cloud-amd64",
        "6.1.0-9-cloud-amd64",
        "6.1.0-49-cloud-amd64",
        "6.9.7+bpo-cloud-amd64",
        "6.12.9+bpo-cloud-amd64",
        "6.12.117+deb13-cloud-amd64",
        "7.2.12+deb13-cloud-amd64",
    ]
    assert sorted(sorted(oldest_first), key=kernels.order) == oldest_first


@pytest.mark.parametrize("selector", ["newest", "7.2", "6.1.0-49", "6.12.117+deb13-rt-amd64", "7.3~rc2"])
def test_what_can_be_a_kernel(selector):
    kernels.check_selector(selector)


@pytest.mark.parametrize("selector", ["", "7", "latest", "v7.2", "7.2 ", "7.2\n", "../7.2", "7.2;id"])
def test_what_can_be_no_kernel(selector):
    with pytest.raises(KupError, match="expected 'newest'"):
        kernels.check_selector(selector)


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setattr(kernels, "running", lambda: "6.12.117+deb13-cloud-amd64")
    monkeypatch.setattr(
        kernels,
        "installed",
        lambda: [
            "6.12.117+deb13-cloud-amd64",
            "7.2.9+deb13-cloud-amd64",
            "7.2.12+deb13-cloud-amd64",
            "7.2.12+deb13-rt-amd64",
        ],
    )


@pytest.mark.parametrize(
    ("selector", "release"),
    [
        ("7.2", "7.2.12+deb13-cloud-amd64"),
        ("7.2.9", "7.2.9+deb13-cloud-amd64"),
        ("newest", "7.2.12+deb13-cloud-amd64"),
        ("7.2.12+deb13-rt-amd64", "7.2.12+deb13-rt-amd64"),
        ("7.1", None),
    ],
)
def test_the_newest_of_the_running_flavour_is_chosen(node, selector, release):
    assert kernels.choose(selector) == release


@pytest.mark.parametrize(
    ("names", "package"),
    [
        (["7.2.9+deb13-cloud-amd64", "7.2.12+deb13-cloud-amd64"], "linux-image-7.2.12+deb13-cloud-amd64"),
        (
            ["7.2.12+deb13-cloud-amd64", "7.2.13+deb13-rt-amd64", "7.3.1+deb13-cloud-amd64"],
            "linux-image-7.2.12+deb13-cloud-amd64",
        ),
        (["7.2.12+deb13-cloud-amd64", "7.2.99+deb13-cloud-amd64"], "linux-image-7.2.12+deb13-cloud-amd64"),
        (["cloud-amd64", "7.2.99+deb13-cloud-amd64"], None),
    ],
    ids=["newest", "flavour", "mentioned", "none"],
)
def test_a_package_brings_the_newest_release_that_there_is(node, monkeypatch, names, package):
    def apt_cache(words):
        if words[1] == "pkgnames":
            return types.SimpleNamespace(stdout="".join(f"linux-image-{name}\n" for name in names))
        # Only another package mentions this one.
        return types.SimpleNamespace(stdout="Candidate: (none)" if "7.2.99" in words[2] else "Candidate: 1.0")

    monkeypatch.setattr(kernels, "run", apt_cache)
    monkeypatch.setattr(kernels.os.path, "exists", lambda path: True)
    assert kernels.package("7.2") == package
    assert package is None or f"linux-image-{kernels.in_package(package)}" == package
