"""Security labels of a unit: which profiles confine it, and what the next boot can have of them."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import checks, security_profiles


@pytest.fixture
def node(monkeypatch, tmp_path):
    """A node with AppArmor and two loaded profiles; makes a unit whose threads have these labels."""
    apparmor = tmp_path / "apparmor"
    for name, number in (("case", 3), ("/usr/sbin/x", 4)):
        folder = apparmor / f"policy/profiles/{name.replace('/', '.')}.{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "raw_data").write_bytes(f"policy of {name}".encode())
    (apparmor / "policy/profiles/bare.5").mkdir()
    (apparmor / "policy/profiles/bare.5/name").write_text("bare\n")
    monkeypatch.setattr(security_profiles, "_APPARMOR", str(apparmor))

    def unit(*labels, place="attr/apparmor/current"):
        for number, label in enumerate(labels):
            path = tmp_path / f"7/task/{number}" / place
            path.parent.mkdir(parents=True)
            path.write_text(label)
        return types.SimpleNamespace(
            processes=[types.SimpleNamespace(path=str(tmp_path / "7"), threads=range(len(labels)))]
        )

    return unit


def test_each_profile_of_any_thread_is_found_once(node):
    found = security_profiles.of_unit(
        node("case (enforce)\n", "unconfined\n", "case (enforce)\n", "/usr/sbin/x//sub (complain)\n")
    )
    assert [label.profile for label in found] == ["/usr/sbin/x//sub", "case"]
    assert security_profiles.contents(found) == {"case": b"policy of case", "/usr/sbin/x": b"policy of /usr/sbin/x"}


@pytest.mark.parametrize("place", ["attr/apparmor/current", "attr/current"])
def test_older_kernels_have_one_place_for_labels_of_all_modules(node, place):
    assert [label.profile for label in security_profiles.of_unit(node("case (enforce)\n", place=place))] == ["case"]


def test_what_nothing_confines_has_no_label(node):
    assert security_profiles.of_unit(node("unconfined\n", "")) == []
    assert checks.security_label(security_profiles.Label("case (enforce)", True, "/file")) == []
    assert checks.security_profile(security_profiles.Label("case (enforce)", True, "/file")) == []


def test_another_module_s_label_is_refused(node, monkeypatch, tmp_path):
    monkeypatch.setattr(security_profiles, "_APPARMOR", str(tmp_path / "none"))
    (label,) = security_profiles.of_unit(node("system_u:system_r:init_t:s0\0", place="attr/current"))
    assert label.text == "system_u:system_r:init_t:s0"
    assert [each.code for each in checks.security_label(label)] == ["security-label"]


@pytest.mark.parametrize(
    "text", ["bare (enforce)", ":ns:case (enforce)", "case//&x (enforce)", "a b (enforce)", "gone (enforce)"]
)
def test_profiles_that_the_next_boot_cannot_have_are_refused(node, text):
    (label,) = security_profiles.of_unit(node(f"{text}\n"))
    assert [each.code for each in checks.security_profile(label)] == ["security-profile"]
