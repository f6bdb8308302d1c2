"""A data file that is opened below a bind mount of fstab"""

import os

SOURCE, PLACE = "/var/lib/case-bind-mount", "/srv/case-bind-mount"
SETUP = f"""
mkdir -p {SOURCE} {PLACE}
grep -q {PLACE} /etc/fstab || echo '{SOURCE} {PLACE} none bind,nofail,x-systemd.after=systemd-udev-trigger.service 0 0' >>/etc/fstab
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
