"""boot/early: process ids, the network lock, kept frames and the network, before anything else of the boot."""

import os
import re
import signal

import pytest
from fakenode import OLD, OTHER, SCRIPTS, UNIT


def early(node, **values):
    made = node(units=f"{UNIT} {OTHER}", **values)
    made.write("proc/sys/kernel/ns_last_pid", "300\n")
    made.write("proc/sys/vm/overcommit_memory", "0\n")
    made.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    return made


def test_process_ids_and_packets_are_taken_care_of_before_the_network(node):
    made = early(node)
    made.run("boot/early")
    assert made.read("proc/sys/kernel/ns_last_pid") == "4711\n"
    assert made.calls == [f"nft -f {made.plan}/packets.nft", f"ip -force -batch {made.plan}/addresses"]
    assert made.events() == ["user-space", "held", "addressed"]
    assert made.marked("early-done")


DIAG = ["af_packet_diag", "inet_diag", "netlink_diag", "raw_diag", "tcp_diag", "udp_diag", "unix_diag"]


def bars(made):
    return [line.split()[1] for line in made.read("run/modprobe.d/zz-kup-restoring.conf").splitlines()]


def test_criu_finds_no_modules_that_only_its_dumps_need(node):
    made = early(node)
    made.run("boot/early")
    assert bars(made) == DIAG


def test_a_unix_socket_of_another_user_needs_one_of_them(node):
    made = early(node)
    made.write_plan(f"fingerprint-{UNIT}", "process 7\nlistener 7 3 1000 1000 7 1 0\n")
    made.run("boot/early")
    assert bars(made) == DIAG[:-1]


@pytest.mark.parametrize("barred", [True, False])
def test_dumps_find_all_of_them_when_the_restore_is_done(node, barred):
    made = early(node)
    if barred:
        made.write("run/modprobe.d/zz-kup-restoring.conf", "blacklist tcp_diag\n")
        made.write("run/modprobe.d/zz-kup-veth.conf")
    made.mark(f"{UNIT}.restored", f"{OTHER}.restored")
    (made.root / "run/kup/open").symlink_to("now")
    made.run("boot/restore-done")
    assert not (made.root / "run/modprobe.d").exists() or not list((made.root / "run/modprobe.d").iterdir())
    assert made.called("modprobe")[-1] == f"modprobe --quiet --all {' '.join(DIAG)}"


@pytest.mark.parametrize("way", ["ahead", "late", "again", "unreached"])
def test_a_network_manager_finds_a_module_that_restores_do_without(node, way):
    made = early(node)
    made.fake("ip", "case $* in *routes) exit 2 ;; esac" if way == "unreached" else "")
    if way != "late":
        (made.plan / "ahead").mkdir()
    if way == "again":
        made.mark("early-again")
    made.run("boot/early")
    barred = made.root / "run/modprobe.d/zz-kup-veth.conf"
    assert (barred.read_text() if barred.exists() else "") == ("blacklist veth\n" if way == "ahead" else "")


def test_the_first_restore_ends_the_bar_of_a_module(node):
    made = early(node)
    made.write("run/modprobe.d/zz-kup-veth.conf", "blacklist veth\n")
    made.fake("criu", f"cp {made.root}/run/modprobe.d/zz-kup-veth.conf {made.root}/barred")
    made.run("boot/restore-unit", UNIT, "criu")
    assert made.read("barred") == "blacklist veth\n"
    assert made.read("run/modprobe.d/zz-kup-veth.conf") == ""


@pytest.mark.parametrize(("word", "left"), [("cryptomgr.notests=Y", "N\n"), ("cryptomgr.notests=1", "Y\n")])
def test_the_kernel_tests_again_what_comes_from_now_on(node, word, left):
    made = early(node)
    made.write("proc/cmdline", f"root=/dev/sda1 {word}\n")
    made.write("sys/module/cryptomgr/parameters/notests", "Y\n")
    made.run("boot/early")
    assert made.read("sys/module/cryptomgr/parameters/notests") == left
    assert "ciphers" not in made.read("run/kup/environment.log")


def test_a_kernel_that_tests_nothing_need_not_be_told(node):
    made = early(node)
    made.write("proc/cmdline", "cryptomgr.notests=Y quiet\n")
    made.run("boot/early")
    assert "ciphers" not in made.read("run/kup/environment.log")
    assert not (made.root / "sys/module").exists()


def test_without_the_packet_filter_nothing_else_happens_on_the_new_kernel(node):
    made = early(node)
    made.fake("nft", "echo 'In file included from it:' >&2; echo 'Error: no such thing' >&2; exit 1")
    made.run("boot/early", code=1)
    assert len(made.calls) == 1
    assert not made.marked("early-done")
    assert made.read("run/kup/cause") == "the node's packet filter cannot be loaded: Error: no such thing\n"


