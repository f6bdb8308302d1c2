"""A boot plan with all units that there can be, as the library writes it on a node that has little."""

import dataclasses
import os
import pathlib
import types

from ansible_collections.kup.fleet.plugins.module_utils._criu import examination
from ansible_collections.kup.fleet.plugins.module_utils._engines import foam, ppp
from ansible_collections.kup.fleet.plugins.module_utils._environment import packet_filter
from ansible_collections.kup.fleet.plugins.module_utils._system import private_places, unit_templates
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process
from ansible_collections.kup.fleet.plugins.module_utils._update import boot_plan, boot_units

TEMPLATES = pathlib.Path(__file__).parents[2] / "files/node/units"

DEFINITION = """[Unit]
Description=A cache
After=network.target

[Service]
Type=notify
ExecStart=/usr/bin/cache -m 64
PrivateTmp=true
MemoryMax=1G
LimitNOFILE=4096

[Install]
WantedBy=multi-user.target
"""
FINDINGS = examination.Findings(journal={1: 77}, external_files={"file[1f:2c]": "/dev/null"})


class Reach:
    """Nothing is reached, and one address is missing."""

    devices = ""

    def __init__(self, devices):
        del devices

    def look(self, sockets):
        pass

    def interfaces(self):
        return set()

    def queries(self, sockets):
        return ""

    def missing(self, sockets):
        return {"192.0.2.55"}


def use_templates(monkeypatch):
    """Render the templates of this tree, in the place of installed ones."""
    monkeypatch.setattr(unit_templates, "UNIT_TEMPLATES", str(TEMPLATES))


def unit(
    name, drop_ins=(), fragment="/usr/lib/systemd/system/cache.service", own_mounts=False, dynamic="no", private_tmp=""
):
    properties = {"CPUWeight": "[not set]", "IOWeight": "50", "FragmentPath": fragment}
    properties |= {"NotifyAccess": "main", "StatusText": "Serving\tall\x1b"}
    properties |= {"DynamicUser": dynamic, "PrivateTmpEx": private_tmp, "SyslogIdentifier": ""}
    properties["ExecStart"] = "{ path=/usr/bin/cache ; argv[]=/usr/bin/cache -m 64 ; ignore_errors=no }"
    return types.SimpleNamespace(
        name=name,
        rss=1 << 20,
        cgroup=f"/system.slice/{name}",
        properties=properties,
        definition=lambda: DEFINITION,
        drop_ins=list(drop_ins),
        watchdog=3000000,
        processes=[types.SimpleNamespace(pid=4709, name=f"{name} [main]\n'x")],
        own_mounts=own_mounts,
        device_policy=own_mounts,
        main=Process(os.getpid()),
    )


def checkpoint(engine, made, directory):
    settings = {"PPP_BIND": "lazy", "KERNEL_OLD": "6.12", "KERNEL_NEW": "7.2"}
    checkpoint = engine.checkpoint(made, directory, settings)
    checkpoint.findings = dataclasses.replace(FINDINGS)
    return checkpoint


def write(
    monkeypatch,
    root,
    watchdogs=("i6300esb",),
    after="",
    interval="10",
    plain=True,
    lost=(),
    mounts=(),
    labels=(),
    name="cache.service",
    triggers="",
    others=None,
    loaders=(),
    managers=(),
    processors=2,
    **unit_values,
):
    """Write a plan below ``root`` for a unit of each engine that has more than others; returns its folder.

    :param loaders: services that load the packet filter, with their drop-ins; ``managers``: of ifupdown.
    :param others: dict of other units: name → its text, and the units that it waits for.
    """
    use_templates(monkeypatch)
    monkeypatch.setattr(boot_units.os, "cpu_count", lambda: processors)
    monkeypatch.setattr(boot_plan, "BOOT", str(root / "boot"))
    monkeypatch.setattr(boot_plan.network, "Reach", Reach)
    monkeypatch.setattr(boot_plan.socket_devices, "of", lambda several: None)
    monkeypatch.setattr(boot_plan.network, "links", lambda names: ([], plain))
    monkeypatch.setattr(boot_plan.clock, "run", lambda argv: types.SimpleNamespace(stdout="7 8 9\n"))
    monkeypatch.setattr(
        boot_plan.security_profiles, "of_unit", lambda unit: list(labels) if unit.name == "store.service" else []
    )
    monkeypatch.setattr(boot_plan.mounts, "of_unit", lambda unit: list(mounts) if unit.name == "store.service" else [])
    monkeypatch.setattr(
        boot_plan.packet_filter, "record", lambda: packet_filter.Filter({"rules.nft": "table ip a {\n}\n"}, list(lost))
    )
    monkeypatch.setattr(
        boot_plan.sysctls, "collect", lambda: {"kernel/pid_max": "4194304", "vm/overcommit_memory": "2"}
    )
    monkeypatch.setattr(boot_plan.sysctls, "drift", lambda settings: {})
    monkeypatch.setattr(boot_plan.run_files, "find", lambda unit: boot_plan.run_files.Use())
    monkeypatch.setattr(boot_plan.run_files.tmpfiles, "configuration", lambda: [])
    monkeypatch.setattr(ppp.command, "check", lambda feature: "")
    monkeypatch.setattr(boot_units.panic, "watchdog_drivers", lambda: list(watchdogs))
    known = {name: {"After": after, "Names": name, "TriggeredBy": triggers}}
    known |= {
        other: {"After": " ".join(waits_for), "text": text} for other, (text, *waits_for) in (others or {}).items()
    }
    monkeypatch.setattr(
        boot_units, "show", lambda unit, *properties: {key: known.get(unit, {}).get(key, "") for key in properties}
    )
    monkeypatch.setattr(boot_units, "definition", lambda unit: known.get(unit, {}).get("text", ""))
    monkeypatch.setattr(boot_units.filter_services, "drop_ins", lambda: dict(loaders))
    monkeypatch.setattr(boot_units.ifupdown, "drop_ins", lambda: dict(managers))
    monkeypatch.setattr(boot_units, "_on_root", lambda path: True)
    monkeypatch.setattr(private_places, "of", lambda unit: [])
    listed = "systemd-udevd.service\nlocal-fs.target\ncryptsetup.target\ndev-sda.mount\nsystemd-journald.service\n"
    monkeypatch.setattr(boot_units, "run", lambda command: types.SimpleNamespace(stdout=listed))
    checkpoints = [
        checkpoint(foam.Foam(), unit(name, **unit_values), f"/var/lib/kup/images/update/1-{name}"),
        checkpoint(ppp.Ppp(), unit("store.service", own_mounts=True), "/var/lib/kup/images/update/1-store.service"),
    ]
    record = {"RESTORE_TIMEOUT": "120", "COMMIT_TIMEOUT": "900", "WATCH_INTERVAL": interval}
    plan = boot_plan.Plan(1, checkpoints, record, "TABLE='0x1'\n")
    plan.complete([], [5, 4710])
    return root / "boot/1"
