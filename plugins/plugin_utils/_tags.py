# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The tags of a run. No task of the collection has one but the first, which refuses: a part of an update is none."""

from __future__ import annotations

# By these every task is named that has no tag.
_ALL = ("all", "untagged")


def objections(run, skipped):
    """Sentences of why nothing, or only a part, would be done: a list.

    :param run: the tags of ``--tags``, ``all`` where there were none.
    :param skipped: those of ``--skip-tags``.
    """
    found = []
    if not set(run).intersection(_ALL):
        found.append(
            f"--tags is {','.join(run)}, expected none: no task of this playbook has a tag, so that nothing would be done; use -l to choose nodes."
        )
    wrong = [tag for tag in skipped if tag in _ALL]
    if wrong:
        found.append(f"--skip-tags is {','.join(wrong)}, which leaves nothing to do; leave it out.")
    return found
