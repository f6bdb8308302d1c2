"""A web application in Python under gunicorn, with its state in the memory of a worker process"""

from tests.applications import http
from tests.applications.wire import values

UNITS = ("remembering-gunicorn.service",)
PORTS = (8087,)
PACKAGES = ("gunicorn",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/usr/local/lib/web/remembering_wsgi.py": """
memory = {}


def application(environ, start_response):
    path = environ['PATH_INFO']
    if environ['REQUEST_METHOD'] == 'PUT':
        memory[path] = environ['wsgi.input'].read()
        start_response('204 No Content', [])
        return []
    body = memory.get(path, b'')
    start_response('200 OK' if path in memory else '404 Not Found', [('Content-Length', str(len(body)))])
    return [body]
""",
    "/etc/systemd/system/remembering-gunicorn.service": (
        "[Service]\nType=notify\nUser=www-data\nWorkingDirectory=/usr/local/lib/web\n"
        "ExecStart=/usr/bin/gunicorn --bind 0.0.0.0:8087 --worker-class gthread --threads 4 --keep-alive 86400 remembering_wsgi\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
}


def Client(connect):
    return http.Remembering(connect, PORTS[0], values(b"gunicorn", 500))
