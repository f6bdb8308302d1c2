#!/bin/sh
# The image's first boot, as PID 1: puts the boot loader on the disk from inside, as an installer would.
# Reports on the serial console; the host looks for the last line.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mount -o remount,rw / || echo "remount failed"
mount -t tmpfs tmpfs /run
uuid=$(blkid -o value -s PARTUUID /dev/nvme0n1p2)
mkdir -p /dev/disk/by-partuuid
ln -sf /dev/nvme0n1p2 "/dev/disk/by-partuuid/$uuid"

# GRUB's entries are 'submenu>entry', both made from the root file system's UUID.
default_entry() {
    root=$(blkid -o value -s UUID /dev/nvme0n1p2)
    grub-set-default "gnulinux-advanced-$root>gnulinux-$(cat /var/lib/kup-lab/from-release)-advanced-$root"
}

if grub-install --target=i386-pc /dev/nvme0n1 && update-grub && default_entry; then
    grep -q "^saved_entry=" /boot/grub/grubenv && echo KUP-LAB-IMAGE-READY
fi
mount -o remount,ro /
sync
echo o >/proc/sysrq-trigger
sleep 60
