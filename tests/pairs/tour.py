"""A node that goes from kernel to kernel with a memcached in use, and what became of each update."""

import subprocess
import time

from lab.command import LabError, say
from lab.image import cache
from lab.paths import REPO
from tests.applications import wire
from tests.applications.declared import Application
from tests.cases.machine import machine
from tests.cases.update import Updates
from tests.kernels import packages
from tests.pairs import record, route

MEMORY = 1024
# Each kernel has some 100 MiB.
DISK = 24
THERE = "/root/kernel"
RESTART = "systemctl restart memcached; until ss -Hltn sport = 11211 | grep -q .; do sleep 0.2; done"
DROP_IN = "/etc/systemd/system/memcached.service.d"
# The emulated processor has 5-level page tables: 5.10, which was built without them, cannot be entered by a kernel that uses them.
OLDEST = (6, 1)


class Tour:
    """Updates of a NODE with an ENGINE between KERNELS, {release: package}; NOTE: function that records a row."""

    def __init__(self, node, engine, kernels, out, note):
        self._node, self._engine, self._kernels, self._note = node, engine, kernels, note
        self._updates = Updates(node, engine, out)
        self._memcached = Application("memcached")
        self._client = None
        self._installed = {node.old, node.new}
        #: The kernel that the node runs
        self.current = node.old
        #: Updates that lost something or were not kept: sentences.
        self.bad = []

    def set_up(self):
        """Let memcached go to all kernels: those before 6.3 cannot keep what it may not do."""
        self._node.run(
            f"mkdir -p {DROP_IN} && printf '[Service]\\nMemoryDenyWriteExecute=no\\n' >{DROP_IN}/old-kernels.conf && "
            f"systemctl daemon-reload && {RESTART}"
        )
        self.load()

    def load(self):
        """Have a client fill memcached."""
        netns, address = self._node.lab.record["netns"], self._node.address
        self._client = self._memcached.Client(lambda port: wire.connect(netns, (address, port)))

    def install(self, release):
        """Install the kernel RELEASE, as apt would from Debian's archive."""
        folder = cache() / "kernels" / release
        debs = sorted(folder.glob("*.deb")) or packages.download(self._kernels[release], folder)
        say(f"installing {release}")
        archive = subprocess.run(
            ["tar", "-C", str(folder), "-c", *(deb.name for deb in debs)], capture_output=True, check=True
        )
        command = f"rm -rf {THERE} && mkdir {THERE} && tar -C {THERE} -x && dpkg -i {THERE}/*.deb && rm -r {THERE}"
        done = subprocess.run(
            self._node.lab.ssh(self._node.machine, [command], silence=120),
            input=archive.stdout, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise LabError(f"The kernel {release} cannot be installed: {done.stderr.decode().strip()[-300:]}")
        self._installed.add(release)

    def go(self, waiting):
        """Make the next update of those WAITING; return its pair, or None if there is none."""
        after = route.following(self.current, waiting, self._installed)
        if after is None:
            return None
        if after not in self._installed:
            self.install(after)
        pair = self._node.old, self._node.new = self.current, after
        self._client.before()
        said = self._updates.there(list(self._memcached.UNITS))
        self._node.settle()
        outcome = self._updates.outcome(said)
        self.current = self._node.run("uname -r").strip()
        lost, wrong, kept = self._compare()
        reasons = [outcome.reason, "" if kept else "the client's connection was lost"]
        self._record(pair, outcome.phase, lost, wrong, said.get("outage_s"), "; ".join(filter(None, reasons)))
        if lost or not kept:
            self._node.run(RESTART)
            self.load()
        return pair

    def _compare(self):
        """Return how many keys are lost, how many wrong, and whether the client's connection lives."""
        try:
            said = self._client.finish()
            lost, wrong = self._client.count()
        except OSError as error:
            say(f"the client: {error}")
            return self._client.size, 0, False
        return lost, wrong, said == b"STORED"

    def _record(self, pair, result, lost, wrong, outage, reason):
        row = {
            "from": pair[0], "to": pair[1], "engine": self._engine, "result": result, "keys": self._client.size, "lost": lost,
            "wrong": wrong, "outage_s": outage, "reason": reason,
        }  # fmt: skip
        said = f"{pair[0]} -> {pair[1]}: {result}, {lost} lost, {wrong} wrong, outage {outage} s: {reason}"
        say(said)
        self._note(row)
        if not record.is_good(row):
            self.bad.append(said)


def kernels(only):
    """Return {release: package} of Debian's cloud kernels that match the regular expression ONLY, oldest first."""
    known = [one for one in packages.wanted() if one.is_cloud and tuple(map(int, one.series.split("."))) >= OLDEST]
    found = {one.release: one for one in known if one.is_whole and only.search(one.release)}
    if len(found) < 2:
        raise LabError(f"{len(found)} whole cloud kernels of the mirror match '{only.pattern}', expected at least two.")
    return found


def run(args, note):
    """Make updates until the time of ARGS is over; return what is bad."""
    known = kernels(args.only)
    done = {(row["from"], row["to"]) for row in record.read() if row["engine"] == args.engine and not args.again}
    waiting = [pair for pair in route.wanted(list(known)) if pair not in done]
    until = time.monotonic() + 60 * args.minutes
    out = REPO / "build" / args.lab
    out.mkdir(parents=True, exist_ok=True)
    say(f"{len(waiting)} pairs have no result")
    if not waiting:
        return []
    with machine(args.lab, out, False, "--disk", DISK, memory=MEMORY) as node:
        try:
            node.install([])
            tour = Tour(node, args.engine, known, out, note)
            tour.set_up()
            while time.monotonic() < until and (pair := tour.go(waiting)):
                waiting = [one for one in waiting if one != pair]
        finally:
            node.keep_evidence(out)
    say(f"{len(waiting)} pairs have no result")
    return tour.bad
