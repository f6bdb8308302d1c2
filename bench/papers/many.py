"""One to eight memcached, and one to sixteen processes of 16 MB each: what grows with their number, and whether in a straight line.

The node's clock counts instructions, a nanosecond each: what else the host does is not seen.
"""

from bench.papers import line
from bench.papers.subject import subject

INSTANCES, PROCESSES = (1, 2, 4, 8), (1, 2, 4, 8, 16)
MIB = 16
MEMCACHED = """[Service]
ExecStart=/usr/bin/memcached -u memcache -m 64 -l 0.0.0.0 -p 113%i
"""
# Values that no other has: CRIU leaves out empty pages.
FILL = """import random, socket
for port in {ports}:
    wire = socket.create_connection(("127.0.0.1", port))
    for number in range({mib}):
        data = random.randbytes(1000000)
        wire.sendall(b"set %d 0 0 %d\\r\\n%s\\r\\n" % (number, len(data), data))
        assert wire.recv(100) == b"STORED\\r\\n"
"""
HOLD = """import os, random, sys, time
number = int(sys.argv[1])
for each in range(number - 1):
    if not os.fork():
        break
memory = bytearray(random.randbytes({mib} << 20))
while True:
    time.sleep(3600)
"""
HOLDER = "[Service]\nExecStart=/usr/bin/python3 /root/hold.py %i\n"


def measure(args):
    """Return {"instances": [{"number", "outage_s", "phases"}], "processes": [...]}."""
    found = {"instances": [], "processes": []}
    with subject(1536, counted=True) as node:
        node.run("systemctl disable --now -q memcached")
        node.write("/etc/systemd/system/many@.service", MEMCACHED)
        node.write("/etc/systemd/system/hold@.service", HOLDER)
        node.write("/root/hold.py", HOLD.format(mib=MIB))
        for number in INSTANCES:
            units = [f"many@{each:02}.service" for each in range(1, number + 1)]
            node.run(f"systemctl daemon-reload; systemctl start {' '.join(units)}; sleep 2")
            fill = FILL.format(ports=[11300 + each for each in range(1, number + 1)], mib=MIB)
            node.run("python3 -", fill)
            found["instances"].append({"number": number, **_update(node, units, args.engine)})
            node.run(f"systemctl stop {' '.join(units)}")
        for number in PROCESSES:
            unit = f"hold@{number}.service"
            node.run(
                f"systemctl start {unit}; until [ $(systemctl show -P TasksCurrent {unit}) = {number} ]; do sleep 1; done; sleep 5"
            )
            found["processes"].append({"number": number, **_update(node, [unit], args.engine)})
            node.run(f"systemctl stop {unit}")
    return found


def _update(node, units, engine):
    row, _begin, _end = node.update(units, engine)
    return {"outage_s": row["outage_s"], "phases": row["phases"]}


def tell(found):
    yield "| | number | outage | save | restore |"
    yield "| --- | --- | --- | --- | --- |"
    for what in ("instances", "processes"):
        for one in found[what]:
            phases = one["phases"]
            yield f"| {what} | {one['number']} | {one['outage_s']:.2f} s | {phases['dump_s']:.3f} s | {phases['restore_s']:.3f} s |"
    yield ""
    for what in ("instances", "processes"):
        for name, phase in (("Save", "dump_s"), ("Restore", "restore_s")):
            slope, base, fit = line.fit([(one["number"], one["phases"][phase]) for one in found[what]])
            yield f"{name}, by {what}: {base:.3f} s and {slope:.3f} s for each, R² = {fit:.3f}."
            yield ""
