#!/bin/sh
# Runs in the new root file system (chroot) after all packages are installed: turns it into a node of the lab.
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

# Nothing but the node's own repository can be reached from the lab's network.
rm -f /etc/apt/sources.list.d/* /etc/apt/preferences.d/lab-*
echo 'deb [trusted=yes] file:/var/lib/kup-lab/repo ./' >/etc/apt/sources.list
rm -f /etc/resolv.conf
echo 'Acquire::Languages "none";' >/etc/apt/apt.conf.d/lab
apt-get clean
apt-get -o APT::Sandbox::User=root update

# systemd's once-per-installation work (linker cache, journal catalogue, system users) is done here, not in each node's first boot.
ldconfig
journalctl --update-catalog
systemd-sysusers
touch -r /usr /etc/.updated /var/.updated
