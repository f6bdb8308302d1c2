"""A balancer: a table of what was asked how often, a state and a word that it was told while it ran, half a request"""

from tests.applications import http, origin

UNITS = ("haproxy.service",)
PORTS = (8094, 8095)
PACKAGES = ("haproxy",)
# It uses cmpxchg16b without asking whether the processor has it. lab/vm.py says why the kernel must not.
LAB = {"KUP_LAB_CPU": "max,-erms,-smap", "KUP_LAB_CMDLINE": "clearcpuid=cx16"}
FILES = {**origin.FILES, "/etc/haproxy/words.map": "first one\n"}
SETUP = f"""{origin.SETUP}
sed -i -e '/^frontend pages$/,$d' -e '/^\\tstats socket ipv4@/d' -e 's/^global$/&\\n\\tstats socket ipv4@0.0.0.0:{PORTS[1]} level admin/' \
    -e 's/\\(timeout client *\\).*/\\11d\\n\\ttimeout http-keep-alive 1d/' /etc/haproxy/haproxy.cfg
cat >>/etc/haproxy/haproxy.cfg <<'END'
frontend pages
    bind :{PORTS[0]}
    stick-table type string len 32 size 1k expire 1d store http_req_cnt
    http-request track-sc0 path
    http-request return status 200 content-type text/plain lf-string "%[str(second),map(/etc/haproxy/words.map,none)]" if {{ path /word }}
    default_backend origins
backend origins
    # The server is not carried: an idle connection to it would end.
    option http-server-close
    server one 127.0.0.1:{origin.HTTP}
    server other 127.0.0.1:{origin.HTTP}
END
"""
_ASKED = 5


class Client:
    def __init__(self, connect):
        self._connect = connect
        self._first, self._second = connect(PORTS[0]), connect(PORTS[0])
        for path in ("/one", "/other"):
            for _number in range(_ASKED):
                self._page(path)
        self._command("set server origins/other state drain")
        self._command("add map /etc/haproxy/words.map second two")

    def _command(self, words):
        """Return the lines that answer a command; the connection ends with them."""
        wire = self._connect(PORTS[1])
        wire.send(words.encode() + b"\n")
        lines = []
        while line := wire.line():
            lines.append(line.decode())
        wire.close()
        return lines

    def _page(self, path):
        status, body = http.ask(self._first, path)
        if status != 200 or path != "/word" and not body.startswith(path.encode()):
            raise ValueError(f"{path} was answered {status} {body!r}")
        return body

    def _known(self):
        """Return what it remembers: how often each path was asked for, the state of the second server, the word."""
        asked = {}
        for line in self._command("show table pages")[1:]:
            words = dict(word.split("=", 1) for word in line.split() if "=" in word)
            asked[words["key"]] = words["http_req_cnt"]
        states = [line.split() for line in self._command("show servers state origins") if " other " in line]
        # Of the columns, the sixth and the seventh: https://docs.haproxy.org/3.0/management.html#9.3
        return asked, states[0][5:7], self._command("get map /etc/haproxy/words.map second")

    def before(self):
        self._was = self._known()
        self._second.send(b"GET /one HTTP/1.1\r\nHo")

    def after(self):
        found = self._known()
        wrong = [f"what it knows is {found!r}, was {self._was!r}"] * (found != self._was)
        self._second.send(b"st: node\r\n\r\n")
        status, body = http.answer(self._second)
        wrong += [f"the divided request was answered {status} {body!r}"] * (not body.startswith(b"/one"))
        self._page("/other")
        return wrong + [f"the word is {word!r}" for word in {self._page("/word")} - {b"two"}]
