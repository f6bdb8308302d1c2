"""Checks of an update: the record, the node, the definition of each unit."""

import dataclasses
import types

from checkcases import Case, case_tests

from ansible_collections.kup.fleet.plugins.module_utils._system.containers import Container
from ansible_collections.kup.fleet.plugins.module_utils._system.distribution import Distribution
from ansible_collections.kup.fleet.plugins.module_utils._update import checks
from ansible_collections.kup.fleet.plugins.module_utils._update.seen import Node

MIB = 1 << 20
RECORD = {"OWNER": "first", "PHASE": "probation", "KERNEL_NEW": "7.2"}
NODE = Node(
    selector="7.2",
    wanted="7.2.12",
    installed=["6.1.2", "6.12.1"],
    probation=False,
    runtime="/usr/local/lib/kup",
    runtime_early=True,
    state="/var/lib/kup",
    state_early=True,
    state_free=320 * MIB,
    images="/srv/images",
    images_lost="",
    images_free=50 * MIB,
    images_needed=50 * MIB,
    together=False,
)


def node(**fields):
    return (dataclasses.replace(NODE, **fields),)


def unit(**fields):
    properties = {"LoadState": "loaded", "Id": "a.service", "ActiveState": "active", "NFileDescriptorStore": "0"}
    properties["NotifyAccess"] = "main"
    properties.update({name: value for name, value in fields.items() if name in properties})
    found = {
        "name": "a.service",
        "active": True,
        "main_pid": 7,
        "properties": properties,
        "drop_ins": [],
        "missing_files": [],
        "watchdog": 2500000,
        "restricted_file_systems": False,
    }
    found["listening_for"] = found["remote_accounts"] = found["late_credentials"] = found["containers"] = []
    return (types.SimpleNamespace(**{**found, **{key: value for key, value in fields.items() if key in found}}),)


