"""Settings of the kernel: which travel, in which order, and what keeps them from systemd-sysctl."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import sysctls
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans


@pytest.fixture
def tree(tmp_path, monkeypatch):
    root = tmp_path / "sys"
    monkeypatch.setattr(sysctls, "_ROOT", str(root))
    monkeypatch.setattr(sysctls, "_OVERCOMMIT_BEFORE", str(tmp_path / "overcommit"))

    def write(**values):
        for name, value in {"vm/overcommit_memory": "0", **values}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(value if isinstance(value, bytes) else f"{value}\n".encode())
        return root

    return write


def test_what_can_be_written_is_recorded(tree):
    root = tree(
        **{"kernel/sem": "1\t2", "kernel/osrelease": "7", "kernel/core_pattern": b"\xff %e\n", "kernel/x": "1\n2"}
    )
    (root / "kernel/osrelease").chmod(0o444)
    assert sysctls.collect() == {"kernel/sem": "1\t2", "kernel/core_pattern": "\udcff %e", "vm/overcommit_memory": "0"}


@pytest.mark.parametrize(
    "name",
    [
        *("vm/drop_caches", "net/ipv6/route/flush", "kernel/ns_last_pid", "kernel/msg_next_id", "vm/min_free_kbytes"),
        *("kernel/panic_on_oops", "kernel/softlockup_panic", "kernel/hung_task_timeout_secs", "kernel/nmi_watchdog"),
        *("kernel/kexec_load_disabled", "kernel/kexec_load_limit_panic", "kernel/modules_disabled", "kernel/hostname"),
        *("net/ipv6/conf/lo/mtu", "sunrpc/x", "dev/cdrom/x"),
    ],
)
def test_what_is_no_setting_or_bars_the_way_back_is_left_out(tree, name):
    tree(**{name: "1"})
    assert name not in sysctls.collect()


@pytest.mark.parametrize(
    "name", ["vm/max_map_count", "fs/inotify/max_user_watches", "dev/tty/ldisc_autoload", "net/core/somaxconn"]
)
def test_what_applications_reach_or_see_travels(tree, name):
    tree(**{name: "1"})
    assert sysctls.collect()[name] == "1"


def test_of_two_ways_to_say_the_same_only_the_one_in_use_travels(tree):
    tree(**{"vm/dirty_bytes": "0", "vm/dirty_ratio": "20", "vm/overcommit_kbytes": "9", "vm/overcommit_ratio": "0"})
    assert sorted(sysctls.collect()) == ["vm/dirty_ratio", "vm/overcommit_kbytes", "vm/overcommit_memory"]


def test_overcommit_is_that_of_before_a_restore_that_is_not_over(tree, tmp_path):
    tree(**{"vm/overcommit_memory": "1"})
    (tmp_path / "overcommit").write_text("2\n")
    assert sysctls.collect() == {"vm/overcommit_memory": "2"}


NAMES = (
    "net/ipv4/conf/all/rp_filter",
    "net/ipv4/conf/eth0.100/rp_filter",
    "net/ipv4/conf/lo/rp_filter",
    "vm/swappiness",
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vm.swappiness = 1\n# vm.swappiness = 2\n;x\n\n", {NAMES[3]: "1"}),
        ("vm.swappiness=1\n-vm/swappiness =  2 3 \n", {NAMES[3]: "2 3"}),
        ("net.ipv4.conf.*.rp_filter = 2", dict.fromkeys(NAMES[:3], "2")),
        ("net.ipv4.conf.*.rp_filter = 2\n-net.ipv4.conf.all.rp_filter\n", dict.fromkeys(NAMES[1:3], "2")),
        (
            "net.ipv4.conf.all.rp_filter = 1\nnet.ipv4.conf.*.rp_filter = 2\nnet.*.rp_filter = 3",
            {NAMES[0]: "1", NAMES[1]: "2", NAMES[2]: "2"},
        ),
        ("net.ipv4.conf.eth0/100.rp_filter = 1\nnet/ipv4/conf/lo/rp_filter = 0", {NAMES[1]: "1", NAMES[2]: "0"}),
        ("no.such.thing = 1\nvm.swappiness\n=\n", {}),
    ],
)
def test_sysctl_d_is_read_as_systemd_does(text, said):
    assert sysctls.configured(text, NAMES) == said


def test_a_difference_from_sysctl_d_is_seen_and_told(monkeypatch):
    text = "kernel.sem = 1 2\nvm.swappiness = 60\nvm.max_map_count = 9\n"
    monkeypatch.setattr(sysctls, "run", lambda argv, check: types.SimpleNamespace(stdout=text))
    settings = {"kernel/sem": "1\t2", "vm/swappiness": "1", "net/core/somaxconn": "5"}
    drifted = sysctls.drift(settings)
    assert drifted == {"vm/swappiness": "60"}
    assert "sysctl.d says" in sysctls.note(settings, drifted)
    assert sysctls.note(settings, {}) == ""


def written(tmp_path, settings, drifted=()):
    sysctls.put_plan(Plans(f"{tmp_path}/environment"), settings, dict.fromkeys(drifted, "x"))
    steps = (tmp_path / "environment/1-sysctls.plan").read_text().splitlines()[1:]
    kept = (tmp_path / "environment/contents/1").read_text().splitlines()[1:]
    return [step.split(" ", 3) for step in steps], kept


def test_the_order_of_settings(tmp_path):
    settings = dict.fromkeys(
        (
            *(
                "abi/x",
                "kernel/yama/ptrace_scope",
                "kernel/pid_max",
                "net/ipv4/conf/all/forwarding",
                "net/ipv4/conf/all/a",
            ),
            *(
                "net/ipv4/conf/default/a",
                "net/ipv4/conf/lo/a",
                "net/ipv4/ip_forward",
                "vm/overcommit_memory",
                "net/ipv4/a",
            ),
        ),
        "1",
    )
    steps, _kept = written(tmp_path, settings)
    assert [step[3].split()[0] for step in steps] == [
        *("kernel/pid_max", "abi/x", "net/ipv4/a", "net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding"),
        *("net/ipv4/conf/all/a", "net/ipv4/conf/default/a", "net/ipv4/conf/lo/a", "kernel/yama/ptrace_scope"),
        *("/run/sysctl.d", sysctls.KEPT),
    ]


def test_only_what_a_restore_cannot_do_without_is_required(tmp_path):
    steps, _kept = written(tmp_path, {"kernel/pid_max": "1", "vm/max_map_count": "1", "vm/swappiness": "1"})
    required = {step[3].split()[0] for step in steps if step[1] == "required"}
    assert required == {"kernel/pid_max", "vm/max_map_count"}


def test_what_the_boot_would_change_later_is_kept(tmp_path):
    settings = {
        "vm/swappiness": "1",
        "vm/overcommit_memory": "2",
        "vm/max_map_count": "3",
        "net/netfilter/nf_conntrack_max": "4",
        "net/ipv4/conf/default/a": "5",
        "net/ipv4/conf/eth0/a": "5",
        "net/ipv4/conf/eth1/a": "6",
    }
    steps, kept = written(tmp_path, settings, drifted=("vm/swappiness", "vm/overcommit_memory"))
    assert kept == [
        *(
            "-net/ipv4/conf/eth1/a = 6",
            "-net/netfilter/nf_conntrack_max = 4",
            "-vm/overcommit_memory = 2",
            "-vm/swappiness = 1",
        ),
    ]
    # Early in the boot neither the interfaces nor the modules are there, and overcommit has another value while units are restored.
    names = {step[3].split()[0] for step in steps if step[0] == "sysctl"}
    assert names == {"vm/swappiness", "vm/max_map_count", "net/ipv4/conf/default/a"}


def test_the_settings_of_this_machine_can_be_recorded():
    assert "kernel/pid_max" in sysctls.collect()
