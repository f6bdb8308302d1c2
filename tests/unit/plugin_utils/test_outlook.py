# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout would do with each node."""

from __future__ import annotations

from ansible_collections.kup.fleet.plugins.plugin_utils import _outlook

OLD, NEW = "6.12.1-amd64", "7.2.12-amd64"
UNITS = [{"unit": "memcached.service", "rss_bytes": 3 << 20}, {"unit": "redis.service", "rss_bytes": 1}]


def node(**more):
    fit = {
        "running": OLD,
        "release": NEW,
        "needs_update": True,
        "phase": "",
        "engine": "foam",
        "engine_reasons": ["Engine ppp: no."],
        "disk_checkpoint": "",
        "outage_s": 11.4,
        "outages_s": {"foam": 11.4},
    }
    return {"kup_checkpoint_fit": {**fit, "units": UNITS, "blockers": [], **more}}


FACTS = {
    "node1": node(running=NEW, needs_update=False, engine=None, outage_s=None),
    "node2": node(),
    "node3": {**node(blockers=[{"code": "io-uring"}]), "__kup_failed": True, "__kup_reason": "redis\nuses io_uring."},
    "node4": {"__kup_failed": True, "__kup_unreached": True, "__kup_reason": "No route to host."},
    "node5": node(phase="probation", running=NEW),
    "node6": {},
    "node7": node(release="", engine="ppp", disk_checkpoint="foam"),
}
ROWS = _outlook.rows(FACTS, ["node6"], [["node5"], ["node2", "node7"]])


def test_each_node_has_a_verdict_and_its_batch():
    assert [(row["name"], row["verdict"], row["batch"]) for row in ROWS] == [
        ("node1", "up_to_date", None),
        ("node2", "update", 2),
        ("node3", "refused", None),
        ("node4", "unreachable", None),
        ("node5", "resume", 1),
        ("node6", "unreachable", None),
        ("node7", "update", 2),
    ]
    assert {(row["wave"], row["domain"]) for row in ROWS} == {(None, "")}
    assert {row["verdict"] for row in ROWS} == set(_outlook.VERDICTS)


def test_a_row_says_what_would_be_done():
    assert ROWS[1] == {
        "name": "node2", "verdict": "update", "batch": 2, "kernel": OLD, "target": NEW, "engine": "foam",
        "engine_reasons": ["Engine ppp: no."], "outages_s": {"foam": 11.4},
        "units": ["memcached.service", "redis.service"], "memory_bytes": (3 << 20) + 1, "outage_s": 11.4, "blockers": [], "reason": "",
        "wave": None, "domain": "",
    }  # fmt: skip
    assert ROWS[6]["target"] == ""
    assert (ROWS[2]["blockers"], ROWS[2]["reason"]) == ([{"code": "io-uring"}], "redis\nuses io_uring.")


def test_the_table_has_a_line_for_each_node_and_a_sum():
    lines = [" ".join(line.split()) for line in _outlook.table(ROWS)]
    assert lines == [
        "node batch kernel -> target engine memory outage services, or what stands in the way",
        f"node1 - {NEW} up to date",
        f"node2 2 {OLD} -> {NEW} foam 4 MiB 11 s memcached.service, redis.service",
        f"node3 - {OLD} refused: redis uses io_uring.",
        "node4 - unreachable: No route to host.",
        f"node5 1 {NEW} -> {NEW} foam 4 MiB memcached.service, redis.service",
        "node6 - unreachable: The connection to the node was lost.",
        f"node7 2 {OLD} -> ? ppp + foam 4 MiB 11 s memcached.service, redis.service",
        "plan: 2 update, 1 resume, 1 up to date, 1 refused, 2 unreachable",
    ]


def test_domains_and_waves_have_columns_where_there_are_any():
    facts, domains = (
        {name: FACTS[name] for name in ("node1", "node2", "node7")},
        {"node1": "a", "node2": "b", "node7": "b"},
    )
    rows = _outlook.rows(facts, [], [["node2", "node7"]], [["node2"], ["node7"]], domains)
    assert [(row["batch"], row["wave"], row["domain"]) for row in rows] == [(None, None, "a"), (1, 1, "b"), (1, 2, "b")]
    lines = [" ".join(line.split()) for line in _outlook.table(rows)]
    assert lines[0].startswith("node batch wave domain kernel -> target")
    assert lines[1].startswith(f"node1 - - a {NEW}")
    assert lines[3].startswith(f"node7 1 2 b {OLD} -> ?")
