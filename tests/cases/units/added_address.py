"""A listener on an address, and a route, that somebody has added while the node ran, as a load balancer that has become the master"""

from service import ip, listen

VIP, FAR = "10.77.0.99", "203.0.113.0/24"
SETUP = f"""
card=$(ip -o -4 route get 10.77.0.1 | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')
ip address replace {VIP}/32 dev "$card"
ip route replace {FAR} via 10.77.0.1 dev "$card"
"""
MUST = {"address": True, "route": True}


def program():
    return listen((VIP, 5010))


def look():
    return {"address": f" {VIP}/32 " in ip("-o", "address"), "route": f"{FAR} via 10.77.0.1" in ip("route")}
