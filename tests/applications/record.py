"""docs/applications.json: the last result of each application, Debian release, engine and way; docs/applications.md, made from it."""

from lab import results
from lab.paths import REPO
from tests.applications.declared import Application, names
from tests.cases import record, table

ROWS, PAGE = REPO / "docs" / "applications.json", REPO / "docs" / "applications.md"


def _key(row):
    return row["application"], row["release"], row["engine"], row["way"]


def append(row):
    """Record ROW in the place of the last result of its application, release, engine and way."""
    record.write(ROWS, {**row, "commit": record.commit()}, _key)


def write_page():
    PAGE.write_text(page(record.read(ROWS), [Application(name) for name in names()]), encoding="utf-8")


def page(rows, applications):
    """Return the text of the page from the rows of docs/applications.json."""
    known = {one.name for one in applications}
    rows = [row for row in rows if row["application"] in known]
    lines = [
        "# Applications of Debian",
        "",
        "`make applications` installs these applications on one node as Debian brings them, with a packet filter that begins with",
        "`flush ruleset`, MariaDB's data on a disk of its own, and a service whose pid is 123458. Clients outside the node load them, and",
        "their connections stay open while the node is updated. Afterwards everything that was loaded is compared, on the same",
        "connections. This page and `docs/applications.json` have the last result of each application, release, engine and way. Under",
        "`fallback` the gate took the node back to the old kernel; `second` is the update after that. Settings are those of Debian (`stock`),",
        "or the playbook `kup_ready` has changed one that preflight refuses (`ready`). Debian 13 goes from 6.12 to 7.2 with CRIU 4.2.1 of the",
        "next release, Debian 12 from 6.1 to 6.12 with its own CRIU 3.17.1. The last columns have the outage of all applications of the node,",
        "on an emulated processor, and how many connections of the client were open before, and lived on. Lost are processes, units that",
        "began anew, and connections whose client could not go on; wrong is what a client or a look at the processes found changed.",
        "",
        "| result | meaning |",
        "| --- | --- |",
        "| right | the same processes run, and all that was loaded is there |",
        "| refused | preflight has refused the unit; nothing has changed |",
        "| lost | a process, a connection or its memory is lost |",
        "| wrong | something else is not as before, or the update did not end as it should |",
        "",
        results.by_commit(rows),
        "",
        "| application | what it has in memory |",
        "| --- | --- |",
        *(f"| {one.name} | {table.cell(one.says)} |" for one in applications),
        "",
        "| application | version | Debian | settings | engine | way | result | lost | wrong | outage | connections |",
        f"{'| --- ' * 11}|",
    ]
    for row in rows:
        bad = row["result"] not in ("right", "refused")
        lines.append(
            f"| {row['application']} | {row['version']} | {row['release']} "
            f"| {row.get('settings', '')} | `{row['engine']}` "
            f"| {row['way']} | {table.result(row['result'], row['reason'], bad)} "
            f"| {row.get('lost', '')} | {row.get('wrong', '')} | {_outage(row)} | {_connections(row)} |"
        )
    return "\n".join(lines) + "\n"


def _outage(row):
    return "" if row.get("outage_s") is None else f"{row['outage_s']:.1f} s"


def _connections(row):
    # Of a client that has lost one, it is not known how many live.
    before, kept = row.get("connections_before"), row.get("connections_kept")
    return "" if before is None else f"{'?' if kept is None else kept} of {before}"
