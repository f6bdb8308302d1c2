"""A /var that is a file system of its own, as guides to hardened servers ask for"""

import os
import pathlib

# Everything else on the node has its /var there, too.
ALONE = True
SERVICE = "StateDirectory=case-own-var\nPrivateTmp=yes\n"
DISK = "/case-own-var.img"
SETUP = f"""
mountpoint -q /var || {{
    truncate -s 3G {DISK}
    mkfs.ext4 -qF {DISK}
    mount -o loop {DISK} /mnt
    cp -a /var/. /mnt
    umount /mnt
    echo '{DISK} /var ext4 loop,nosuid,nodev,noexec 0 2' >>/etc/fstab
    systemctl daemon-reload
    mount /var
    systemctl restart systemd-journald
}}
"""
STATE = pathlib.Path("/var/lib/case-own-var/state")


def program():
    log = STATE.open("a+", encoding="ascii")
    pathlib.Path("/tmp/state").write_text("kept")

    def observe():
        log.write("y\n")
        log.flush()
        return {
            "path": os.readlink(f"/proc/self/fd/{log.fileno()}"),
            "mounted": os.path.ismount("/var"),
            "private": pathlib.Path("/tmp/state").read_text(),
        }

    return observe