BOOKWORM = Distribution("debian", "12", "Debian GNU/Linux 12 (bookworm)")
FORKY = Distribution("debian", "", "Debian GNU/Linux forky/sid")
BULLSEYE = Distribution("debian", "11", "Debian GNU/Linux 11 (bullseye)")
ROCKY = Distribution("rocky", "9.4", "Rocky Linux 9.4 (Blue Onyx)")
FITS = "a" * (107 - len("/srv/images") - len("/20260101T000000/99-/lazy-pages.socket"))
LONG_PATH = f"the page daemon's socket /srv/images/20260101T000000/99-{FITS}a/lazy-pages.socket"
CASES = [
    (
        "untried-distribution",
        Case((ROCKY,), (BOOKWORM,), "The distribution Rocky Linux 9.4 (Blue Onyx)", "set kup_any_distribution to true"),
    ),
    ("untried-distribution", Case((BULLSEYE,), (FORKY,), "The distribution Debian GNU/Linux 11 (bullseye)")),
    (
        "untried-distribution",
        Case(
            (Distribution(),),
            (Distribution("debian", "13"),),
            "The distribution of this node, for which there is no os-release,",
            "is one on which nobody has tried an update, expected Debian 12, 13, 14 or testing",
        ),
    ),
    (
        "write-execute",
        Case(("yes", (6, 12), (6, 1)), ("yes", (6, 12), (6, 3)), "MemoryDenyWriteExecute=yes", "before 6.3"),
    ),
    ("run-at-work", Case((RECORD, 1), (RECORD, 0), "The run first", "works on this node (phase probation)")),
    (
        "unfinished-update",
        Case((RECORD, "6.12"), (RECORD, "7.2"), "The run first", "left an update to 7.2 in phase probation"),
    ),
    ("unfinished-update", Case((RECORD, "6.12"), (RECORD, None), "The run first")),
    ("unfinished-update", Case((RECORD, "6.12"), ({**RECORD, "PHASE": "prepared"}, "6.12"), "The run first")),
    ("kernel-unknown", Case(node(wanted=""), node(), "Kernel '7.2'", "neither installed (there are: 6.1.2, 6.12.1)")),
    ("kernel-unknown", Case(node(wanted="", installed=[]), node(), "Kernel '7.2'", "(there are: none)")),
    (
        "lease",
        Case(
            (10, 10.4),
            (10, 10.0),
            "",
            "has a lease of 10 s elsewhere (lease_s), and the outage is expected to be 10.4 s",
        ),
    ),
    ("runtime-mount", Case(node(runtime_early=False), node(), "/usr/local/lib/kup", "put /usr/local there")),
    ("state-mount", Case(node(state_early=False), node(), "/var/lib/kup", "is neither on the root file system")),
    (
        "state-room",
        Case(node(state_free=320 * MIB - 1), node(), "/var/lib/kup", "319 MiB free, expected at least 320 MiB"),
    ),
    ("state-room", Case(node(state_free=0), node(state_free=0, together=True), "/var/lib/kup")),
    ("state-room", Case(node(state_free=0), node(state_free=0, probation=True), "/var/lib/kup")),
    (
        "images-lost",
        Case(node(images_lost="on tmpfs (tmpfs)"), node(), "The images directory /srv/images", "is on tmpfs (tmpfs);"),
    ),
    (
        "images-room",
        Case(node(images_free=50 * MIB - 1), node(), "/srv/images", "49 MiB free, expected at least 50 MiB"),
    ),
    ("images-room", Case(node(images_free=0), node(images_free=0, probation=True), "/srv/images")),
    # There it would help nobody to have room.
    ("images-room", Case(node(images_free=0), node(images_free=0, images_lost="on tmpfs"), "/srv/images")),
    ("unit-unknown", Case(unit(LoadState="not-found"), unit(), "", "is not-found on this node")),
    ("unit-alias", Case(unit(name="b.service"), unit(), "", "is another name of a.service")),
    ("unit-name", Case(unit(name=r"a@b\x2dc.service"), unit(name="a@b-c.service"), "", "has a backslash")),
    (
        "unit-inactive",
        Case(unit(active=False, ActiveState="inactive", main_pid=0), unit(), "", "is inactive with main process 0"),
    ),
    (
        "container",
        Case(
            unit(containers=[Container("podman", "1" * 64, "web")]),
            unit(),
            "container web (podman)",
            "container web (podman) cannot be carried, because only an engine can make",
        ),
    ),
    (
        "container",
        Case(
            unit(containers=[Container("docker", name=name) for name in "abcde"]),
            unit(),
            "container a (docker), container b (docker), container c (docker) and 2 more",
        ),
    ),
    (
        "unit-text",
        Case(unit(missing_files=["/etc/a.conf"]), unit(), "its file /etc/a.conf", "is not there any more"),
    ),
    (
        "dump-refused",
        Case(("CRIU could not dump a.service: bad.",), ("",), "", "has shown: CRIU could not dump a.service: bad;"),
    ),
    (
        "drop-in-order",
        Case(
            unit(drop_ins=["/etc/systemd/system.control/a.service.d/zzz.conf"]),
            unit(
                drop_ins=["/etc/systemd/system.control/a.service.d/a.conf", "/etc/systemd/system/a.service.d/zzz.conf"]
            ),
            "its drop-in /etc/systemd/system.control/a.service.d/zzz.conf",
            "expected a name that sorts before zz-kup-restore.conf",
        ),
    ),
    (
        "socket-activated",
        Case(unit(listening_for=["a.socket"]), unit(), "", "systemctl disable --now a.socket"),
    ),
    (
        "descriptor-store",
        Case(unit(NFileDescriptorStore="2"), unit(NFileDescriptorStore=""), "", "has stored 2 file descriptors"),
    ),
    ("remote-account", Case(unit(remote_accounts=["app"]), unit(), "its account app", "is in neither /etc/passwd nor")),
    (
        "late-credential",
        Case(
            unit(late_credentials=[("key", "/run/key, which is in memory")]),
            unit(),
            "its credential key",
            "comes from /run/key",
        ),
    ),
    (
        "watchdog-fixed",
        Case(unit(NotifyAccess="none"), unit(NotifyAccess="exec"), "", "has a watchdog of 2.5 s and NotifyAccess=none"),
    ),
    ("watchdog-fixed", Case(unit(NotifyAccess="none"), unit(NotifyAccess="none", watchdog=0), "")),
    ("file-systems", Case(unit(restricted_file_systems=True), unit(), "its RestrictFileSystems=", "after the restore")),
    (
        "socket-path",
        Case(("/srv/images", FITS + "a"), ("/srv/images", FITS), LONG_PATH, "108 characters, expected at most 107"),
    ),
]
test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found = case_tests(
    "_update.checks", cases=CASES
)


def test_each_check_of_the_node_and_of_a_unit_is_applied():
    applied = {each.code for each in checks.NODE_CHECKS + checks.UNIT_CHECKS}
    assert applied == {code for code, _case in CASES} - {
        "untried-distribution",
        "run-at-work",
        "unfinished-update",
        "lease",
        "dump-refused",
        "socket-path",
        "write-execute",
    }
