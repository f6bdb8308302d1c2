# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Metrics are what Prometheus reads, whatever text a label has."""

from __future__ import annotations

import math

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._metrics.exposition import Gauges
from tests.exposition import Bad, parse

STRANGE = [
    'a"b',
    "a\\",
    'a\\"',
    "a\nb",
    "a\\nb",
    "}",
    "{,}",
    "a b",
    "# HELP",
    "ö\u2028",
    "\udcff",
    "\x1b[2J",
    "",
    '"} 1\nkup_x 2',
]


@pytest.mark.parametrize("value", STRANGE)
def test_no_value_of_a_label_is_anything_else(value):
    gauges = Gauges()
    gauges.add("kup_a", "A thing.", 1, unit=value, other="x")
    gauges.add("kup_b", "Another.", 2)
    found = parse(gauges.text())
    assert list(found) == ["kup_a", "kup_b"]
    ((labels, number),) = found["kup_a"].items()
    assert (dict(labels)["other"], number) == ("x", 1.0)
    if value.isprintable():
        assert dict(labels)["unit"] == value


def test_a_label_is_no_text():
    gauges = Gauges()
    gauges.add("kup_a", "A thing.", 1, unit="x" * 5000)
    assert len(gauges.text()) < 400


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "1"), (False, "0"), (0, "0"), (1.5, "1.5"), (1795747856.436, "1795747856.436"), ("7", "7"), (1e300, None)]
    + [(math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (1e-9, "1e-09")],
)
def test_numbers(value, text):
    gauges = Gauges()
    gauges.add("kup_a", "A thing.", value)
    (number,) = parse(gauges.text())["kup_a"].values()
    assert number == float(value) or math.isnan(number)
    assert text is None or gauges.text().splitlines()[-1] == f"kup_a {text}"


@pytest.mark.parametrize("value", ["1\nkup_b 2", "x", [], {}])
def test_what_is_no_number_is_refused(value):
    gauges = Gauges()
    gauges.add("kup_a", "A thing.", value)
    with pytest.raises((TypeError, ValueError)):
        gauges.text()


def test_what_is_not_known_is_left_out():
    gauges = Gauges()
    gauges.add("kup_a", "A thing.", None)
    assert gauges.text() == ""


def test_samples_of_one_name_stand_together_with_the_labels_of_their_node():
    gauges = Gauges()
    for node in ("n2", "n1"):
        gauges.under(node=node).add("kup_a", "A thing.", 1)
        gauges.under(node=node).add_states("kup_b", "Another.", "state", ("on", "off"), "off")
    found = parse(gauges.text())
    assert found["kup_a"] == {(("node", "n2"),): 1.0, (("node", "n1"),): 1.0}
    assert found["kup_b"][("node", "n1"), ("state", "off")] == 1.0
    assert sum(found["kup_b"].values()) == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "kup_a 1\n",
        "# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a 1",
        "# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a 1\nkup_a 2\n",
        "# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a 1 1795747856\n",
        "# HELP kup_a A.\n# TYPE kup_a gauge\n",
        "# HELP kup_a A.\n# TYPE kup_a gauge\nkup_b 1\n",
        '# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a{b="\\x"} 1\n',
        '# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a{b="1",b="2"} 1\n',
        "# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a True\n",
        "# HELP kup_a_total A.\n# TYPE kup_a_total gauge\nkup_a_total 1\n",
        "# HELP kup_a_ms A.\n# TYPE kup_a_ms gauge\nkup_a_ms 1\n",
        '# HELP kup_a A.\n# TYPE kup_a gauge\nkup_a 1\n# HELP kup_b B.\n# TYPE kup_b gauge\nkup_b 1\nkup_a{x="1"} 1\n',
    ],
)
def test_the_reader_of_these_tests_is_strict(text):
    with pytest.raises(Bad):
        parse(text)
