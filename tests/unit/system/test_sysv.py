"""System V semaphores and queues: whose they are, as far as can be told."""

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import sysv

ALIVE, ENDED = os.getpid(), 2**22 + 1


def thing(owners=(), users=()):
    return sysv.Object("sem", 3, frozenset(owners), frozenset(users))


@pytest.mark.parametrize(
    ("owners", "users", "belongs"),
    [
        ({0}, {7}, True),
        ({0}, {ENDED}, False),
        ({0}, set(), False),
        ({33}, set(), True),
        ({33}, {ENDED}, True),
        # The last user is a process of somebody else, under the same account.
        ({33}, {ALIVE}, False),
        ({33}, {ALIVE, 7}, True),
        ({34}, set(), False),
    ],
)
def test_whose_it_is(owners, users, belongs):
    assert thing(owners, users).belongs_to(frozenset({7}), frozenset({0, 33})) is belongs


def test_what_the_kernel_lists(monkeypatch):
    tables = {
        "sem": [
            "key semid",
            "         0          4   600          2    33    33     0     0          0 1764108000",
            "",
            "broken",
        ],
        "msg": ["key msqid", "         0          5   600        0        0   812     0    33    33    34    34 0 0 0"],
    }
    monkeypatch.setattr(sysv, "read_lines", lambda path: tables[path.rpartition("/")[2]])
    monkeypatch.setattr(sysv, "_users", lambda number, count: frozenset({number, count}))
    assert sysv.objects() == [
        sysv.Object("sem", 4, frozenset({33, 0}), frozenset({4, 2})),
        sysv.Object("msg", 5, frozenset({33, 34}), frozenset({812})),
    ]
