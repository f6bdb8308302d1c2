# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values over a time, as Prometheus gives them; test_alerts has what is no answer at all."""

from __future__ import annotations

import json

import pytest

from ansible_collections.kup.fleet.plugins.plugin_utils import _prometheus
from tests.rollout.prometheus import Range, says, serving


def over(answer):
    with serving(lambda _path: answer) as server:
        return _prometheus.over(server.address, "up", 1000.0, 1060.0, 15)


def test_the_question_and_its_values():
    asked = []

    def answer(path):
        asked.append(Range.of(path))
        return asked[-1].says(lambda at: at / 10, lambda at: 7 if at > 1040 else None)

    with serving(answer) as server:
        found = _prometheus.over(f"{server.address}/", 'up{a="b&c"}', 1000.5, 1060.5, 15)
    assert asked == [Range('up{a="b&c"}', 1000.5, 1060.5, 15)]
    assert found == [[100.05, 101.55, 103.05, 104.55, 106.05], [7, 7]]


def matrix(*series, **more):
    answer = {"status": "success", "data": {"resultType": "matrix", "result": list(series)}, **more}
    return 200, {}, json.dumps(answer).encode()


def test_what_is_no_finite_number_is_no_value():
    values = [[1, "1.5"], [2, "NaN"], [3, "+Inf"], [4, "-Inf"], [5, "2e-3"], [6, 7]]
    assert over(matrix({"metric": {}, "values": values})) == [[1.5, 0.002]]
    assert over(matrix()) == []


REFUSAL = json.dumps(
    {"status": "error", "errorType": "bad_data", "error": "1:4: parse error:\x1b unexpected x" + "x" * 999}
)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((400, {}, REFUSAL.encode()), r"^HTTP status 400, 1:4: parse error:\\x1b unexpected x+$"),
        ((422, {}, b'{"error": "too many samples"}'), "^HTTP status 422, too many samples$"),
        ((400, {}, b"no JSON"), "^HTTP Error 400"),
        ((400, {}, b'{"error": 7}'), "^HTTP Error 400"),
        ((400, {}, b"[]"), "^HTTP Error 400"),
        ((503, {}, REFUSAL.encode()), "^HTTP Error 503"),
        (says(), "none of Prometheus"),
        (matrix(warnings=["a store is away"]), "its answer has warnings, so that values may be missing"),
        (matrix(7), "a series without values"),
        (matrix({"metric": {}}), "a series without values"),
        (matrix({"metric": {}, "values": 7}), "a series without values"),
        (matrix({"metric": {}, "values": [[1]]}), "a series without values"),
        (matrix({"metric": {}, "values": [[1, "seven"]]}), "a series without values"),
    ],
)
def test_what_is_no_answer(answer, why):
    with pytest.raises(_prometheus.ERRORS, match=why) as caught:
        over(answer)
    assert len(str(caught.value)) < 300
