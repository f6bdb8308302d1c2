"""A test of memory, which ends at the first wrong bit"""

UNITS = ("memtester.service",)
PORTS = ()
PACKAGES = ("memtester",)
FILES = {
    "/etc/systemd/system/memtester.service": (
        "[Service]\nExecStart=/usr/sbin/memtester 16M\nNice=19\n[Install]\nWantedBy=multi-user.target\n"
    )
}


class Client:
    """Has nothing to ask: whether the process lives is seen by all."""

    def __init__(self, connect):
        del connect

    def before(self):
        pass

    def after(self):
        return []
