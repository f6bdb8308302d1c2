"""memcached with 200,000 items, asked as a cache is: few items much more often than the others. A miss is looked up in a database that
takes 0 or 12 ms, and stored. An update, and a reboot.
"""

import time

from bench.papers import rates
from bench.papers.subject import subject

ITEMS = 200_000
DELAYS_MS = (0, 12)
# Seconds that are measured before, and after the update; after the reboot, whose cache is cold.
CALM, COLD = 40, 150
UNIT = "memcached.service"


def measure(args):
    """Return {"delays": [{"delay_ms", "ways": [{"way", "before_per_s", ..., "series"}]}]}."""
    found = []
    with subject(1536) as node:
        for delay in DELAYS_MS:
            ways = []
            for way in ("update", "reboot"):
                with node.client("bench.papers.shopper", ITEMS, delay) as said:
                    time.sleep(CALM)
                    row = {}
                    if way == "update":
                        row, begin, end = node.update([UNIT], args.engine)
                    else:
                        begin, end = node.reboot()
                    time.sleep(CALM if way == "update" else COLD)
                ways.append(
                    {
                        "way": way,
                        "outage_s": row.get("outage_s"),
                        "reconnects": said["reconnects"],
                        "wrong": said["wrong"],
                    }
                    | rates.compare(said["seconds"], begin, end, CALM)
                )
            found.append({"delay_ms": delay, "ways": ways})
    return {"items": ITEMS, "delays": found}


def tell(found):
    """Return lines of a table: what became of the requests."""
    yield (
        "| a miss takes | way | requests/s before | meanwhile, as a share | silent for | after its end | back at 90 % after | requests lost | "
        "connections lost | hits in the first 30 s |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for one in found["delays"]:
        for way in one["ways"]:
            back = "never" if way["recovered_s"] is None else f"{way['recovered_s']:.0f} s"
            yield (
                f"| {one['delay_ms']} ms | {way['way']} | {way['before_per_s']:.0f} | "
                f"{way['prepared_share']:.2f} | {way['silent_s']} s | {way['after_share']:.2f} | {back} | {way['requests_lost']:.0f} | "
                f"{way['reconnects']} | {way['hits_share']:.0%} |"
            )
