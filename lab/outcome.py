"""The outcome of each node: the rollout's report joined with the clients' results."""

# Fields of a client's result; None where a client left no result.
CLIENT_FIELDS = (
    "keys_expected",
    "keys_lost",
    "keys_wrong",
    "connections_before",
    "connections_kept",
    "resets",
    "outage_s",
    "outage_resolution_s",
    "longest_gap_s",
)


def merge(names, report, loads, verdicts):
    """Return {"nodes": [a row per name], "rollout": …}.

    `report` is the rollout's, `loads` and `verdicts` are {node: what `lab.load run` and `verify` wrote, or None}.
    """
    rows = {row["name"]: row for row in report.get("nodes", [])}
    nodes = []
    for name in names:
        row = dict(rows.get(name, {"name": name, "result": "unknown"}))
        # The client's outage counts: the node cannot see its own network.
        row["node_outage_s"] = row.pop("outage_s", None)
        nodes.append(row | _seen_by_client(loads.get(name), verdicts.get(name)))
    return {"nodes": nodes, "rollout": report.get("rollout", {"result": "unknown"})}


def _seen_by_client(load, verdict):
    seen = dict.fromkeys(CLIENT_FIELDS)
    if verdict:
        seen.update({key: verdict[key] for key in ("keys_expected", "keys_lost", "keys_wrong")})
    if load:
        seen.update({key: load[key] for key in ("connections_before", "connections_kept", "resets", "outage_s")})
        seen["outage_resolution_s"] = load["probe"]["resolution_s"]
        seen["longest_gap_s"] = (load["long_lived"]["longest_gap"] or {}).get("seconds")
    return seen


def broken_promises(merged):
    """Return a sentence for each broken promise of an update; none if all is well."""
    sentences = []
    for row in merged["nodes"]:
        name = row["name"]
        if row["result"] != "committed":
            sentences.append(f"{name} is {row['result']}, expected committed.")
        if row["keys_expected"] is None:
            sentences.append(f"The keys of {name} could not be compared.")
        elif row["keys_lost"] or row["keys_wrong"]:
            sentences.append(f"{name} lost {row['keys_lost']} keys and changed {row['keys_wrong']}, expected none.")
        if row["connections_before"] is None:
            sentences.append(f"The client of {name} left no result.")
        elif row["connections_kept"] != row["connections_before"] or row["resets"]:
            sentences.append(
                f"{name} kept {row['connections_kept']} of {row['connections_before']} connections and reset "
                f"{row['resets']}, expected all kept."
            )
    return sentences


COLUMNS = ("node", "kernel", "result", "outage", "keys lost/wrong", "connections", "resets")


def table(merged):
    """Return the rows as a text for a person."""
    rows = [COLUMNS] + [
        (
            row["name"],
            f"{row.get('kernel_before') or '?'} -> {row.get('kernel_after') or '?'}",
            row["result"],
            "?" if row["outage_s"] is None else f"{row['outage_s']:.2f} s",
            f"{_known(row['keys_lost'])}/{_known(row['keys_wrong'])} of {_known(row['keys_expected'])}",
            f"{_known(row['connections_kept'])} of {_known(row['connections_before'])} kept",
            str(_known(row["resets"])),
        )
        for row in merged["nodes"]
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def phases(merged):
    """Return a line per node with the seconds of each phase."""
    lines = []
    for row in merged["nodes"]:
        parts = [f"{name.removesuffix('_s')} {seconds:.2f}" for name, seconds in (row.get("phases") or {}).items()]
        lines.append(f"{row['name']}: {', '.join(parts) or 'no phases'} (s)")
    return "\n".join(lines)


def _known(number):
    return "?" if number is None else number
