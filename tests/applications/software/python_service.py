"""A service in Python with its state in memory, and a pid above 32767"""

from tests.applications import http
from tests.applications.wire import values

UNITS = ("remembering.service",)
PORTS = (8081,)
PACKAGES = ("python3",)
RELEASES = {"12": "", "13": ""}
PID = 123458
FILES = {
    "/usr/local/lib/remembering.py": """
import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    memory = {}

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.memory[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(204)

    def do_GET(self):
        self.answer(200 if self.path in self.memory else 404, self.memory.get(self.path, b""))

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("", 8081), Handler).serve_forever()
""",
    "/etc/systemd/system/remembering.service": (
        "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/usr/bin/python3 /usr/local/lib/remembering.py\nUser=daemon\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
}


def Client(connect):
    return http.Remembering(connect, PORTS[0], values(b"python", 500))
