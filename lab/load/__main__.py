"""The load client of the lab: fill one node's memcached, keep it under load through an update, verify every key.

    python3 -m lab.load fill   --host H --keys N
    python3 -m lab.load run    --host H --keys N --out FILE.json        until SIGTERM; FILE.json.status every second
    python3 -m lab.load verify --host H --keys N --state FILE.json --out V.json

Exit status: 0 done (verify: nothing lost, nothing wrong), 1 failed with one sentence, 2 bad arguments. Standard library
only, Python 3.11 or later; one process per node.
"""

import argparse
import json
import pathlib
import sys

from . import jsonfile, ledger, values
from .address import Address
from .errors import LoadError
from .fill import fill
from .run import Run
from .verify import verify

_MAX_IDLE = 500
# Overlapping attempts; with the idle connections they stay below the usual limit of 1024 descriptors.
_MAX_ATTEMPTS = 200


class _Parser(argparse.ArgumentParser):
    """Bad arguments get one sentence; the usage stays where it belongs, in --help."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def _between(kind, lowest, highest):
    """Return an argparse type: a `kind` (int or float) from `lowest` to `highest`, both included."""

    def convert(text):
        try:
            number = kind(text)
        except ValueError:
            number = None
        # `not (a <= b)` and not `a > b`: NaN must be refused too.
        if number is None or not lowest <= number <= highest:
            noun = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {noun} from {lowest} to {highest}")
        return number

    return convert


def _output(text):
    path = pathlib.Path(text)
    if not path.parent.is_dir() or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file in an existing directory")
    return path


def _arguments(argv):
    parser = _Parser(prog="python3 -m lab.load", description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--host", required=True, help="the node's address")
    common.add_argument("--port", type=_between(int, 1, 65535), default=11211)
    common.add_argument("--keys", type=_between(int, 1, values.MAX_KEYS), required=True, help="how many keys")
    common.add_argument("--size", type=_between(int, values.MIN_SIZE, values.MAX_SIZE), default=1024, help="bytes")

    timeout = argparse.ArgumentParser(add_help=False)
    timeout.add_argument(
        "--timeout", type=_between(float, 0.1, 3600), default=60.0, help="seconds without any progress (60)"
    )

    commands.add_parser("fill", parents=[common, timeout], help="write every key once, all acknowledged")

    run = commands.add_parser("run", parents=[common], help="load and probe the node until SIGTERM")
    run.add_argument("--out", type=_output, required=True, help="where the result goes; FILE.status while it runs")
    run.add_argument("--state", type=pathlib.Path, help="result of an earlier run over the same keys, to go on from")
    run.add_argument("--idle", type=_between(int, 0, _MAX_IDLE), default=8, help="idle connections (8)")
    run.add_argument("--rate", type=_between(float, 1, 10000), default=200.0, help="operations per second (200)")
    run.add_argument("--write-percent", type=_between(float, 0, 100), default=20.0, help="share of writes (20)")
    run.add_argument("--seconds", type=_between(float, 0.1, 86400), default=3600.0, help="end at the latest (3600)")
    run.add_argument(
        "--probe-interval", type=_between(float, 1, 10000), default=20.0, help="milliseconds between attempts (20)"
    )
    run.add_argument(
        "--probe-limit", type=_between(float, 10, 60000), default=1000.0, help="milliseconds per attempt (1000)"
    )
    run.add_argument(
        "--threshold", type=_between(float, 1, 60000), default=100.0, help="milliseconds that count as outage (100)"
    )
    run.add_argument(
        "--answer-limit", type=_between(float, 1, 86400), default=600.0, help="seconds for an answer (600)"
    )
    run.add_argument(
        "--finish-limit", type=_between(float, 0.1, 3600), default=30.0, help="seconds for the last answers (30)"
    )
    run.add_argument("--seed", type=int, default=1, help="which keys are read and written in which order (1)")

    check = commands.add_parser("verify", parents=[common, timeout], help="compare every value whole")
    check.add_argument("--out", type=_output, required=True, help="where the verdict goes")
    check.add_argument("--state", type=pathlib.Path, help="result of the run; without it all keys are as filled")
    check.add_argument(
        "--writes-until",
        type=_between(float, 0, 1e11),
        metavar="EPOCH_SECONDS",
        help="writes acknowledged later may be missing (the node went back to an earlier checkpoint)",
    )
    options = parser.parse_args(argv)
    _refuse_combinations(options, commands.choices[options.command])
    return options


def _refuse_combinations(options, parser):
    if options.command == "run":
        if options.threshold < 2 * options.probe_interval:
            parser.error(
                f"--threshold {options.threshold:g} is below twice the --probe-interval {options.probe_interval:g}: the "
                "pause between two attempts would count as an outage; raise it or probe more often"
            )
        overlapping = options.probe_limit / options.probe_interval
        if overlapping > _MAX_ATTEMPTS:
            parser.error(
                f"--probe-limit {options.probe_limit:g} at --probe-interval {options.probe_interval:g} makes "
                f"{overlapping:g} attempts at a time, at most {_MAX_ATTEMPTS} are allowed; shorten the limit"
            )
    if options.command != "fill" and options.state and options.state.resolve() == options.out.resolve():
        parser.error(f"--out {options.out} is the --state file too; give another one, or what was written is forgotten")
    if options.command == "verify" and options.writes_until is not None and not options.state:
        parser.error("--writes-until needs --state, the result of the run that wrote")


def _ledger(options):
    if not options.state:
        return ledger.Ledger()
    return ledger.from_result(jsonfile.read(options.state), options.keys, options.size, options.state)


def _fill(address, options):
    print(json.dumps(fill(address, options.keys, options.size, options.timeout)))
    return 0


def _run(address, options):
    result = Run(address, options, _ledger(options)).run()
    shown = ("host", "ended_by", "seconds", "connections_before", "connections_kept", "resets", "outage_s")
    print(json.dumps({name: result[name] for name in shown}))
    return 0


def _verify(address, options):
    writes = _ledger(options)
    jsonfile.remove(options.out)
    verdict = verify(address, options.keys, options.size, options.timeout, writes, options.writes_until)
    jsonfile.write(options.out, verdict)
    lost, wrong, stale = verdict["keys_lost"], verdict["keys_wrong"], verdict["keys_stale"]
    if lost or wrong:
        first = (verdict["examples"]["lost"] + verdict["examples"]["wrong"])[0]
        raise LoadError(
            f"{address.text} lost {lost} and changed {wrong} ({stale} of them stale) of {options.keys} keys, "
            f"expected none: {first['key']} should be {first['expected']} and is {first['found']}; see {options.out}"
        )
    print(json.dumps({name: verdict[name] for name in ("host", "keys_expected", "keys_lost", "keys_wrong", "seconds")}))
    return 0


def main(argv=None):
    """Run one command; return the exit status."""
    options = _arguments(argv)
    try:
        address = Address(options.host, options.port)
        return {"fill": _fill, "run": _run, "verify": _verify}[options.command](address, options)
    except LoadError as error:
        print(f"load {options.command}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
