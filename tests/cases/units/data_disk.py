"""An open file on a file system of its own"""

import os

DISK, PLACE = "/var/lib/kup-cases-disk.img", "/srv/case-data-disk"
# The mount waits for udev, as that of a disk does.
SETUP = f"""
mkdir -p {PLACE}
[ -e {DISK} ] || {{ truncate -s 64M {DISK}; mkfs.ext4 -qF {DISK}; }}
grep -q {PLACE} /etc/fstab || echo '{DISK} {PLACE} ext4 loop,nofail,x-systemd.after=systemd-udev-trigger.service 0 2' >>/etc/fstab
systemctl daemon-reload
mountpoint -q {PLACE} || mount {PLACE}
"""


def program():
    file = open(f"{PLACE}/file", "a+", encoding="ascii")  # noqa: SIM115

    def observe():
        file.write("y\n")
        file.flush()
        return {"path": os.readlink(f"/proc/self/fd/{file.fileno()}"), "mounted": os.path.ismount(PLACE)}

    return observe