def test_on_the_old_kernel_interfaces_are_then_left_to_the_node_s_own_services(node):
    made = early(node, running=OLD)
    made.write_plan("links", "52:54:00:00:00:01 ens3 - virtio_net\n")
    made.fake("nft", '[ "${2##*/}" != packets.nft ]')
    made.run("boot/early")
    assert made.called("nft") == [f"nft -f {made.plan}/packets.nft", f"nft -f {made.plan}/network-lock.nft"]
    assert not made.called("modprobe")
    assert not made.called("ip")
    assert made.marked("early-done")


def test_on_the_old_kernel_memory_is_restored_also_without_the_network_lock(node):
    made = early(node, running=OLD)
    made.fake("nft", "exit 1")
    made.run("boot/early")
    assert made.read("run/kup/cause") == "the network lock cannot be loaded\n"
    assert made.marked("early-done")


def test_rules_of_each_tool_are_loaded_before_those_of_nft(node):
    made = early(node)
    for tool in ("ipset", "iptables-nft-restore", "ip6tables-legacy-restore"):
        made.fake(tool, f"cat >>{made.root}/loaded")
    for name in ("iptables-nft", "ipset", "ip6tables-legacy"):
        made.write_plan(f"filter/{name}", f"{name}\n")
    made.run("boot/early")
    assert made.calls[:4] == [
        "ipset restore",
        "iptables-nft-restore --counters",
        "ip6tables-legacy-restore --counters",
        f"nft -f {made.plan}/packets.nft",
    ]
    assert made.read("loaded") == "ipset\niptables-nft\nip6tables-legacy\n"


@pytest.mark.parametrize("loads", [True, False])
def test_services_that_load_the_filter_need_not_where_it_is_loaded(node, loads):
    made = early(node, running=OLD)
    made.write_plan("restore/nftables.service.d/zz-kup-filter.conf")
    if not loads:
        made.fake("nft", '[ "${2##*/}" != packets.nft ]')
    made.run("boot/early")
    assert made.marked("nftables.service.filtered") == loads
    assert made.marked("early-done")


def test_an_owner_of_the_network_lock_waits_for_commands(node):
    made = early(node)
    for name in ("commands", "answers"):
        made.write_plan(f"lock-owner/{name}").unlink()
        os.mkfifo(made.plan / f"lock-owner/{name}")
    made.fake(
        "nft",
        f"""[ "$1" = --interactive ] || exit 0
echo $$ >{made.root}/owner
for _ in filter lock; do
read -r first; read -r second; printf '%s\\n' "$first" "$second" >>{made.root}/told
echo "Error: No such file or directory" >&2; echo "$second" >&2; echo "^^^" >&2
done
exec sleep 30""",
    )
    made.fake("sleep", "exec /bin/sleep $1")
    done = made.run("boot/early")
    owner = int(made.read("owner"))
    os.kill(owner, signal.SIGKILL)
    assert made.read("told") == "".join(
        f'include "{made.plan}/{name}"\nlist table inet kup_end\n' for name in ("packets.nft", "lock-owner/table.nft")
    )
    assert made.called("nft") == ["nft --interactive"]
    assert int(made.read("run/kup/lock-owner")) == owner
    assert done.stderr == ""
    assert not made.marked("environment.log")


def test_a_network_lock_without_an_owner_is_noted(node):
    made = early(node)
    made.run("boot/early")
    assert "would lift the network lock" in made.read("run/kup/environment.log")


def test_security_profiles_are_loaded_before_the_restore(node):
    made = early(node)
    loaded = made.write("sys/kernel/security/apparmor/.replace")
    made.write_plan(f"profiles/{UNIT}.0", "policy")
    made.run("boot/early")
    assert loaded.read_text() == "policy"
    assert not made.marked(f"{UNIT}.lacks")


def test_a_unit_lacks_a_security_profile_that_the_kernel_does_not_take(node):
    made = early(node)
    made.write_plan(f"profiles/{OTHER}.0", "policy")
    made.run("boot/early")
    lacks = made.read(f"run/kup/{OTHER}.lacks")
    assert lacks.startswith(f"{OTHER} needs its AppArmor profile, which this kernel did not take: ")
    assert "No such file or directory" in lacks
    assert made.marked("early-done")


