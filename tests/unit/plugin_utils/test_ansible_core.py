# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ansible-core is refused."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _ansible_core

RUNTIME = 'requires_ansible: ">=2.19.0"\n'


@pytest.mark.parametrize("version", ["2.19.0", "2.21.5", "2.22.0.dev0", "2.20.0rc1"])
def test_one_that_is_new_enough(version):
    assert _ansible_core.objection(version, RUNTIME) == ""


@pytest.mark.parametrize("version", ["2.16.19", "2.18.19"])
def test_one_that_is_too_old(version):
    said = _ansible_core.objection(version, RUNTIME)
    assert said.startswith(f"The controller has ansible-core {version}, expected 2.19.0 or later; install it")
