"""A fleet of real virtual machines on this machine: up, down, power cuts, and a shell into each node."""

import argparse
import os
import sys

from . import defaults, verbs
from .command import LabError


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one sentence."""

    def error(self, message):
        self.exit(2, f"lab: {message} (python3 -m lab --help tells more)\n")


def add_up_options(parser):
    """Add the options of `up`; the defaults are in defaults.py."""
    by_release = ", ".join(
        f"{update.old} to {update.new} on Debian {release}" for release, update in defaults.UPDATES.items()
    )
    parser.add_argument("--nodes", type=int, default=defaults.NODES, help="number of nodes (default: %(default)s)")
    parser.add_argument(
        "--mem", type=int, default=defaults.MEMORY, metavar="MIB", help="memory of a node (default: %(default)s)"
    )
    parser.add_argument("--memcached", type=int, metavar="MIB", help="memcached's limit (default: 60 %% of --mem)")
    parser.add_argument("--cpus", type=int, default=defaults.CPUS, help="CPUs of a node (default: %(default)s)")
    parser.add_argument(
        "--disk", type=int, default=defaults.DISK, metavar="GIB", help="a node's sparse disk (default: %(default)s)"
    )
    parser.add_argument(
        "--data", type=int, default=0, metavar="GIB", help="a second sparse disk of each node (default: none)"
    )
    parser.add_argument(
        "--spare",
        type=int,
        default=0,
        metavar="N",
        help="drives that nobody uses, and with them a network card (default: none)",
    )
    parser.add_argument(
        "--timeout", type=int, default=300, metavar="S", help="for each node to answer (default: %(default)s)"
    )

    parser.add_argument(
        "--release", choices=sorted(defaults.UPDATES), default=defaults.RELEASE, help="Debian (default: %(default)s)"
    )
    parser.add_argument(
        "--from", dest="old", metavar="SERIES", help="kernel of a cold start: 6.12 newest, 6.12-1 newest but one"
    )
    parser.add_argument("--to", dest="new", metavar="SERIES", help=f"kernel to update to (default: {by_release})")
    parser.add_argument(
        "--criu", choices=("release", "next"), help="CRIU of the release or of the next one (default: what works)"
    )
    parser.add_argument(
        "--target", choices=("installed", "repo"), default="installed", help="target kernel installed or installable"
    )
    parser.add_argument(
        "--initrd", choices=("none", "host"), default="none", help="initramfs of the kernels (default: none)"
    )
    parser.add_argument("--packages", nargs="+", metavar="NAME", help="more packages of the release on the nodes")
    parser.add_argument(
        "--stock",
        action="store_true",
        help="a server as Debian's installer leaves it: ifupdown, all services, an initramfs",
    )
    parser.add_argument("--dhcp", action="store_true", help="the nodes get their addresses by DHCP")
    parser.add_argument(
        "--module", action="store_true", help="install the kernel module of engine ppp for both kernels"
    )


def parser():
    top = Parser(prog="python3 -m lab", description=__doc__)
    commands = top.add_subparsers(dest="verb", required=True)

    def verb(name, function, help):
        sub = commands.add_parser(name, help=help)
        sub.set_defaults(function=function)
        sub.add_argument("--name", default="lab", help="the lab's name (default: %(default)s)")
        return sub

    add_up_options(verb("up", verbs.up, "build the image if need be, start the nodes and wait until they answer"))
    add_up_options(verb("build", verbs.build, "only build the image that `up` with the same options boots from"))
    verb("down", verbs.down, "end a lab and remove all of it")
    verb("show", verbs.show, "list the nodes")
    for name, function, help in (
        ("kill", verbs.kill, "cut a node's power"),
        ("start", verbs.start, "start a node cold"),
        ("reset", verbs.reset, "power cut and cold start"),
    ):
        verb(name, function, help).add_argument("node")
    sub = verb("wait", verbs.wait, "wait until a node answers ssh")
    sub.add_argument("node")
    sub.add_argument("--timeout", type=int, default=300, metavar="S", help="(default: %(default)s)")
    sub = verb("exec", verbs.execute, "run a command on a node: python3 -m lab exec NODE --name NAME -- COMMAND")
    sub.add_argument("node")
    sub = verb("install", verbs.install, "install packages, whose dependencies are there, on the nodes that run")
    sub.add_argument("packages", nargs="+", metavar="PACKAGE")
    verb("ns", verbs.ns, "run a command where the clients are: python3 -m lab ns --name NAME -- COMMAND")
    return top


def main():
    # argparse would take options of COMMAND for its own.
    own, command = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, command = own[:cut], own[cut + 1 :]
    args = parser().parse_args(own)
    args.command = command
    try:
        if os.geteuid():
            raise LabError("The lab needs root (network namespaces, taps): run it as root.")
        args.function(args)
    except LabError as error:
        sys.exit(f"lab: {error}")
    except KeyboardInterrupt:
        sys.exit("lab: interrupted")


if __name__ == "__main__":
    main()
