# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The kernel's settings, which the applications have lived with: the next boot has them before the restore, and keeps them.

The next boot would have other values: the kernel's own until systemd-sysctl comes, and what sysctl.d says from then on, which need not
be what somebody has set since. The first is mended by steps of the environment program, the second by a file in /run/sysctl.d that
counts last.
"""

from __future__ import annotations

import fnmatch
import os
import stat

from .._files import read_text
from .._paths import RUN
from .._run import run
from . import plan

_ROOT = "/proc/sys"
#: Until commit. After all that an administrator may have there, by its name.
KEPT = "/run/sysctl.d/zzz-kup.conf"
OVERCOMMIT = "vm/overcommit_memory"
# What it was before a restore that is not over yet; files/node/boot/early.
_OVERCOMMIT_BEFORE = RUN + "/overcommit"

_LEFT_OUT = (
    # Actions, not settings.
    *("vm/drop_caches", "vm/compact_memory", "vm/stat_refresh", "net/*/route/flush", "fs/xfs/stats_clear"),
    # Counters, and what the kernel changes by itself.
    *("kernel/ns_last_pid", "kernel/tainted", "kernel/*_next_id", "kernel/perf_event_max_sample_rate"),
    # Sizes that the kernel derives from its free memory. Those of sysctl.d come with the rest of the boot.
    *(
        "vm/min_free_kbytes",
        "vm/user_reserve_kbytes",
        "vm/admin_reserve_kbytes",
        "net/ipv4/tcp_mem",
        "net/ipv4/udp_mem",
    ),
    *("net/core/bpf_jit_limit",),
    # How a kernel on probation finds out that it is ill; _boot/panic.py.
    *("kernel/*panic*", "kernel/hung_task*", "kernel/*watchdog*"),
    # It would bar the way back, or drivers.
    *("kernel/kexec_load_*", "kernel/modules_disabled"),
    # Names of the host and of this boot; the console's, and debugging.
    *(
        "kernel/hostname",
        "kernel/domainname",
        "kernel/random/*",
        "kernel/real-root-dev",
        "kernel/cad_pid",
        "kernel/printk",
    ),
    *(
        "kernel/ftrace*",
        "kernel/trace*",
        "kernel/stack_tracer*",
        "kernel/firmware_config/*",
        "kernel/init_private*",
        "debug/*",
    ),
    # Settings of modules that are not loaded early in a boot (those below _MODULES are kept in another way).
    *("fs/binfmt_misc/*", "fs/nfs/*", "fs/xfs/*", "sunrpc/*", "crypto/*", "dev/[!t]*"),
    *("net/netfilter/nf_log*", "net/netfilter/nf_conntrack_buckets"),
    # The same values in coarser units, or another name for one.
    *("net/*/route/gc_min_interval", "net/*/neigh/*/retrans_time", "net/*/neigh/*/base_reachable_time"),
    *("vm/nr_hugepages_mempolicy", "vm/numa_zonelist_order"),
    # Set by the network manager with the interface, or learnt from the network.
    *("net/ipv6/conf/*/mtu", "net/ipv6/conf/*/hop_limit", "net/ipv6/conf/*/stable_secret"),
)

# Their modules are loaded before systemd-sysctl runs, or by something that comes after it in any boot.
_MODULES = ("net/netfilter/*", "net/nf_conntrack_max", "net/bridge/*", "net/sctp/*")

# Of two ways to say the same, the one that is 0 is not in use, and writing it would set the other to 0.
_EITHER = (
    ("vm/dirty_bytes", "vm/dirty_ratio"),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio"),
    ("vm/overcommit_kbytes", "vm/overcommit_ratio"),
)

# No application can be restored without them: the process ids below ns_last_pid, and a process's mappings.
_REQUIRED = ("kernel/pid_max", "vm/max_map_count")

# Last, because they cannot be taken back, or stop what comes before.
_ONE_WAY = (
    *(
        "kernel/unprivileged_bpf_disabled",
        "kernel/yama/*",
        "kernel/usermodehelper/*",
        "kernel/keys/*",
        "fs/protected_*",
    ),
    *("kernel/io_uring_disabled", "kernel/perf_event_paranoid", "kernel/kptr_restrict", "dev/tty/*"),
)


def collect():
    """All settings that travel: dict name (with slashes) → value, of one line."""
    found = {}
    for directory, _directories, names in os.walk(_ROOT):
        for name in names:
            path = f"{directory}/{name}"
            setting = path[len(_ROOT) + 1 :]
            if not _matches(setting, _LEFT_OUT):
                value = _read(path)
                if value is not None and "\n" not in value:
                    found[setting] = value
    found[OVERCOMMIT] = read_text(_OVERCOMMIT_BEFORE, found.get(OVERCOMMIT, "0"))
    for pair in _EITHER:
        for name in pair:
            if found.get(name) == "0":
                del found[name]
    return found


def configured(text, names):
    """What systemd-sysctl would set: dict name → value.

    :param text: all files of sysctl.d, in order.
    :param names: of all settings that there are.
    """
    plain, globs, excluded = {}, {}, set()
    for line in (line.strip() for line in text.splitlines()):
        if not line or line[0] in "#;":
            continue
        key, equals, value = line.partition("=")
        name = _slashes(key.strip().lstrip("-"))
        if not equals:
            excluded.add(name)
        elif any(char in name for char in "*?["):
            globs[name] = value.strip()
        else:
            plain[name] = value.strip()
    found = {}
    for name in names:
        matching = [value for pattern, value in globs.items() if _matches_path(name, pattern)]
        if name in plain:
            found[name] = plain[name]
        elif matching and name not in excluded:
            found[name] = matching[-1]
    return found


def drift(settings):
    """Settings that sysctl.d would change: dict name → what it says."""
    text = run(["systemd-analyze", "cat-config", "sysctl.d"], check=False).stdout
    said = configured(text, settings)
    return {name: value for name, value in said.items() if value.split() != settings[name].split()}


def put_plan(plans, settings, drifted):
    """Write the plan of all settings, and what keeps them."""
    steps = [
        plan.step("sysctl", plan.NODE, (name, settings[name]), required=name in _REQUIRED)
        for name in sorted(settings, key=lambda name: (_rank(name), name))
        if name != OVERCOMMIT and not _matches(name, _MODULES) and _interface(name) in ("", "all", "default", "lo")
    ]
    kept = sorted(name for name in settings if name in drifted or _matches(name, _MODULES) or _is_own(name, settings))
    content = plans.add_content(_kept_text(kept, settings))
    steps += [
        plan.step("directory", plan.NODE, (os.path.dirname(KEPT), "755", 0, 0)),
        plan.step("file", plan.NODE, (KEPT, "644", 0, 0, 0, 0, content)),
    ]
    plans.put("1-sysctls", steps)


def note(settings, drifted):
    """A sentence of what somebody has set since the boot; empty where all is as sysctl.d says."""
    if not drifted:
        return ""
    told = ", ".join(
        f"{name.replace('/', '.')} = {settings[name]} (sysctl.d: {drifted[name]})" for name in sorted(drifted)
    )
    return f"These settings are not what sysctl.d says and will be lost with the next plain boot: {told}; write them there to keep them."


def _kept_text(names, settings):
    lines = ["# Of the kernel update by kup.fleet: what the node had before the switch, until the commit.\n"]
    # The dash: no error where the setting is not there.
    lines += [f"-{name} = {settings[name]}\n" for name in names]
    return os.fsencode("".join(lines))


def _read(path):
    try:
        if not stat.S_IMODE(os.stat(path).st_mode) & 0o200:
            return None
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read(8192)).strip()
    except OSError:  # an action, or gone with its interface
        return None


def _matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _matches_path(name, pattern):
    """As a shell would match it: a star stands for no slash."""
    parts, patterns = name.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _slashes(key):
    """A key of sysctl.d with slashes: its first separator tells which it uses."""
    first = next((char for char in key if char in "./"), "/")
    return key if first == "/" else key.translate(str.maketrans("./", "/."))


def _interface(name):
    """The interface that a setting is of, or an empty text."""
    parts = name.split("/")
    return parts[3] if len(parts) == 5 and parts[0] == "net" and parts[2] in ("conf", "neigh") else ""


def _is_own(name, settings):
    """Whether an interface has a value of its own; udev applies sysctl.d when it comes."""
    interface = _interface(name)
    if interface in ("", "all", "default", "lo"):
        return False
    parts = name.split("/")
    parts[3] = "default"
    return settings.get("/".join(parts)) != settings[name]


def _rank(name):
    # Forwarding sets what is below conf, and `all` there sets the others.
    order = (
        "kernel/pid_max",
        "net/*/ip_forward",
        "net/*/conf/all/forwarding",
        "net/*/conf/all/*",
        "net/*/default/*",
        "net/*/lo/*",
    )
    for rank, pattern in enumerate(order, 1):
        if fnmatch.fnmatchcase(name, pattern):
            return 0 if rank == 1 else rank
    return 9 if _matches(name, _ONE_WAY) else 1
