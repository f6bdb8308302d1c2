"""The node of the applications: their units, a disk for data, a packet filter, a high pid."""

import json
import pathlib
import re
import shlex

from lab.command import LabError

FILTER = """#!/usr/sbin/nft -f
flush ruleset
table inet filter {{
  chain input {{
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    iif "lo" accept
    meta l4proto {{ tcp, udp }} th dport {{ {ports} }} accept
  }}
}}
"""
DISK, LABEL = "/dev/nvme1n1", "data"
# The pids of systemctl and of systemd's helpers come before that of the main process; how many are taken differs from time to time.
HIGH_PID = """
last=$(cat /proc/sys/kernel/ns_last_pid)
for try in $(seq 0 47); do
  echo $(({pid} - 1 - try % 8)) >/proc/sys/kernel/ns_last_pid
  systemctl restart {unit}
  found=$(systemctl show --value -p MainPID {unit})
  [ "$found" = {pid} ] && break
done
echo "$last" >/proc/sys/kernel/ns_last_pid
echo "$found"
"""


def write(node, path, text):
    node.run(f"mkdir -p $(dirname {shlex.quote(path)}) && cat >{shlex.quote(path)}", input=text)


def set_up(node, applications, others):
    """Let the APPLICATIONS run on the NODE, and the OTHERS not. One that cannot be set up is taken from the list; return a sentence for each."""
    idle = shlex.join(unit for one in others for unit in one.UNITS)
    # The image's packages are off, but for the lab's own memcached.
    node.run(f"systemctl mask -q --now {idle}" if idle else "true", check=False)
    for one in applications:
        for path, text in one.FILES.items():
            write(node, path, text)
        node.run(f"set -e; {one.SETUP or 'true'}")
        if one.DATA:
            _move(node, one)
    ports = ", ".join(str(port) for one in applications for port in one.PORTS)
    write(node, "/etc/nftables.conf", FILTER.format(ports=f"22, {ports}".rstrip(", ")))
    units = shlex.join(unit for one in applications for unit in one.UNITS)
    node.run(
        # Not `enable`, which takes seconds for each of Debian's units: they have init scripts, too.
        f"systemctl -q add-wants multi-user.target nftables.service {units}; systemctl restart nftables {units}",
    )
    bad = []
    for one in list(applications):
        try:
            _finish(node, one)
        except LabError as error:
            bad.append(f"{one.name} cannot be tried: {error}")
            applications.remove(one)
    node.run("sync")
    return bad


def _finish(node, application):
    """Do what the APPLICATION wants when its units are active."""
    node.run(f"set -e; {application.AFTER or 'true'}")
    if application.PID:
        unit, pid = application.UNITS[0], application.PID
        said = node.run(HIGH_PID.format(unit=unit, pid=pid))
        if said.strip() != str(pid):
            raise LabError(f"The main process of {unit} has pid {said.strip()}, expected {pid}: try again.")


def _move(node, application):
    """Put the data of APPLICATION on the second disk."""
    place = shlex.quote(application.DATA)
    node.run(
        f"set -e; systemctl stop {shlex.join(application.UNITS)}; mkfs.ext4 -q -L {LABEL} {DISK}; mv {place} {place}.moved;"
        f"mkdir {place}; echo 'LABEL={LABEL} {place} ext4 defaults 0 2' >>/etc/fstab; udevadm trigger --settle {DISK}; systemctl daemon-reload;"
        f"mount {place}; cp -a {place}.moved/. {place}/; chown --reference={place}.moved {place}; chmod --reference={place}.moved {place};"
        f"rm -r {place}.moved"
    )


def processes(node, applications):
    """Return {application's name: {pid: what can be seen of it}}."""
    look = pathlib.Path(__file__).with_name("look.py").read_text(encoding="utf-8")
    return {one.name: json.loads(node.run(f"python3 - {shlex.join(one.UNITS)}", input=look)) for one in applications}


def failed_units(node):
    """Return the names of the units that have failed, once the node has started."""
    node.run("systemctl is-system-running --wait", check=False)
    return set(node.run("systemctl list-units --state=failed --plain --no-legend | cut -d' ' -f1").split())


def version(node, application):
    """Return the version of the package that brings APPLICATION."""
    said = node.run(f"dpkg-query -W -f '${{Version}}' {application.PACKAGES[-1]}", check=False)
    return re.sub(r"^\d+:", "", said)
