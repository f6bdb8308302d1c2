"""A server that a rule of the packet filter gives the connections to another port, and that sends without being asked"""

UNITS = ("redirected.service",)
# The filter of the node lets in what is redirected already.
PORTS = (8099, 8098)
PACKAGES = ("python3",)
FILES = {
    "/usr/local/lib/redirected.py": f"""
import socketserver


class Stream(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.settimeout(0.1)
        for number in range(10**8):
            self.request.sendall(b'%08d\\n' % number)
            try:
                if not self.request.recv(1):
                    return
                self.request.sendall(b'answered\\n')
            except TimeoutError:
                continue


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


Server(('', {PORTS[1]}), Stream).serve_forever()
""",
    "/etc/systemd/system/redirected.service": (
        "[Service]\nUser=daemon\nExecStart=/usr/bin/python3 /usr/local/lib/redirected.py\n[Install]\nWantedBy=multi-user.target\n"
    ),
}
# Behind the start of nftables.service, which flushes the rules.
AFTER = f"""
nft add table ip redirected
nft add chain ip redirected before '{{ type nat hook prerouting priority dstnat; }}'
nft add rule ip redirected before tcp dport {PORTS[0]} redirect to :{PORTS[1]}
"""
_LINE = len(b"answered\n")


class Client:
    def __init__(self, connect):
        self._wire = connect(PORTS[0])
        self._number = 0

    def before(self):
        """The stream is under way all the time."""

    def after(self):
        self._wire.send(b"?")
        while (line := self._wire.take(_LINE)) != b"answered\n":
            if line != b"%08d\n" % self._number:
                return [f"the stream has {line!r}, expected number {self._number}"]
            self._number += 1
        return []
