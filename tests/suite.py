"""What the commands of all suites on virtual machines share: another node, and how they end."""

import shlex
import signal
import subprocess
import sys

from lab.command import LabError, say


def add_node(parser):
    """Let PARSER take --node: options of another node than the one whose results are recorded."""
    parser.add_argument(
        "--node", default="", metavar="OPTIONS", type=shlex.split,
        help="of 'lab up', for another node; with --no-record, because a row does not tell of it",
    )  # fmt: skip


def check_node(parser, args):
    """End the program where ARGS would record results of another node."""
    if args.node and not args.no_record:
        parser.error("--node does not go without --no-record: expected results of the default node.")


def end(name, work):
    """End the program of the suite NAME after WORK(), which returns what is bad: a list of sentences, or nothing. Exit code 1 then."""
    # SIGTERM must end the virtual machine, too, and so must a SIGINT that the shell had set to be ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        bad = work() or []
    except LabError as error:
        sys.exit(f"{name}: {error}")
    except subprocess.TimeoutExpired as error:
        sys.exit(f"{name}: the node does not answer: {error}")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted")
    # Again at the end: of a long output only the end may be kept.
    for sentence in bad:
        say(sentence)
    sys.exit(1 if bad else 0)
