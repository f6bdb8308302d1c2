#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# memory_disk.sh SIZE!START   on a node: reserve memory from the next start on, and use it as a disk. kexec leaves it alone, so its
#                             content survives a change of the kernel.
set -eu
sed -i "s/^GRUB_CMDLINE_LINUX=\"/&memmap=$1 /" /etc/default/grub.d/*.cfg
grep -q "memmap=$1" /etc/default/grub.d/*.cfg
update-grub
# Elsewhere udev loads these modules; a lab node's udev triggers few devices only.
printf 'nd_e820\nnd_pmem\n' >/etc/modules-load.d/memory-disk.conf
sync
