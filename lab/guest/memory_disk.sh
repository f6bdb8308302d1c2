#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# On a node: keep a part of the memory out of the kernel's hands from the next start on, and find a disk there: kexec
# leaves it alone, so it outlives a kernel. memory_disk.sh SIZE!START
set -eu
sed -i "s/^GRUB_CMDLINE_LINUX=\"/&memmap=$1 /" /etc/default/grub.d/*.cfg
grep -q "memmap=$1" /etc/default/grub.d/*.cfg
update-grub
# Elsewhere udev does that; a lab node's udev looks at few devices only.
printf 'nd_e820\nnd_pmem\n' >/etc/modules-load.d/memory-disk.conf
sync
