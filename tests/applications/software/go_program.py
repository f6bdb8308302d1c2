"""A program in Go that is built today: values in its memory, half a line on an open connection"""

from tests.applications.wire import values

UNITS = ("go-program.service",)
PORTS = (8096,)
PACKAGES = ("golang-go",)
# Of a module that says `go 1.24`, each listener is one of MPTCP.
FILES = {
    "/usr/local/src/go-program/go.mod": "module program\n\ngo 1.24\n",
    "/usr/local/src/go-program/main.go": f"""package main

import (
    "bufio"
    "net"
    "strings"
    "sync"
)

var memory sync.Map

func serve(link net.Conn) {{
    lines := bufio.NewScanner(link)
    for lines.Scan() {{
        key, value, is := strings.Cut(lines.Text(), "=")
        if is {{
            memory.Store(key, value)
        }}
        found, _ := memory.LoadOrStore(key, "")
        link.Write([]byte(found.(string) + "\\n"))
    }}
}}

func main() {{
    listener, err := net.Listen("tcp", ":{PORTS[0]}")
    for err == nil {{
        var link net.Conn
        if link, err = listener.Accept(); err == nil {{
            go serve(link)
        }}
    }}
    panic(err)
}}
""",
    "/etc/systemd/system/go-program.service": (
        "[Service]\nDynamicUser=yes\nExecStart=/usr/local/bin/go-program\n[Install]\nWantedBy=multi-user.target\n"
    ),
}
SETUP = """
cd /usr/local/src/go-program
HOME=/root GOFLAGS=-buildvcs=false CGO_ENABLED=0 go build -o /usr/local/bin/go-program .
"""


class Client:
    def __init__(self, connect):
        self._first, self._second = connect(PORTS[0]), connect(PORTS[0])
        self._pairs = values(b"go", 500)
        for key, value in self._pairs:
            self._ask(self._first, key + b"=" + value)

    @staticmethod
    def _ask(wire, line):
        wire.send(line + b"\n")
        return wire.line()

    def before(self):
        self._ask(self._second, self._pairs[1][0])
        self._second.send(self._pairs[1][0][:2])

    def after(self):
        wrong = [key for key, value in self._pairs if self._ask(self._first, key) != value]
        found = self._ask(self._second, self._pairs[1][0][2:])
        return [f"{len(wrong)} of {len(self._pairs)} values are not what they were"] * bool(wrong) + [
            f"the divided line was answered {found!r}"
        ] * (found != self._pairs[1][1])