def test_a_card_is_told_from_another_with_the_same_address_by_its_device(node):
    made = early(node)
    made.write_plan("links", f"52:54:00:00:00:01 ens3 {made.root}/sys/devices/b virtio_net\n")
    for path in ("class/net/eth0", "class/net/eth1", "devices/a/net/eth0", "devices/b/net/eth1"):
        made.write(f"sys/{path}/address", "52:54:00:00:00:01\n")
        made.write(f"sys/{path}/device")
    made.run("boot/early")
    assert made.called("ip link") == ["ip link set dev eth1 name ens3"]


def test_connections_between_units_are_made_anew(node):
    made = early(node)
    made.write_plan("pairs/units", f"{UNIT}\n{OTHER}\n")
    made.fake("usr/local/lib/kup/fingerprint")
    made.run("boot/early")
    assert made.called("fingerprint") == [f"fingerprint keep-pairs {made.plan}/pairs {made.root}/run/kup/keeper"]
    assert made.events() == ["user-space", "held", "pairs", "addressed"]
    assert not made.marked(f"{UNIT}.lacks")


def test_without_them_their_units_are_not_restored(node):
    made = early(node)
    made.write_plan("pairs/units", f"{OTHER}\n")
    made.fake("usr/local/lib/kup/fingerprint", "echo 'Pid 7 is taken.' >&2; exit 1")
    made.run("boot/early")
    sentence = f"{OTHER} needs its connections to other units, which could not be made anew: Pid 7 is taken.\n"
    assert made.read(f"run/kup/{OTHER}.lacks") == sentence
    assert not made.marked(f"{UNIT}.lacks")
    assert made.marked("early-done")


def test_connections_that_are_kept_already_are_not_made_twice(node):
    made = early(node)
    made.write_plan("pairs/units", f"{UNIT}\n")
    made.mark("keeper")
    made.fake("usr/local/lib/kup/fingerprint")
    made.run("boot/early")
    assert not made.called("fingerprint")


def test_the_folder_of_this_boot_is_for_root_only(node):
    made = early(node)
    (made.root / "run/kup").rmdir()
    made.run("boot/early")
    assert (made.root / "run/kup").stat().st_mode & 0o777 == 0o700


def test_pages_are_pending_where_a_page_daemon_will_serve_them(node):
    made = early(node)
    made.write_plan(f"pages/kup-paged-{OTHER}")
    made.run("boot/early")
    assert made.marked(f"{OTHER}.pending")
    assert not made.marked(f"{UNIT}.pending")


def test_the_kernel_module_is_put_in_charge_of_kept_frames(node):
    made = early(node)
    made.keep_frames()
    made.run("boot/early")
    assert made.called("insmod") == [f"insmod {made.root}/var/lib/kup/kernels/7.2-new/kup_ppp.ko table=0x1000,0x2"]
    assert made.decision() is None
    assert made.events() == ["user-space", "held", "attached", "addressed"]


def test_frames_that_the_module_refuses_are_left_to_another_kernel(node):
    made = early(node)
    made.keep_frames()
    made.fake("insmod", "exit 1")
    made.run("boot/early")
    assert made.decision() == "go-back"


def test_overcommit_is_allowed_for_the_restore_and_that_of_the_old_boot_noted(node):
    made = early(node)
    made.write_plan("overcommit", "2\n")
    (made.root / "run/sysctl.d").rmdir()
    made.run("boot/early")
    assert made.read("proc/sys/vm/overcommit_memory") == "1\n"
    assert made.read("run/kup/overcommit") == "2\n"
    assert made.read("run/sysctl.d/zzzz-kup-restoring.conf") == "vm.overcommit_memory = 1\n"


def test_overcommit_that_cannot_be_allowed_is_noted(node):
    made = early(node)
    (made.root / "proc/sys/vm/overcommit_memory").unlink()
    (made.root / "proc/sys/vm/overcommit_memory").mkdir()
    made.run("boot/early")
    assert "-: overcommit could not be allowed (optional)\n" in made.read("run/kup/environment.log")


def test_with_frames_huge_pages_are_forbidden_for_the_restore_and_noted(node):
    made = early(node)
    made.keep_frames()
    made.run("boot/early")
    assert made.read("sys/kernel/mm/transparent_hugepage/enabled") == "never\n"
    assert made.read("run/kup/hugepages") == "madvise\n"


def test_without_frames_huge_pages_stay(node):
    made = early(node)
    made.run("boot/early")
    assert "[madvise]" in made.read("sys/kernel/mm/transparent_hugepage/enabled")


def test_no_line_of_damaged_frames_is_executed(node):
    made = early(node)
    made.keep_frames()
    made.write_plan("frames", f"touch {made.root}/executed\nTABLE='0x1000,0x2'\nPATH='$(touch {made.root}/executed)'\n")
    made.run("boot/early")
    assert made.called("insmod")[0].endswith("table=0x1000,0x2")
    assert not (made.root / "executed").exists()


