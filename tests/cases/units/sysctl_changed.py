"""A kernel setting that was changed while the node ran, and that sysctl.d would set back"""

from service import kernel

FILES = {"/etc/sysctl.d/90-case-sysctl-changed.conf": "net.ipv4.tcp_keepalive_time = 7100\n"}
SETUP = "sysctl -qw net.ipv4.tcp_keepalive_time=320"
MUST = {"keepalive": 320}


def program():
    return lambda: {"keepalive": kernel("net/ipv4/tcp_keepalive_time")}
