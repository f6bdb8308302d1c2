"""The node's packet filter: what is recorded of it, and that the next boot can load that before there are interfaces."""

import json
import re
import shutil
import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import checks, packet_filter


def indented_by_tabs(text):
    """The text as nft prints it."""
    return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found.group()) // 4), text, flags=re.MULTILINE)


LISTED = indented_by_tabs("""table inet kup {
    chain input {
    }
}
table inet CRIU-a78e9427-f7c7-4406-b7 {
}
table inet netavark {
    chain NETAVARK-HOSTPORT-DNAT {
        tcp dport 8080 dnat ip to 10.88.0.2:80
    }
}
# Warning: table ip filter is managed by iptables-nft, do not touch!
table ip filter {
    chain INPUT {
    }
}
table inet firewalld { # progname firewalld
    flags owner,persist

    map m {
        typeof iif : verdict
        elements = { "lo" : accept }
    }
    set s {
        type iface_index
    }
    chain in {
        type filter hook input priority filter; policy drop;
        iif "lo" accept comment "by iif "
        meta oif . tcp dport { "ens3" . 22 } accept
        iifname "ens4" log prefix "oif x" drop
        fib daddr . iif type local accept
        fib saddr . mark . iif oif missing drop
    }
}
""")
PORTABLE = indented_by_tabs("""table inet firewalld {
    map m {
        typeof iifname : verdict
        elements = { "lo" : accept }
    }
    set s {
        type ifname
    }
    chain in {
        type filter hook input priority filter; policy drop;
        iifname "lo" accept comment "by iif "
        meta oifname . tcp dport { "ens3" . 22 } accept
        iifname "ens4" log prefix "oif x" drop
        fib daddr . iif type local accept
        fib saddr . mark . iif oif missing drop
    }
}
""")


class Tools:
    """The tools of a node, each with what it prints."""

    def __init__(self, monkeypatch):
        self.installed = {"nft"}
        self.rules = [{"family": "inet", "table": "firewalld", "expr": [{"accept": None}]}]
        self.listed, self.names = LISTED.replace("table ip filter", "table ip kept"), {}
        self.saved = {}
        monkeypatch.setattr(packet_filter, "run", self._run)
        monkeypatch.setattr(packet_filter.shutil, "which", lambda name: name if name in self.installed else None)
        monkeypatch.setattr(packet_filter, "read_text", self.names.get)

    def _run(self, argv, check=True):
        said = f"{' '.join(argv)}\n"
        if " ".join(argv) in self.saved:
            said = self.saved[" ".join(argv)]
        elif argv == ["nft", "--json", "list", "ruleset"]:
            said = json.dumps({"nftables": [{"metainfo": {}}, *({"rule": rule} for rule in self.rules)]})
        elif argv == ["nft", "list", "ruleset"]:
            said = self.listed
        return types.SimpleNamespace(stdout=said)


@pytest.fixture
def tools(monkeypatch):
    return Tools(monkeypatch)


def test_tables_of_others_are_recorded_by_name_and_without_their_owner(tools):
    recorded = packet_filter.record()
    assert recorded.files == {"rules.nft": "table ip kept {\n\tchain INPUT {\n\t}\n}\n" + PORTABLE}
    assert recorded.lost == []


def test_extensions_of_iptables_are_recorded_by_its_own_tools(tools):
    tools.listed = LISTED
    tools.installed |= {"iptables-nft-save", "ipset"}
    tools.rules.append({"family": "ip", "table": "filter", "expr": [{"xt": None}]})
    recorded = packet_filter.record()
    assert recorded.files == {
        "rules.nft": PORTABLE,
        "iptables-nft": "iptables-nft-save --counters --table filter\n",
        "ipset": "ipset save\n",
    }


def test_tables_of_iptables_legacy_are_recorded(tools):
    tools.installed.add("ip6tables-legacy-save")
    tools.names["/proc/net/ip6_tables_names"] = "filter"
    assert packet_filter.record().files["ip6tables-legacy"] == "ip6tables-legacy-save --counters\n"


def test_rules_of_containers_that_end_with_the_kernel_are_left_out(tools):
    kept = [
        ":PREROUTING ACCEPT [7:420]",
        '[0:0] -A PREROUTING -p tcp -m comment --comment "see -j NETAVARK-DN-1" -j ACCEPT',
        "[0:0] -A NETWORK -j NETAVARKS",
    ]
    of_podman = [
        ":NETAVARK-HOSTPORT-DNAT - [0:0]",
        ":NETAVARK_FORWARD - [0:0]",
        "[1:60] -A PREROUTING -m addrtype --dst-type LOCAL -j NETAVARK-HOSTPORT-DNAT",
        '[0:0] -A POSTROUTING -m comment --comment "of a network" -j NETAVARK-1D8721804F16F',
        "[0:0] -A NETAVARK-DN-1D87 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.88.0.2:80",
        "-A NETAVARK_FORWARD -d 10.88.0.0/16 -j ACCEPT",
    ]
    text = "\n".join(["*nat", kept[0], *of_podman, *kept[1:], "COMMIT", ""])
    tools.installed |= {"iptables-nft-save", "iptables-legacy-save"}
    tools.rules.append({"family": "ip", "table": "nat", "expr": [{"xt": None}]})
    tools.names["/proc/net/ip_tables_names"] = "nat"
    tools.saved = {"iptables-nft-save --counters --table nat": text, "iptables-legacy-save --counters": text}
    recorded = packet_filter.record().files
    assert recorded["iptables-nft"] == recorded["iptables-legacy"] == "\n".join(["*nat", *kept, "COMMIT", ""])


def test_what_no_tool_can_record_is_named(tools):
    tools.names["/proc/net/ip_tables_names"] = "nat"
    tools.rules += [{"family": family, "table": "filter", "expr": [{"xt": None}]} for family in ("ip", "bridge")]
    tools.listed = LISTED.replace("fib daddr", 'socket cgroupv2 level 1 "a" fib daddr')
    assert packet_filter.record().lost == [
        "the table bridge filter, with extensions of iptables",
        "the table ip filter, with extensions of iptables",
        "the tables of iptables-legacy",
        "a rule for a control group",
    ]


def test_a_filter_that_can_be_loaded_is_no_blocker():
    assert checks.packet_filter([], "") == []


def test_a_filter_that_cannot_be_loaded_is_refused():
    found = checks.packet_filter(["the tables of iptables-legacy"], "Error: no device ens3")
    assert [each.code for each in found] == ["packet-filter"] * 2
    assert "has the tables of iptables-legacy" in found[0].sentence()
    assert "cannot be loaded before there are interfaces: Error: no device ens3" in found[1].sentence()


ABLE = (
    shutil.which("nft")
    and not subprocess.run(["unshare", "--net", "nft", "list", "ruleset"], capture_output=True, check=False).returncode
)


@pytest.mark.skipif(not ABLE, reason="needs root and nft")
@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (PORTABLE, ""),
        ("", ""),
        ('table ip n {\n chain c {\n oif "kup9" accept\n }\n}\n', "Interface does not exist"),
    ],
)
def test_a_filter_is_tried_where_there_are_no_interfaces(rules, said):
    found = packet_filter.why_not_loadable(packet_filter.Filter({"rules.nft": rules}))
    assert said in found
    assert bool(found) is bool(said)
