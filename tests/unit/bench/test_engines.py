# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/engines.py: which of a client's silences is the outage."""

import pytest

from bench.engines import spanning
from lab.command import LabError

SILENCES = [(2.0, 5.5), (18.0, 20.5), (23.0, 23.5)]


def test_the_outage_is_the_silence_in_which_the_kernel_starts():
    assert spanning(SILENCES, 18.3) == (18.0, 20.5)


def test_a_kernel_that_starts_beside_answers_is_no_outage():
    with pytest.raises(LabError, match=r"at 21\.00 s"):
        spanning(SILENCES, 21)
