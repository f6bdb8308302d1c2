"""MariaDB with its data on a disk of its own, under sysbench's OLTP load, whose connections live through the update."""

import re
import subprocess
import time

from bench.papers import rates
from bench.papers.subject import OUT, subject
from lab.command import LabError
from tests.applications import setting
from tests.applications.declared import Application
from tests.cases.update import Updates

PACKAGES = ("mariadb-server",)
UNIT = "mariadb.service"
TABLES, ROWS, THREADS = 4, 10_000, 8
CALM = 60
_SECOND = re.compile(r"\[ (\d+)s \] thds: \d+ tps: ([\d.]+) .*err/s: ([\d.]+) reconn/s: ([\d.]+)")


def measure(args):
    """Return what sysbench has counted before and after an update, and the connections that were kept."""
    with subject(2560, PACKAGES, "--data", 2) as node:
        application = Application("mariadb")
        bad = setting.set_up(node.node, [application], [])
        if bad:
            raise LabError(bad[0])
        Updates(node.node, args.engine, OUT).make_ready([UNIT])
        _sysbench(node, "prepare").wait()
        with (OUT / "sysbench.log").open("w", encoding="utf-8") as log:
            began = time.monotonic()
            load = _sysbench(node, "run", f"--threads={THREADS}", "--time=0", "--report-interval=1", stdout=log)
            try:
                time.sleep(CALM)
                were = _connections(node)
                row, begin, end = node.update([UNIT], args.engine)
                time.sleep(CALM)
                are = _connections(node)
                ended = load.poll()
            finally:
                load.terminate()
                load.wait()
        if ended is not None:
            raise LabError(f"sysbench ended with {ended}: a connection was lost; see {log.name}.")
        found = [
            tuple(map(float, match)) for match in _SECOND.findall((OUT / "sysbench.log").read_text(encoding="utf-8"))
        ]
        seconds = [[int(began + second), tps, 0] for second, tps, _errors, _reconnects in found]
        return {
            "threads": THREADS, "outage_s": row["outage_s"], "connections_before": len(were), "connections_kept": len(were & are),
            "errors": sum(one[2] + one[3] for one in found), **rates.compare(seconds, begin, end, CALM),
        }  # fmt: skip


def _sysbench(node, verb, *words, **options):
    options.setdefault("stdout", subprocess.DEVNULL)
    return node.start_client(
        "stdbuf", "-oL", "sysbench", "oltp_read_write", f"--mysql-host={node.address}", "--mysql-user=of_lab", "--mysql-db=kup",
        f"--tables={TABLES}", f"--table-size={ROWS}", *words, verb, **options,
    )  # fmt: skip


def _connections(node):
    """Return the ids of sysbench's connections, as the server knows them."""
    return set(node.run("mariadb -Ne \"select id from information_schema.processlist where user='of_lab'\"").split())


def tell(found):
    yield "| transactions/s before | meanwhile, as a share | silent for | after its end | connections kept | errors |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield (
        f"| {found['before_per_s']:.1f} | {found['prepared_share']:.2f} | {found['silent_s']} s | {found['after_share']:.2f} | {found['connections_kept']} of "
        f"{found['connections_before']} | {found['errors']:.0f} |"
    )
