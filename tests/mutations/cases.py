"""The mutations: small faults that a hurried change could bring in, in what decides between a state kept and a state lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """``old`` stands exactly once in the file ``path`` and is replaced by ``new``; ``what`` goes wrong then."""

    path: str
    what: str
    old: str
    new: str


CASES = (
    Mutation(
        "plugins/module_utils/_update/network_lock.py",
        "the network lock drops nothing",
        '    incoming = [f"{protocol} dport {port} drop" for protocol, port in sorted(ports)]\n',
        "    incoming = []\n",
    ),
    Mutation(
        "plugins/module_utils/_update/network_lock.py",
        "the network lock comes after the node's own filter",
        "priority -200",
        "priority 200",
    ),
    Mutation(
        "plugins/module_utils/_update/network_lock.py",
        "CRIU's own packets are dropped",
        "return head + mark + ",
        "return head + ",
    ),
    Mutation(
        "plugins/module_utils/_update/network_lock.py",
        "the network lock is not loaded",
        '    run(["nft", "-f", "-"], stdin=text)',
        "    del text",
    ),
    Mutation(
        "plugins/module_utils/_update/record.py",
        "a record's digest is not compared",
        '        if found.rstrip("\\n") + "\\n" == sealed(body):',
        "        if body.strip():",
    ),
    Mutation(
        "plugins/module_utils/_update/checks.py",
        "a live lease keeps no other run away",
        "    if left > 0:",
        "    if left < 0:",
    ),
    Mutation(
        "plugins/module_utils/_update/record.py",
        "the record's copy is not written",
        "    write_file(RECORD_COPY, text)\n",
        "",
    ),
    Mutation(
        "plugins/module_utils/_update/gate.py",
        "a unit that was started anew passes the gate",
        "    if started_anew(unit):",
        "    if False:",
    ),
    Mutation(
        "plugins/module_utils/_update/gate.py",
        "memory that could not be brought in passes the gate",
        "    if pending_memory.lost(unit.name):",
        "    if False:",
    ),
    Mutation(
        "plugins/module_utils/_update/gate.py",
        "a number that dropped passes the gate",
        "now < before * share",
        "now < 0",
    ),
    Mutation(
        "plugins/module_utils/_update/watch.py",
        "a single failure of its own checks sends a node back",
        "_IN_A_ROW = 3",
        "_IN_A_ROW = 1",
    ),
    Mutation(
        "plugins/module_utils/_update/watch.py",
        "failures long ago count like those in a row",
        "if failures else 0",
        'if failures else int(read_text(_COUNT, "0"))',
    ),
    Mutation(
        "plugins/module_utils/_criu/cleanup.py",
        "the CRIU clean-up leaves CRIU's packet filter",
        '        run(["nft", "delete", "table", "inet", table], check=False)',
        "        pass",
    ),
    Mutation(
        "plugins/module_utils/_criu/cleanup.py",
        "the CRIU clean-up leaves connections in repair mode",
        "            _end_repair(process)",
        "            pass",
    ),
    Mutation(
        "plugins/module_utils/_boot/kexec.py",
        "a kernel stays loaded when the switch is given up",
        '        run(["kexec", "--unload"])',
        "        pass",
    ),
    Mutation(
        "plugins/module_utils/_boot/kexec.py",
        "the next kernel gets the frames' table of the last switch",
        "(BOOT_IMAGE|initrd|kup_ppp\\.table)=",
        "(BOOT_IMAGE|initrd)=",
    ),
    Mutation(
        "plugins/module_utils/_boot/grub.py",
        "the boot default is not set",
        '    run(["grub-set-default", wanted])',
        "    pass",
    ),
    Mutation(
        "plugins/module_utils/_boot/load_window.py",
        "the window lies outside of its range of memory",
        "(end - needed - first) // _LARGE_PAGE + 1",
        "(end - first) // _LARGE_PAGE + 1",
    ),
    Mutation(
        "plugins/module_utils/_engines/swap.py",
        "an application is frozen with much of it swapped out",
        "    if left > _LATE:",
        "    if left < 0:",
    ),
    Mutation(
        "plugins/module_utils/_engines/pending_memory.py",
        "a process whose memory is not in place is dumped",
        "    while units():",
        "    while False:",
    ),
    Mutation(
        "plugins/module_utils/_files.py",
        "a durable file is not synced before its rename",
        "        os.fsync(stream.fileno())\n",
        "",
    ),
    Mutation(
        "plugins/module_utils/_image/patch.py",
        "the patch is put where the kernel has a relocation",
        "        if _is_relocated(vmlinux, start, length):",
        "        if False:",
    ),
    Mutation(
        "files/kmod/check.c",
        "the kernel module takes a table of another switch",
        "\tif (table->nonce != session->nonce)",
        "\tif (false)",
    ),
    Mutation(
        "files/kmod/check.c",
        "the kernel module does not compare the table's digest",
        "xxh64_digest(&hash) == table->digest ? NULL",
        "true ? NULL",
    ),
    Mutation(
        "files/kmod/check.c",
        "the kernel module takes frames that are not reserved",
        "\t\t\tif (!is_reserved_page(page))",
        "\t\t\tif (!page)",
    ),
    Mutation(
        "files/kmod/check.c",
        "the kernel module binds frames that are not in the table",
        "\t\t\tif (!frames || !is_kept(session, run))",
        "\t\t\tif (!frames)",
    ),
    Mutation(
        "files/kmod/check.c",
        "the kernel module does not compare the owners' digest",
        "\tif (xxh64_digest(&hash) != table->owner[KUP_OWNER_DIGEST])",
        "\tif (false)",
    ),
    Mutation(
        "plugins/module_utils/_blocker.py",
        "no check finds anything",
        "[Blocker(code, *found) for found in function(*seen)]",
        "[]",
    ),
    Mutation(
        "plugins/module_utils/_update/preflight.py",
        "what stands in the way of a unit is found and not counted",
        "[each for one in judged for each in one.blockers]",
        "[]",
    ),
    Mutation(
        "plugins/module_utils/_update/preflight.py",
        "a node without room is fit",
        "        blockers += all_of(checks.NODE_CHECKS, node)",
        "        pass",
    ),
    Mutation(
        "plugins/module_utils/_criu/support.py",
        "open descriptors are not judged",
        "first_of(DESCRIPTOR_CHECKS, descriptor, around)",
        "[]",
    ),
    Mutation(
        "plugins/module_utils/_criu/checks.py",
        "an application that a debugger traces is dumped",
        "    if process.tracer:",
        "    if False:",
    ),
    Mutation(
        "files/node/boot/early",
        "the early boot sets no network lock",
        'nft -f "$plan/hold.nft"\n',
        ":\n",
    ),
    Mutation(
        "files/node/boot/early",
        "a boot goes on without its network lock",
        "set -eu\n",
        "set -u\n",
    ),
    Mutation(
        "files/node/boot/early",
        "frames that the module refuses are not left to another kernel",
        "attach_frames || decide go-back || :",
        "attach_frames || :",
    ),
    Mutation(
        "files/node/boot/early",
        "lazy pages are not noted as pending",
        ': >"$run/${service##*/kup-paged-}.pending"',
        ":",
    ),
    Mutation(
        "files/node/boot/early",
        "the process ids of the applications are not reserved",
        'echo "$last_pid" >/proc/sys/kernel/ns_last_pid',
        ":",
    ),
    Mutation(
        "files/node/boot/restore-unit",
        "packets flow after the first of several units",
        '[ -e "$run/$other.restored" ] || return 1',
        '[ -e "$run/$other.restored" ] || :',
    ),
    Mutation(
        "files/node/boot/restore-unit",
        "tries to restore a checkpoint are not counted",
        'if printf %s "$letter" >>"$plan/tries-$unit"; then',
        "if :; then",
    ),
    Mutation(
        "files/node/boot/restore-unit",
        "a checkpoint is tried for ever",
        "tries_max=5",
        "tries_max=500",
    ),
    Mutation(
        "files/node/boot/restore-unit",
        "a restore does not wait for routes",
        'until ip -batch "$plan/routes" >/dev/null 2>&1; do',
        "until :; do",
    ),
    Mutation(
        "files/node/boot/restore-unit",
        "trees run before their frames are sealed",
        '"$lib/paged" seal >/dev/null ||',
        "true ||",
    ),
    Mutation(
        "files/node/boot/bind-frames.sh",
        "a tree without its frames is let run",
        'signal_tree KILL "$bound_unit"',
        ":",
    ),
    Mutation(
        "files/node/lib/frames.sh",
        "the decision on frames can be made twice",
        'ln -s "$1" "$run/decision"',
        'ln -sfn "$1" "$run/decision"',
    ),
    Mutation(
        "files/node/lib/frames.sh",
        "processes that the application had stopped run on",
        '[ "$1$task_state" = CONTstopped ] ||',
        "",
    ),
    Mutation(
        "files/node/boot/restore-done",
        "weights and limits are not given back",
        "\nrestore_resources\n",
        "\n:\n",
    ),
    Mutation(
        "files/node/lib/cgroup.sh",
        "a limit is set although pages are pending",
        '{ [ -e "$run/$unit.pending" ] && [ ! -e "$run/$unit.drained" ]; } ||',
        "",
    ),
    Mutation(
        "files/node/lib/cgroup.sh",
        "a limit that is exceeded is set all the same",
        '[ "$max" = max ] || [ "$current" -le "$max" ]',
        ":",
    ),
    Mutation(
        "files/node/boot/restore-done",
        "a way back to the same kernel begins probation",
        "if goes_forward; then",
        'if [ "$running" = "$KERNEL_NEW" ]; then',
    ),
    Mutation(
        "files/node/boot/restore-done",
        "a failed restore is overwritten by its end",
        '[ "$PHASE" != failed ] || exit 0',
        ":",
    ),
    Mutation(
        "files/node/boot/pages-drained",
        "pages count as drained although their daemon failed",
        "*) exit 0 ;;",
        "*) ;;",
    ),
    Mutation(
        "files/node/boot/pages-drained",
        "lost memory is not noted",
        ': >"$run/$1.lost" ;;',
        ": ;;",
    ),
    Mutation(
        "files/node/lib/finish.sh",
        "images are removed while pages are pending",
        '[ "$PHASE" = fell_back ] && ! pages_pending ||',
        '[ "$PHASE" = fell_back ] ||',
    ),
    Mutation(
        "files/node/lib/record.sh",
        "the digest of the record is not compared",
        '[ "$sign $(sha256sum)" = "# $sum  -" ]',
        "cat >/dev/null",
    ),
    Mutation(
        "files/node/lib/record.sh",
        "a damaged record is sealed again",
        '[ -n "$record" ] || return\n',
        "record=${record:-$state/record}\n",
    ),
    Mutation(
        "files/node/lib/record.sh",
        "the record is not synced before its rename",
        "&& sync $state/record.new $state/copy.new || return",
        "|| return",
    ),
    Mutation(
        "files/node/lib/record.sh",
        "a cold start looks for frames",
        "frames_handed_over || CHECKPOINT=$DISK_CHECKPOINT",
        ":",
    ),
    Mutation(
        "files/node/boot/restore-failed",
        "frames of running applications are taken back",
        'elif [ -e "$plan/frames" ] && ! decide go-back; then',
        "elif false; then",
    ),
    Mutation(
        "files/node/boot/restore-failed",
        "a failed restore on the old kernel never starts cold",
        'elif [ -e "$plan/frames" ] && [ -n "$DISK_CHECKPOINT" ]; then',
        "elif false; then",
    ),
    Mutation(
        "files/node/boot/restore-failed",
        "the unit's own call starts the units fresh",
        '[ "${1-}" = at-once ] &&',
        "false &&",
    ),
    Mutation(
        "files/node/boot/go-back.sh",
        "frames go back without the module's word",
        '"$lib/paged" rearm',
        '"$lib/paged" rearm || :',
    ),
    Mutation(
        "files/node/boot/go-back.sh",
        "the way back forgets that units have run",
        "echo checkpoint",
        "echo running",
    ),
    Mutation(
        "files/node/boot/start-fresh.sh",
        "packets stay held when units start fresh",
        "nft delete table inet kup",
        ":",
    ),
    Mutation(
        "files/node/boot/generator",
        "a boot restores once more after its restore",
        "if [ ! -e $run/restore-done ]; then",
        "if :; then",
    ),
    Mutation(
        "files/node/boot/generator",
        "a boot back to the old kernel begins probation",
        "! goes_forward || link_units",
        "link_units",
    ),
    Mutation(
        "files/node/switch/clean-up",
        "the clean-up of a killed switch does nothing",
        "! nothing_to_do || exit 0",
        "exit 0",
    ),
    Mutation(
        "files/node/switch/clean-up",
        "frozen control groups stay frozen",
        "\nthaw_units\n",
        "\n:\n",
    ),
    Mutation(
        "files/node/switch/clean-up",
        "what a killed CRIU left is not undone",
        "\nundo_killed_dumps\n",
        "\n:\n",
    ),
    Mutation(
        "files/node/switch/clean-up",
        "the clean-up works beside another switch",
        "flock --timeout 5 9 || exit 0",
        "flock --timeout 5 9 || :",
    ),
    Mutation(
        "files/node/switch/clean-up",
        "a complete checkpoint is given up",
        "switching | returning) jump ;;",
        "switching | returning) ;;",
    ),
    Mutation(
        "files/node/switch/action-script",
        "a tree stays frozen when its dump is given up",
        'echo 0 >"$group/cgroup.freeze"',
        ":",
    ),
    Mutation(
        "files/node/crash/arm",
        "the crash kernel takes frames without the module's word",
        "if [ -e /dev/kup_ppp ]; then",
        'if [ -e "$plan/frames" ]; then',
    ),
    Mutation(
        "files/node/crash/crashed",
        "a panic takes frames that applications have run with",
        '[ "$PHASE" = switching ] && frames_handed_over',
        "frames_handed_over",
    ),
    Mutation(
        "files/node/crash/crashed",
        "a panic without an update starts the preserved kernel",
        "*) exit 1 ;;",
        "*) ;;",
    ),
    Mutation(
        "files/node/units/restored.conf.in",
        "a restore starts before the early boot",
        "Requires=kup-early.service\n",
        "",
    ),
    Mutation(
        "files/node/units/restored.conf.in",
        "a failed restore is not told at once",
        "ExecStopPost=+/bin/sh /usr/local/lib/kup/boot/restore-failed at-once\n",
        "",
    ),
)
