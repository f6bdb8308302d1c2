#!/bin/sh
# Runs in the new root file system (chroot): leaves out what costs time in each boot of an emulated machine, and no test is about.
set -eu

# On a real server hundreds of processes start before the services. Here memcached would get pid 113, which threads of the next
# kernel may occupy during its boot. A boot that restores skips this: its pids are given.
cat >/etc/systemd/system/lab-pids.service <<'EOF'
[Unit]
Description=Number services like those of a larger machine
DefaultDependencies=no
Before=sysinit.target
ConditionPathExists=!/var/lib/kup/boot
ConditionPathExists=!/usr/local/var/kup/boot

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo 1000 >/proc/sys/kernel/ns_last_pid'

[Install]
WantedBy=sysinit.target
EOF

systemctl enable lab-pids.service systemd-networkd.service ssh.service memcached.service
systemctl set-default multi-user.target

# A server that is only ever reached by ssh needs none of these, and each costs a process start in every boot.
systemctl mask \
    getty@tty1.service serial-getty@ttyS0.service console-getty.service getty-static.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer logrotate.timer man-db.timer systemd-tmpfiles-clean.timer grub-common.service grub2-common.service \
    systemd-networkd-wait-online.service systemd-networkd-persistent-storage.service \
    systemd-network-generator.service systemd-logind.service systemd-timesyncd.service \
    systemd-user-sessions.service systemd-udev-load-credentials.service \
    systemd-pstore.service systemd-binfmt.service systemd-confext.service systemd-sysext.service \
    systemd-pcrmachine.service systemd-pcrphase.service systemd-pcrphase-sysinit.service \
    systemd-pcrphase-initrd.service systemd-tpm2-setup.service systemd-tpm2-setup-early.service \
    systemd-pcrlock-make-policy.service systemd-hibernate-clear.service \
    modprobe@drm.service modprobe@efi_pstore.service modprobe@configfs.service modprobe@dm_mod.service \
    modprobe@loop.service modprobe@fuse.service \
    sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount dev-mqueue.mount \
    dev-hugepages.mount proc-sys-fs-binfmt_misc.automount 2>/dev/null

# Both create device nodes of modules that are not loaded yet (CRIU looks for tun's); where the first exists, the second adds nothing.
if [ -e /lib/systemd/system/systemd-tmpfiles-setup-dev-early.service ]; then
    systemctl mask systemd-tmpfiles-setup-dev.service 2>/dev/null
fi

# Generators run in every boot and every daemon-reload; fstab's is the only one with work to do.
install -d /etc/systemd/system-generators
for generator in /lib/systemd/system-generators/*; do
    name=$(basename "$generator")
    [ "$name" = systemd-fstab-generator ] || ln -sf /dev/null "/etc/systemd/system-generators/$name"
done

# Empty, it lets systemd-modules-load.service be skipped.
rm -f /etc/modules-load.d/modules.conf

# Coldplug what a node has: its disk and its network card, not 40 consoles.
install -d /etc/systemd/system/systemd-udev-trigger.service.d
cat >/etc/systemd/system/systemd-udev-trigger.service.d/lab.conf <<'EOF'
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=devices --action=add --subsystem-match=pci --subsystem-match=virtio --subsystem-match=net --subsystem-match=block --subsystem-match=mem
EOF

# sshd's configuration was checked at installation; starting sshd once more only for this check is slow.
install -d /etc/systemd/system/ssh.service.d
printf '[Service]\nExecStartPre=\n' >/etc/systemd/system/ssh.service.d/lab.conf

# Drivers that udev would load for the emulated processor and chip set, and that nothing here uses.
cat >/etc/modprobe.d/lab.conf <<'EOF'
blacklist kvm_amd
blacklist kvm_intel
blacklist powernow_k8
blacklist acpi_cpufreq
blacklist aesni_intel
blacklist ghash_clmulni_intel
blacklist crct10dif_pclmul
blacklist crc32_pclmul
blacklist sha512_ssse3
blacklist sha256_ssse3
blacklist sha1_ssse3
blacklist ata_piix
blacklist ata_generic
blacklist button
blacklist evdev
blacklist serio_raw
blacklist psmouse
blacklist pcspkr
blacklist i2c_piix4
blacklist qemu_fw_cfg
blacklist vsock
blacklist vmw_vsock_virtio_transport
blacklist ip_tables
EOF
