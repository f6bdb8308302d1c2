# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Where things lie on a node. The shell has the same roots in files/node/lib/record.sh, the unit templates have them in their text."""

from __future__ import annotations

import os

# Where the state lies that an update writes, and its end removes (but for the record and, until the next update, the preserved kernel).
# The next boot reads it before it mounts anything, so it lies off /var where that is a file system of its own.
ON_VAR = "/var/lib/kup"
OFF_VAR = "/usr/local/var/kup"


def _state():
    # Once there is a record, its place counts: files/node/lib/record.sh looks only for the directory. Preflight refuses one that the next boot would
    # not find, because /var has become a file system of its own since.
    if os.path.isdir(OFF_VAR):
        return OFF_VAR
    return ON_VAR if _is_of_root(ON_VAR) or os.path.exists(f"{ON_VAR}/record") else OFF_VAR


def _is_of_root(path):
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev == os.stat("/").st_dev


STATE = _state()
RECORD = STATE + "/record"
RECORD_COPY = RECORD + ".copy"
TIMELINE = STATE + "/timeline"
KERNELS = STATE + "/kernels"
BOOT = STATE + "/boot"
MEMORY = STATE + "/memory.json"
NUMBERS = STATE + "/numbers.json"
CHECKS = STATE + "/checks.json"
IMAGES = STATE + "/images"
# A folder: there while a boot to the new kernel is to start systemd without libbpf, or has (`_boot.first_process`; files/environment/first.c
# looks for what is in it).
WITHOUT_BPF = STATE + "/without-bpf"
# How the directories begin that take the place of a restored unit's PrivateTmp= until the unit is restarted.
PRIVATE_TMP = STATE + "/systemd-private-"
# What the rehearsals of dumps have shown; and their images, for as long as each takes.
REHEARSALS = STATE + "/rehearsals.json"
REHEARSAL_IMAGES = STATE + "/rehearsal"
# What balancers were told to send no new traffic to.
DRAINED = STATE + "/drained"
# What a kernel on probation said before it panicked; kept until the next update.
PANIC_LOG = STATE + "/panic.log"

# Installed by the role kup_checkpoint: this library and the shell beside it.
RUNTIME = "/usr/local/lib/kup"
# CRIU's plug-in, in a directory of its own: CRIU loads all that are in one.
PLUG_INS = RUNTIME + "/ends"
# Preloaded into kexec(8).
SUMS = RUNTIME + "/sums/kup_sums.so"
# Programs for one architecture, which are there beside what `_update.runtime` installs.
PROGRAMS = ("paged", "environment", "fingerprint", "ends/kup_pairs.so", "sums/kup_sums.so")
UNIT_TEMPLATES = RUNTIME + "/units"
GENERATOR = "/etc/systemd/system-generators/kup"

# Gone with the boot: what this boot has already done.
RUN = "/run/kup"
