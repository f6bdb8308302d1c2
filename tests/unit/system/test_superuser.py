# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module that runs as somebody else than root says so, and nothing else."""

from __future__ import annotations

import importlib
from collections import defaultdict

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import superuser


def test_root_may(monkeypatch):
    monkeypatch.setattr(superuser.os, "geteuid", lambda: 0)
    superuser.require()


@pytest.mark.parametrize(("number", "name"), [(65534, "nobody"), (4000000000, "4000000000")])
def test_another_user_is_named(monkeypatch, number, name):
    monkeypatch.setattr(superuser.os, "geteuid", lambda: number)
    with pytest.raises(KupError) as refused:
        superuser.require()
    assert str(refused.value) == (
        f"The tasks on this node run as the user {name}, expected root; become root (-b, or ansible_become: true in the inventory)."
    )


@pytest.mark.parametrize("name", ["kup_preflight", "kup_info", "kup_ready", "kup_drain_record", "kup_status"])
def test_what_looks_at_a_node_first_refuses_another_user(monkeypatch, name):
    module = importlib.import_module(f"ansible_collections.kup.fleet.plugins.modules.{name}")

    class Asked:
        check_mode = False

        def __init__(self, **_specification):
            self.params = defaultdict(str)

        def fail_json(self, msg):
            raise SystemExit(msg)

    monkeypatch.setattr(superuser.os, "geteuid", lambda: 65534)
    monkeypatch.setattr(module, "AnsibleModule", Asked)
    with pytest.raises(SystemExit, match="run as the user nobody, expected root"):
        module.main()
