"""A server that closes each connection behind its answer, and clients that come and go all the time, also right at the freeze"""

import threading

UNITS = ("short-answers.service",)
PORTS = (8097,)
PACKAGES = ("python3",)
_SIZE, _CLIENTS = 262144, 4
FILES = {
    "/usr/local/lib/short-answers.py": f"""
import socketserver


class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline()
        self.wfile.write(line * ({_SIZE} // len(line)))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


Server(('', {PORTS[0]}), Answer).serve_forever()
""",
    "/etc/systemd/system/short-answers.service": (
        "[Service]\nUser=daemon\nExecStart=/usr/bin/python3 /usr/local/lib/short-answers.py\n[Install]\nWantedBy=multi-user.target\n"
    ),
}
# A process has a thread for each connection.
WORKS = r"Threads|fd \d+"


class Client:
    def __init__(self, connect):
        self._connect = connect
        self._stop, self._threads = threading.Event(), []
        self._answers, self._wrong = 0, []
        self._ask(0)

    def _ask(self, number):
        line = b"client %04d of the answers\n" % number
        try:
            wire = self._connect(PORTS[0])
        except TimeoutError:  # it did not come in
            return
        try:
            wire.send(line)
            found = wire.take(_SIZE // len(line) * len(line))
        finally:
            wire.close()
        if found != line * (_SIZE // len(line)):
            self._wrong.append(f"an answer of {len(found)} bytes is not what was asked for")
        self._answers += 1

    def _work(self, number):
        while not self._stop.is_set():
            try:
                self._ask(number)
            except OSError as error:
                self._wrong.append(f"after {self._answers} answers: {error}")

    def before(self):
        self._stop.clear()
        self._wrong.clear()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(_CLIENTS)]
        for thread in self._threads:
            thread.start()

    def after(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._ask(0)
        return list(self._wrong)
