"""A netlink socket that does not block, as daemons use to watch the network"""

import os
import socket

RTMGRP_LINK = 1
MUST = {"blocks": False}


def program():
    watch = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    watch.bind((0, RTMGRP_LINK))

    def observe():
        return {"blocks": os.get_blocking(watch.fileno()), "bound": watch.getsockname()[1]}

    return observe
