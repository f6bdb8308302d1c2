#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# memory_filesystem.sh DIRECTORY   on a node: a file system in the memory that memory_disk.sh has reserved.
set -eu
# DAX wants blocks as large as pages.
mkfs.ext4 -q -b 4096 /dev/pmem0
mkdir -m 700 "$1"
echo "/dev/pmem0 $1 ext4 dax,nofail 0 0" >>/etc/fstab
systemctl daemon-reload
mount "$1"
chmod 700 "$1"
findmnt --noheadings --output OPTIONS "$1" | grep -q dax
