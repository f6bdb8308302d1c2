"""A service in JavaScript with its state in memory"""

from tests.applications import http
from tests.applications.wire import values

UNITS = ("remembering-node.service",)
PORTS = (8086,)
PACKAGES = ("nodejs",)
FILES = {
    "/usr/local/lib/remembering.js": """
const memory = new Map();

require('http').createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => {
    if (request.method === 'PUT') {
      memory.set(request.url, Buffer.concat(parts));
      response.writeHead(204).end();
    } else {
      const body = memory.get(request.url) ?? Buffer.alloc(0);
      response.writeHead(memory.has(request.url) ? 200 : 404, { 'Content-Length': body.length }).end(body);
    }
  });
}).listen(8086, '0.0.0.0');
""",
    "/etc/systemd/system/remembering-node.service": (
        "[Service]\nUser=daemon\nExecStart=/usr/bin/node /usr/local/lib/remembering.js\n[Install]\nWantedBy=multi-user.target\n"
    ),
}


def Client(connect):
    return http.Remembering(connect, PORTS[0], values(b"node", 500))
