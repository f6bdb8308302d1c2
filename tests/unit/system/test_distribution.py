# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What os-release says of a node, and what a file says that is none."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import distribution
from ansible_collections.kup.fleet.plugins.module_utils._system.distribution import Distribution


@pytest.fixture
def files(tmp_path, monkeypatch):
    paths = [tmp_path / "etc", tmp_path / "usr"]
    monkeypatch.setattr(distribution, "FILES", tuple(map(str, paths)))
    return paths


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n',
            Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)"),
        ),
        (
            'PRETTY_NAME="Debian GNU/Linux forky/sid"\nNAME="Debian GNU/Linux"\nID=debian\n',
            Distribution("debian", "", "Debian GNU/Linux forky/sid"),
        ),
        (
            'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
            Distribution("rocky", "9.4", "rocky 9.4"),
        ),
        ("# ID=debian\n\nID='arch'\nVERSION_ID=\nBROKEN=\"\nno assignment\n", Distribution("arch", "", "arch")),
        ("", Distribution()),
        ("\x00\xff\n=\n", Distribution()),
    ],
)
def test_what_a_file_says(files, text, found):
    files[0].write_text(text)
    assert distribution.look() == found


def test_the_file_of_the_vendor_counts_where_there_is_no_other(files):
    files[1].write_text("ID=debian\nVERSION_ID=13\n")
    assert distribution.look() == Distribution("debian", "13", "debian 13")
    files[0].write_text("ID=ubuntu\n")
    assert distribution.look().id == "ubuntu"


def test_what_cannot_be_read_is_not_known(files):
    files[0].mkdir()
    assert distribution.look() == Distribution()


def test_a_large_file_and_a_long_name_have_an_end(files):
    files[0].write_text("ID=debian\nPRETTY_NAME=" + "x" * (1 << 20) + "\nID=late\n")
    assert distribution.look() == Distribution("debian", "", "x" * 100)
