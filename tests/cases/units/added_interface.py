"""A listener on an address of an interface that somebody has made while the node ran, as for an address that several nodes have"""

from service import ip, listen

VIP = "192.0.2.77"
SETUP = f"""
ip link show dev any0 >/dev/null 2>&1 || ip link add any0 type dummy
ip address replace {VIP}/32 dev any0
ip link set any0 up
"""
MUST = {"address": True}


def program():
    return listen((VIP, 5011))


def look():
    return {"address": f"any0    inet {VIP}/32 " in ip("-o", "address")}
