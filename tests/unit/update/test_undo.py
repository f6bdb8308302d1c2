# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Undo steps run in the reverse order, all of them, whatever ended the work."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._update import undo


@pytest.mark.parametrize("error", [None, KupError("no"), KeyboardInterrupt()])
def test_the_last_is_undone_first(error):
    done = []
    with pytest.raises(type(error)) if error else undo.Stack(), undo.Stack() as undos:
        undos.push_undo(lambda: done.append("first"))
        undos.push_undo(lambda: done.append("second"))
        if error:
            raise error
    assert done == ["second", "first"]


@pytest.mark.parametrize("failure", [KupError("cannot"), OSError("cannot")])
def test_one_that_fails_does_not_stop_the_others(failure):
    done = []

    def fail():
        raise failure

    with pytest.raises(KupError, match="the cause"), undo.Stack() as undos:
        undos.push_undo(lambda: done.append("first"))
        undos.push_undo(fail)
        raise KupError("the cause")
    assert done == ["first"]
