# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A slice of a job has a workflow job with the name of its template."""

from __future__ import annotations

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.plugin_utils import _awx


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"awx_job_template_name": "kup fleet"},
        {"awx_job_template_name": "kup fleet", "awx_workflow_job_name": "kup rollout"},
        {"tower_job_template_name": "", "tower_workflow_job_name": ""},
    ],
)
def test_a_whole_job_is_accepted(variables):
    _awx.check(variables)


@pytest.mark.parametrize("prefix", ["awx", "tower"])
def test_a_slice_is_refused(prefix):
    names = {f"{prefix}_job_template_name": "kup fleet", f"{prefix}_workflow_job_name": "kup fleet"}
    assert _awx.sliced(names) == "kup fleet"
    with pytest.raises(KupError, match="^This job is a slice of the AWX job template 'kup fleet'.* set the job slices"):
        _awx.check(names)


@pytest.mark.parametrize(
    ("variables", "user"),
    [
        ({}, ""),
        ({"awx_user_name": "alice"}, ""),
        (
            {"awx_user_name": "alice", "awx_job_id": 7, "tower_user_name": "alice", "tower_job_id": 7},
            "alice, AWX job 7",
        ),
        ({"tower_user_name": "bob", "tower_job_id": "8"}, "bob, AWX job 8"),
        # A schedule has begun it.
        ({"awx_job_id": 9}, "AWX job 9"),
        ({"awx_job_id": 9, "awx_user_name": None}, "AWX job 9"),
    ],
)
def test_who_began_a_job(variables, user):
    assert _awx.user(variables) == user
