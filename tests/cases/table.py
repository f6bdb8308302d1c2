"""docs/cases.md: the results of the cases, made from docs/cases.json."""

from lab import results
from lab.paths import REPO
from tests.cases import choose
from tests.cases.guest.declared import Case, names
from tests.cases.record import BEFORE, KNOCKS, read

PAGE = REPO / "docs" / "cases.md"


def write(rows):
    PAGE.write_text(page(rows, read(BEFORE), [Case(name) for name in names()], read(KNOCKS)), encoding="utf-8")


def page(rows, before, cases, knocks=()):
    """Return the text of the page from the rows of docs/cases.json, of before.json, and of docs/filter.json."""
    known = {case.name: case for case in cases}
    rows = [row for row in rows if row["case"] in known]
    counts = {word: sum(row["result"] == word for row in rows) for word in ("right", "refused", "lost", "wrong")}
    bad = [row for row in rows if not choose.is_good(known[row["case"]], row["result"], row["sentence"], row["way"])]
    tried = {row["case"] for row in rows}
    lines = [
        "# What applications and their nodes may have",
        "",
        "Each case in `tests/cases/units/` is a small unit with something that a new boot does not have by itself. `make cases`",
        "carries them through updates of a virtual machine, and compares what the application and others on the node observe before and",
        f"after. This page and `docs/cases.json` have the last result of each of {len(rows)} runs, of {len(tried)} cases.",
        "",
        "| result | runs | meaning |",
        "| --- | --- | --- |",
        f"| right | {counts['right']} | the same process runs, and all that was observed is as before |",
        f"| refused | {counts['refused']} | preflight has refused the unit; nothing has changed |",
        f"| lost | {counts['lost']} | its memory is lost |",
        f"| wrong | {counts['wrong']} | something else is not as before, or the update did not end as it should |",
        "",
        f"Of these, {len(bad)} are not what they should be: they are marked **so**.",
        "",
        results.by_commit(rows),
        "",
        *_knocked(knocks),
        "Under `unseen` the checks of preflight that refuse the case were switched off: the rehearsal of the dump has to refuse it then.",
        "The last column has what the same case did before the environment was a part of the checkpoint.",
        "",
        "| case | what it has | engine | way | result | before |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        case = known[row["case"]]
        judged = result(row["result"], row["sentence"], row in bad)
        lines.append(
            f"| {row['case']} | {cell(case.says)} | `{row['engine']}` | {row['way']} | {judged} | {cell(row['before'])} |"
        )
    left = [row for row in before if row["case"] in known and _key(row) not in {_key(one) for one in rows}]
    if left:
        lines += [
            "",
            "Tried only before:",
            "",
            "| case | what it has | engine | way | before |",
            "| --- | --- | --- | --- | --- |",
        ]
    for row in left:
        was = f"{row['result']}: {row['sentence']}".removesuffix(": ")
        lines.append(
            f"| {row['case']} | {cell(known[row['case']].says)} | `{row['engine']}` | {row['way']} | {cell(was)} |"
        )
    return "\n".join(lines) + "\n"


def _knocked(knocks):
    tried, answered = (sum(row[word] for row in knocks) for word in ("tried", "answered"))
    if not knocks:
        return []
    return [
        f"During {len(knocks)} updates and ways back (`docs/filter.json`) clients outside have tried a port that the node's filter forbids",
        f"{tried} times, and got {answered} answers.",
        "",
    ]


def _key(row):
    return row["case"], row["engine"], row["way"]


def result(word, sentence, is_bad):
    """Return the cell of a table for a result; one that IS BAD is bold."""
    return (f"**{word}**" if is_bad else word) + (f": {cell(sentence)}" if sentence else "")


def cell(text):
    """Return TEXT as it stands in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
