# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a job of AWX can know of itself.

AWX tells a job neither the number of its slices nor whether another job of its template runs. The jobs of a sliced template belong to a
workflow job, which AWX makes for them and names as the template (create_unified_job of its job templates; awx_meta_vars of its unified jobs
has the variables).
"""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError

#: AWX sets each variable with both.
_PREFIXES = ("awx", "tower")


def user(variables):
    """Who began a job of AWX, such as "alice, AWX job 7"; empty outside of one.

    :param variables: dict name → value. AWX names nobody for a job that a schedule has begun.
    """
    prefix = next((each for each in _PREFIXES if variables.get(f"{each}_job_id")), None)
    if not prefix:
        return ""
    name = variables.get(f"{prefix}_user_name")
    return ", ".join(filter(None, [str(name or ""), f"AWX job {variables[f'{prefix}_job_id']}"]))


def check(variables):
    """Refuse a slice of a job.

    :param variables: dict name → value, with the extra variables of the job.
    :raises KupError: the job is one of several that AWX has made of a template, each with some of its nodes.
    """
    template = sliced(variables)
    if template:
        raise KupError(
            f"This job is a slice of the AWX job template {template!r}: its workflow job has the same name; a rollout needs all of its "
            "nodes in one job, so set the job slices of the template to 1 (or rename the workflow, if it is one of your own)."
        )


def sliced(variables):
    """Name of the template of which the job with these extra variables is a slice; empty where it is none. A slice's inventory has its nodes only."""
    for prefix in _PREFIXES:
        template, workflow = (variables.get(f"{prefix}_{kind}_name") for kind in ("job_template", "workflow_job"))
        if template and template == workflow:
            return str(template)
    return ""
