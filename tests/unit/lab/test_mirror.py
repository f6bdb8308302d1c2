"""The Debian archives: apt sources of both formats, and the variables that overrule them."""

import pytest

from lab import mirror
from lab.command import LabError

DEB822 = """\
Types: deb
# A comment between fields.
URIs: http://archive.invalid/debian/
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://archive.invalid/security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://disabled.invalid/debian
Suites: bookworm
"""


ONE_LINE = """\
# deb http://comment.invalid/debian bookworm main
deb-src http://source.invalid/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://archive.invalid/debian bookworm main contrib
deb http://archive.invalid/security bookworm-security main
"""


@pytest.fixture(name="etc_apt")
def _etc_apt(tmp_path, monkeypatch):
    monkeypatch.delenv("KUP_LAB_MIRROR", raising=False)
    monkeypatch.delenv("KUP_LAB_MIRROR_SECURITY", raising=False)
    monkeypatch.setattr(mirror, "_codename", lambda: "bookworm")
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [("sources.list.d/debian.sources", DEB822), ("sources.list", ONE_LINE)],
    ids=["deb822", "one-line"],
)
def test_archives_come_from_the_machines_own_sources(etc_apt, name, text):
    (etc_apt / name).write_text(text, encoding="utf-8")
    assert mirror.archives(etc_apt) == ("http://archive.invalid/debian", "http://archive.invalid/security")


def test_variable_overrules_the_sources(etc_apt, monkeypatch):
    (etc_apt / "sources.list").write_text(ONE_LINE, encoding="utf-8")
    monkeypatch.setenv("KUP_LAB_MIRROR", "http://other.invalid/debian/")
    assert mirror.archives(etc_apt) == ("http://other.invalid/debian", "http://other.invalid/debian-security")


def test_machine_without_a_debian_archive_is_told_which_variable_to_set(etc_apt):
    with pytest.raises(LabError, match="KUP_LAB_MIRROR"):
        mirror.archives(etc_apt)
