"""What caches of the tests ask: a service of the node that is not carried, and whose answers are never the same twice."""

HTTP, DNS = 8099, 5399
_PROGRAM = f"""
import http.server
import os
import socketserver
import threading


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (self.path + ' ' + os.urandom(16).hex()).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Cache-Control', 'public, max-age=86400')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Names(socketserver.BaseRequestHandler):
    # RFC 1035: the header, the question as it came, and a text for its name.
    def handle(self):
        data, link = self.request
        end = 12
        while data[end]:
            end += 1 + data[end]
        text = os.urandom(16).hex().encode()
        record = b'\\xc0\\x0c' + bytes([0, 16, 0, 1]) + (86400).to_bytes(4, 'big') + bytes([0, len(text) + 1, len(text)]) + text
        link.sendto(data[:2] + b'\\x85\\x80' + bytes([0, 1, 0, 1, 0, 0, 0, 0]) + data[12 : end + 5] + record, self.client_address)


threading.Thread(target=socketserver.UDPServer(('127.0.0.1', {DNS}), Names).serve_forever).start()
http.server.ThreadingHTTPServer(('127.0.0.1', {HTTP}), Pages).serve_forever()
"""
FILES = {
    "/usr/local/lib/origin.py": _PROGRAM,
    "/etc/systemd/system/origin.service": (
        "[Service]\nUser=daemon\nExecStart=/usr/bin/python3 /usr/local/lib/origin.py\n[Install]\nWantedBy=multi-user.target\n"
    ),
}
SETUP = "systemctl daemon-reload; systemctl enable -q --now origin.service\n"
