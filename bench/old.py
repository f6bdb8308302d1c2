"""How long clients wait whose connections live through an update, in all states that an outage can meet (states.py).

    python3 -m bench.old [--each 125] [--turns 1] [--engine foam] [--ways none,revert,park,both] [--plights plain,loss,timeout] [--keep]

With kup_revert_backoff, kup_park_connections, both and neither (WAYS), each on a network that is as it is, that loses 1 % of all packets
both ways, and with a TCP_USER_TIMEOUT of 20 s (PLIGHTS). A node goes from kernel to kernel meanwhile. Both clocks are the
client's, as the timers of its TCP are. Prints a table and leaves build/bench/old.json; --keep replaces the recorded
figures of these plights as well.
"""

import argparse
import contextlib
import itertools
import json
import signal
import subprocess
import sys

from bench.engines import HERE, OUT, client, node, on_node, roll_out
from bench.gaps import WAYS, some_of
from bench.talk import PORT
from lab import results
from lab.command import LabError, say

MIB = 64  # of the node, for an application
UNIT = """
[Unit]
Description=Talks

[Service]
ExecStart=/usr/bin/python3 /root/talk.py
LimitNOFILE=8192
"""
# Plight → how many of a hundred packets are lost in each direction, and the clients' TCP_USER_TIMEOUT in milliseconds
PLIGHTS = {"plain": (0, 0), "loss": (1, 0), "timeout": (0, 20_000)}
# On the bridge: TCP takes notice of a packet that its own host drops before it.
LOSS = """
table bridge plight {{
  chain input {{ type filter hook input priority 0; ether type ip tcp sport {port} numgen random mod 100 < {lost} drop; }}
  chain output {{ type filter hook output priority 0; ether type ip tcp dport {port} numgen random mod 100 < {lost} drop; }}
}}
"""
FIGURES = ("gaps_s", "after_s")


def arguments():
    parser = argparse.ArgumentParser(prog="python3 -m bench.old", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--each", type=int, default=125, help="connections in each state (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=1, help="of each way (default: %(default)s)")
    parser.add_argument("--engine", default="foam", help="(default: %(default)s)")
    parser.add_argument("--ways", type=some_of(WAYS), default=list(WAYS), help=f"of {','.join(WAYS)} (default: all)")
    parser.add_argument(
        "--plights", type=some_of(PLIGHTS), default=list(PLIGHTS), help=f"of {','.join(PLIGHTS)} (default: all)"
    )
    parser.add_argument("--keep", action="store_true", help="replace the recorded figures")
    return parser.parse_args()


def start(lab):
    on_node(lab, "cat >/root/talk.py", (HERE / "talk.py").read_bytes())
    on_node(lab, "cat >/etc/systemd/system/talk.service", UNIT.encode())
    on_node(lab, "systemctl stop memcached; systemctl daemon-reload; systemctl restart talk")
    on_node(lab, f"until ss -Hltn sport = {PORT} | grep -q .; do sleep 0.2; done")


@contextlib.contextmanager
def losing(lab, lost):
    """Lose so many of a hundred packets between the clients and the application, in each direction."""
    inside = ["ip", "netns", "exec", lab.record["netns"], "nft"]
    if lost:
        subprocess.run([*inside, "-f", "-"], input=LOSS.format(port=PORT, lost=lost), text=True, check=True)
    try:
        yield
    finally:
        if lost:
            subprocess.run([*inside, "delete", "table", "bridge", "plight"], check=True)


def update(lab, args, kernel, way, plight):
    """Update the node and return what the clients have seen."""
    (lost, timeout), (reverts, parks), seen = PLIGHTS[plight], WAYS[way], {}
    clients = client(lab, "bench.states", seen, args.each, timeout)
    ways = {"kup_revert_backoff": reverts, "kup_park_connections": parks}
    with losing(lab, lost):
        roll_out(args.engine, kernel, "talk.service", clients, **ways)
    return {
        "plight": plight, "way": way, "engine": args.engine, "kernel": kernel, "each": args.each, "commit": results.commit(), **seen
    }  # fmt: skip


def states(run):
    return {name: about for name, about in run.items() if isinstance(about, dict)}


def table(runs):
    """Return RUNS as a text; of the times the 50th and 95th percentile, and the longest, in seconds."""
    rows = [
        f"{'plight':<9}{'way':<8}{'state':<16}{'outage':>8}{'gap p50':>9}{'p95':>8}{'longest':>9}{'after p50':>11}{'p95':>8}{'lost':>6}{'wrong':>7}"
    ]
    for run in runs:
        for name, about in states(run).items():
            gaps, after = (points(about[figure]) for figure in FIGURES)
            times = f"{gaps[0]:>9.2f}{gaps[1]:>8.2f}{gaps[2]:>9.2f}{after[0]:>11.2f}{after[1]:>8.2f}"
            rows.append(
                f"{run['plight']:<9}{run['way']:<8}{name:<16}{run['outage_s']:>8.2f}{times}{about['lost']:>6}{about['wrong']:>7}"
            )
    return "\n".join(rows)


def points(values):
    """(median, 95th percentile, maximum) of sorted values; of none: not a number."""
    if not values:
        return (float("nan"),) * 3
    return values[len(values) // 2], values[len(values) * 95 // 100], values[-1]


def keep(args, runs):
    """Write RUNS in place of those that were recorded in the same plights."""
    for folder in (OUT, HERE) if args.keep else (OUT,):
        path = folder / "old.json"
        recorded = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        others = [run for run in recorded if run["plight"] not in args.plights]
        path.write_text(json.dumps([*others, *runs], indent=2) + "\n", encoding="utf-8")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    args, runs = arguments(), []
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        with node(MIB) as lab:
            kernels = itertools.cycle((lab.record["image"]["kernel_to"], lab.record["image"]["kernel_from"]))
            start(lab)
            for plight, _turn, way in itertools.product(args.plights, range(args.turns), args.ways):
                runs.append(update(lab, args, next(kernels), way, plight))
                keep(args, runs)
                say(f"{plight}, {way}: outage {runs[-1]['outage_s']:.2f} s")
    except LabError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(table(runs))


if __name__ == "__main__":
    main()
