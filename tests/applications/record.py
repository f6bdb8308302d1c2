"""docs/applications.json: the last result of each application, engine and way; docs/applications.md, made from it."""

from lab import results
from lab.paths import REPO
from tests.applications.declared import Application, names
from tests.cases import record, table

ROWS, PAGE = REPO / "docs" / "applications.json", REPO / "docs" / "applications.md"


def _key(row):
    return row["application"], row["engine"], row["way"]


def append(row):
    """Record ROW in the place of the last result of its application, engine and way."""
    record.write(ROWS, {**row, "commit": record.commit()}, _key)


def write_page():
    PAGE.write_text(page(record.read(ROWS), [Application(name) for name in names()]), encoding="utf-8")


def page(rows, applications):
    """Return the text of the page from the rows of docs/applications.json."""
    known = {one.name: one for one in applications}
    rows = [row for row in rows if row["application"] in known]
    lines = [
        "# Applications of Debian",
        "",
        "`make applications` installs these applications on one node as Debian 13 brings them, with a packet filter that begins with",
        "`flush ruleset`, MariaDB's data on a disk of its own, and a service whose pid is 123458. Clients outside the node load them, and",
        "their connections stay open while the node is updated. Afterwards everything that was loaded is compared, on the same",
        "connections. This page and `docs/applications.json` have the last result of each application, engine and way. Under `fallback` the",
        "gate took the node back to the old kernel; `second` is the update after that. Settings are those of Debian (`stock`), or the",
        "playbook `kup_ready` has changed one that preflight refuses (`ready`).",
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
        "| application | version | what it has in memory | settings | engine | way | result |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        bad = row["result"] not in ("right", "refused")
        lines.append(
            f"| {row['application']} | {row['version']} | {table.cell(known[row['application']].says)} "
            f"| {row.get('settings', '')} | `{row['engine']}` "
            f"| {row['way']} | {table.result(row, bad)} |"
        )
    return "\n".join(lines) + "\n"
