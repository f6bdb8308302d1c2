"""The settings that make a unit's mount namespace: ProtectSystem=, PrivateTmp=, PrivateDevices=, NoExecPaths= and others"""

import os

SERVICE = """User=daemon
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProtectHostname=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
NoExecPaths=/
ExecPaths=/usr/bin /usr/lib /usr/lib64 /lib /lib64
InaccessiblePaths=/srv
ReadWritePaths=/var/lib
StateDirectory=case-sandbox
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
SystemCallFilter=@system-service"""
MUST = {
    "hidden": True,
    "/etc": os.ST_RDONLY | os.ST_NOEXEC,
    "/srv": "Permission denied",
    "private": ["/tmp", "/var/tmp"],
}
PATHS = (
    "/",
    "/etc",
    "/usr",
    "/usr/bin",
    "/home",
    "/root",
    "/boot",
    "/srv",
    "/proc/sys",
    "/proc/kmsg",
    "/sys",
    "/sys/fs/cgroup",
)
PATHS += ("/run", "/var/lib", "/var/log", "/usr/lib/modules")
STATUS = ("Cap", "NoNewPrivs", "Seccomp", "Uid", "Gid", "Groups")


def program():
    return observe


def flags(path):
    try:
        os.listdir(path) if os.path.isdir(path) else os.close(os.open(path, os.O_RDONLY))
        return os.statvfs(path).f_flag & (os.ST_RDONLY | os.ST_NOEXEC)
    except OSError as error:
        return error.strerror


def observe():
    with open("/proc/self/mountinfo", encoding="ascii") as file:
        rows = [row.split() for row in file]
    with open("/proc/self/status", encoding="ascii") as file:
        status = [row.strip() for row in file if row.startswith(STATUS)]
    with open(os.environ["STATE_DIRECTORY"] + "/new", "w", encoding="ascii") as file:
        file.write("x")
    with open("/tmp/new", "w", encoding="ascii") as file:
        file.write("x")
    os.unlink("/tmp/new")
    return {
        **{path: flags(path) for path in PATHS},
        "private": sorted(row[4] for row in rows if "/systemd-private-" in row[3]),
        "devices": sorted(os.listdir("/dev")),
        "hidden": not os.path.exists("/proc/1"),
        "status": status,
    }
