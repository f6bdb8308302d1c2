#!/bin/sh
# Runs in the new root file system (chroot) after all packages are installed: makes it a lean server.
set -eu

# The lab's client sits on the other side of the bridge.
sed -i -e 's/^-l 127\.0\.0\.1$/-l 0.0.0.0/' -e '/^-l ::1$/d' /etc/memcached.conf
grep -q '^-l 0\.0\.0\.0$' /etc/memcached.conf

# Root comes in by key only; the key is written into each node's own disk.
install -d -m 700 /root/.ssh
cat >/etc/ssh/sshd_config.d/lab.conf <<'EOF'
PermitRootLogin prohibit-password
UseDNS no
EOF

# Logs outlive a boot: what happened before a switch is read after it.
install -d /var/log/journal

systemctl enable systemd-networkd.service ssh.service memcached.service nftables.service

# A server that is only ever reached by ssh needs none of these, and each costs start-up time.
systemctl mask \
    getty@tty1.service serial-getty@ttyS0.service console-getty.service getty-static.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer logrotate.timer man-db.timer systemd-tmpfiles-clean.timer \
    systemd-networkd-wait-online.service systemd-logind.service \
    systemd-timesyncd.service \
    systemd-pstore.service systemd-binfmt.service systemd-confext.service systemd-sysext.service \
    systemd-pcrmachine.service systemd-pcrphase.service systemd-pcrphase-sysinit.service \
    systemd-pcrphase-initrd.service systemd-tpm2-setup.service systemd-tpm2-setup-early.service \
    systemd-pcrlock-make-policy.service systemd-hibernate-clear.service \
    modprobe@drm.service modprobe@efi_pstore.service modprobe@configfs.service modprobe@dm_mod.service \
    modprobe@loop.service modprobe@fuse.service \
    sys-kernel-debug.mount sys-fs-fuse-connections.mount \
    dev-hugepages.mount proc-sys-fs-binfmt_misc.automount 2>/dev/null

# Nothing but the node's own repository can be reached from the lab's network.
rm -f /etc/apt/sources.list.d/* /etc/apt/preferences.d/lab-*
echo 'deb [trusted=yes] file:/var/lib/kup-lab/repo ./' >/etc/apt/sources.list
apt-get clean
apt-get -o APT::Sandbox::User=root update
