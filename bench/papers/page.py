"""docs/papers.md: the figures of the paper's evaluation, made again."""

from lab.paths import REPO

PAGE = REPO / "docs" / "papers.md"
# What the paper (Kashyap et al., USENIX ATC 2016) tried, by part; the figures of its hardware are not those of an emulated processor.
PAPER = {
    "cache": "Paper: memcached with items asked for by a Pareto distribution, an update beside a reboot.",
    "database": "Paper: MySQL under sysbench's OLTP load.",
    "web": "Paper: Apache with PHP, which streams a file out of a database, all of it carried, and a part.",
    "many": "Paper: one to eight memcached, and one to sixteen processes of 16 MB, whose times grow in a straight line.",
}


def write(found, parts):
    """Write the page from what was FOUND by PARTS, {name: module}."""
    PAGE.write_text(text(found, parts), encoding="utf-8")


def text(found, parts):
    lines = [
        "# The paper's evaluation, made again",
        "",
        "`make bench BENCH=papers` does what section 6 of the paper did, with this collection, Debian's kernels and packages, on a virtual",
        "machine with an emulated processor. Seconds are the machine's; what counts are shares and lines. All figures are in",
        "`bench/papers.json`; a part that is not below has not been measured yet.",
        "",
    ]
    for name, module in parts.items():
        if name in found:
            one = found[name]
            what = module.__doc__.strip()
            lines += [f"## {name.capitalize()}", "", what, "", PAPER[name], "", *module.tell(one), ""]
            lines += [f"Engine `{one['engine']}`, commit {one['commit']}.", ""]
    return "\n".join(lines)