def test_a_card_gets_its_drivers_and_the_name_of_before(node):
    made = early(node)
    made.write_plan("links", "52:54:00:00:00:01 ens3 - virtio_pci virtio_net\n")
    made.write("sys/class/net/lo/address", "00:00:00:00:00:00\n")
    made.write("sys/class/net/eth0/address", "52:54:00:00:00:01\n")
    made.write("sys/class/net/eth0/device")
    made.run("boot/early")
    assert made.calls[1:3] == ["modprobe --quiet --all virtio_pci virtio_net", "ip link set dev eth0 name ens3"]


def test_a_card_that_does_not_come_costs_time_only(node):
    made = early(node)
    made.write_plan("links", "52:54:00:00:00:01 ens3 - virtio_net\n")
    made.run("boot/early")
    assert made.events()[-1] == "addressed"
    assert len(made.called("sleep")) == 100


@pytest.mark.parametrize("reached", [True, False])
def test_the_rest_of_the_boot_goes_first_where_a_peer_is_not_reached(node, reached):
    made = early(node)
    (made.plan / "ahead").mkdir()
    made.fake("ip", f'[ "$1" = -force ] || exit {0 if reached else 2}')
    made.run("boot/early")
    assert made.marked("network-later") is not reached
    assert made.called("systemctl") == ([] if reached else ["systemctl daemon-reload"])


def test_numbers_in_proc_sys_are_not_read_byte_by_byte():
    """dash's read does, and gets the first digit without a newline, which is a failure. Texts can be read in parts."""
    texts = {"kernel/osrelease", "kernel/random/boot_id"}
    for path in (path for path in SCRIPTS.rglob("*") if path.is_file()):
        assert set(re.findall(r"read -r .*</proc/sys/(\S+)", path.read_text())) <= texts, path


def with_environment(node, body=":"):
    made = early(node)
    made.write_plan("environment/1-sysctls.plan")
    made.write_plan("environment/2-files.plan")
    made.fake("usr/local/lib/kup/environment", body)
    return made


def test_the_environment_is_put_in_place_before_process_ids_are_counted(node):
    made = with_environment(node)
    made.run("boot/early")
    plans = f"{made.plan}/environment"
    assert made.calls[0] == f"environment apply {plans}/1-sysctls.plan {plans}/2-files.plan"
    assert made.events()[:3] == ["user-space", "environment", "held"]


def test_what_one_unit_lacks_does_not_end_the_early_boot(node):
    made = with_environment(node, "exit 3")
    made.run("boot/early")
    assert made.marked("early-done")
    assert not made.marked("cause")


@pytest.mark.parametrize("code", [1, 127])
def test_what_the_node_lacks_ends_it_with_a_cause(node, code):
    made = with_environment(node, f"echo 'the sysctl x could not be put in place: why' >&2; exit {code}")
    made.run("boot/early", code=1)
    assert not made.called("nft")
    assert made.read("run/kup/cause").endswith("is not complete: the sysctl x could not be put in place: why\n")


def test_a_process_id_that_the_kernel_refuses_is_noted(node):
    made = early(node)
    (made.root / "proc/sys/kernel/ns_last_pid").unlink()
    (made.root / "proc/sys/kernel/ns_last_pid").mkdir()
    made.run("boot/early")
    assert "-: process ids below 4711 may be taken (optional)\n" in made.read("run/kup/environment.log")
    assert made.marked("early-done")


def test_huge_pages_that_stay_allowed_are_noted(node):
    made = early(node)
    made.keep_frames()
    setting = made.root / "sys/kernel/mm/transparent_hugepage/enabled"
    setting.unlink()
    setting.mkdir()
    made.run("boot/early")
    assert "-: huge pages could not be forbidden (optional)\n" in made.read("run/kup/environment.log")


def test_connection_tracking_is_told_of_connections_behind_the_filter_and_before_the_network(node):
    made = early(node)
    made.write_plan("tracked", "messages")
    made.run("boot/early")
    calls = [line.split()[0] for line in made.calls]
    assert calls == ["nft", "environment", "ip"]
    assert made.called("environment") == [f"environment track {made.plan}/tracked"]


def test_a_kernel_that_takes_no_connections_restores_all_the_same(node):
    made = early(node)
    made.write_plan("tracked", "messages")
    made.fake("usr/local/lib/kup/environment", "echo 'connection tracking has not taken 1 of 1' >&2; exit 1")
    made.run("boot/early")
    assert made.marked("early-done")
    assert "has not taken 1 of 1 (optional)" in made.read("run/kup/environment.log")
