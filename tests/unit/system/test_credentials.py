# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Credentials of a unit that may not be there when it is restored."""

import socket

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import credentials


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("LoadCredential=key:/etc/app/key", []),
        ("LoadCredential=key", []),
        ("LoadCredential=key:other", []),
        ("SetCredential=key:text", []),
        ("LoadCredential=", []),
        (" LoadCredential = key:/run/app/key", [("key", "/run/app/key, which is in memory")]),
        ("LoadCredential=key:{socket}", [("key", "the service behind {socket}")]),
        ("LoadCredentialEncrypted=key:/etc/key", [("key", "the TPM, whose driver comes later")]),
        ("SetCredentialEncrypted=key: \\\nabc", [("key", "the TPM, whose driver comes later")]),
    ],
)
@pytest.mark.parametrize("tpm", [True, False])
def test_where_a_credential_comes_from(tmp_path, monkeypatch, line, found, tpm):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
    monkeypatch.setattr(credentials, "_TPM", str(tmp_path) if tpm else f"{tmp_path}/none")
    expected = [(name, where.format(socket=path)) for name, where in found]
    if not tpm and "Encrypted" in line:
        expected = []
    assert credentials.late(f"[Service]\n{line.format(socket=path)}\n") == expected
