"""Time limits of one update, by what the units have."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._update import limits

GIB = 1 << 30


def checkpoint(forecast=0.0, processes=1, connections=0, restores_memory=True):
    return types.SimpleNamespace(
        unit=types.SimpleNamespace(rss=GIB, processes=[None] * processes),
        findings=types.SimpleNamespace(sockets=[None] * connections),
        pace=GIB,
        restores_memory=restores_memory,
        freeze_forecast=lambda: forecast,
    )


@pytest.mark.parametrize(
    ("has", "seconds"),
    [({}, 30), ({"forecast": 100}, 201), ({"connections": 60_000}, 121), ({"processes": 2000}, 40)],
)
def test_a_freeze_may_take_what_memory_processes_and_connections_need(has, seconds):
    assert limits.freeze({"FREEZE_MAX": ""}, [checkpoint(**has)]) == seconds


def test_the_setting_counts_whatever_a_unit_has():
    assert limits.freeze({"FREEZE_MAX": "7"}, [checkpoint(connections=60_000)]) == 7


@pytest.mark.parametrize(("connections", "restore"), [(10, "60"), (60_000, "123")])
def test_a_restore_may_take_longer_with_many_connections(connections, restore):
    record = {"RESTORE_TIMEOUT": "60", "COMMIT_TIMEOUT": "600"}
    limits.extend(record, [checkpoint(connections=connections)])
    assert record == {"RESTORE_TIMEOUT": restore, "COMMIT_TIMEOUT": "600"}
