"""What a lab is unless its options say otherwise. The command line, scenarios, faults and benches take it from here;
`make demo` and `make lab` have a larger fleet (NODES and KEYS of the Makefile)."""

from dataclasses import dataclass

NODES = 1
#: Memory of a node, MiB: the system, memcached with KEYS values, and a page cache that takes a checkpoint.
MEMORY = 640
CPUS = 1
#: Size of a node's sparse disk, GiB.
DISK = 8
#: Debian release of the nodes.
RELEASE = "13"
#: Values of 1 KiB that the load clients keep in each node.
KEYS = 20000


@dataclass(frozen=True)
class Update:
    """The series of the kernels before and after an update, and the source of CRIU: the nodes' release or the next one."""

    old: str
    new: str
    criu: str


#: By Debian release.
UPDATES = {
    "12": Update("6.1", "6.12", "release"),
    # Debian 13's own CRIU cannot dump sockets on 7.2.
    "13": Update("6.12", "7.2", "next"),
    "forky": Update("6.12", "7.2", "release"),
}
