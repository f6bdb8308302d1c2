"""A unit with an AppArmor profile"""

PACKAGES = ("apparmor",)
SERVICE = "AppArmorProfile=case-apparmor"
FILES = {
    "/etc/apparmor.d/case-apparmor": (
        "abi <abi/4.0>,\nprofile case-apparmor flags=(attach_disconnected) {\n"
        + "".join(f"  {rule},\n" for rule in ("file", "network", "capability", "signal", "ptrace", "unix"))
        + "  deny /etc/shadow rw,\n}\n"
    )
}
SETUP = "apparmor_parser -r /etc/apparmor.d/case-apparmor; systemctl enable -q apparmor"
MUST = {"label": "case-apparmor (enforce)", "shadow": False}


def program():
    def observe():
        with open("/proc/self/attr/current", encoding="ascii") as file:
            label = file.read().strip("\0\n ")
        try:
            with open("/etc/shadow", "rb"):
                return {"label": label, "shadow": True}
        except PermissionError:
            return {"label": label, "shadow": False}

    return observe
