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
)
