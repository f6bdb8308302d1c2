#!/bin/sh
# On a node: print all that an update could change, one fact per line.
cat /proc/sys/kernel/random/boot_id /sys/kernel/kexec_loaded
uname -r
systemctl show memcached.service --property=MainPID,ActiveState,NRestarts,Type,DropInPaths,NeedDaemonReload
systemctl list-units --all --no-legend --plain 'kup*'
nft list ruleset
grub-editenv /boot/grub/grubenv list
dpkg-query --show | sha256sum
for tree in /var/lib/kup /usr/local/lib/kup /etc/systemd /etc/default /etc/apt /boot; do
	[ ! -e "$tree" ] || find "$tree" -type f -printf '%p %s %T@ %i\n' | sort
done
