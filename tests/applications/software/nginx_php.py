"""A web server and PHP, each a service: between them a unix connection with a request in the middle, which the script has read half of"""

import hashlib

from tests.applications import http

UNITS = ("web-of-php.service", "php-of-web.service")
PORTS = (8090,)
PACKAGES = ("nginx", "php-fpm", "php@VERSION@-fpm")
RELEASES = {"12": "8.2", "13": "8.4"}
HALF = 65536  # bytes, whole blocks of what PHP reads at once
PLACE = "/run/php-of-web/socket"
WEB = """[Unit]
After=network.target
[Service]
Type=forking
PIDFile=/run/web-of-php.pid
ExecStart=/usr/sbin/nginx -c /etc/nginx/of-php.conf
"""
PHP = """[Service]
Type=notify
RuntimeDirectory=php-of-web
ExecStart=/usr/sbin/php-fpm@VERSION@ --nodaemonize -d opcache.jit_buffer_size=0 --fpm-config /etc/php/of-web.conf
"""
FILES = {
    "/etc/systemd/system/web-of-php.service": WEB,
    "/etc/systemd/system/php-of-web.service": PHP,
    "/etc/nginx/of-php.conf": """user www-data;
pid /run/web-of-php.pid;
events {}
http {
    keepalive_timeout 3600s;
    client_body_timeout 3600s;
    send_timeout 3600s;
    server {
        listen PORT;
        location / {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME /usr/local/lib/of-web.php;
            fastcgi_pass unix:PLACE;
            fastcgi_buffering off;
            fastcgi_request_buffering off;
            fastcgi_read_timeout 3600s;
            fastcgi_send_timeout 3600s;
        }
    }
}
""".replace("PORT", str(PORTS[0])).replace("PLACE", PLACE),
    "/etc/php/of-web.conf": f"""[global]
error_log = syslog
[web]
user = www-data
group = www-data
listen = {PLACE}
listen.owner = www-data
pm = static
pm.max_children = 2
php_admin_value[output_buffering] = Off
""",
    "/usr/local/lib/of-web.php": """<?php
$input = fopen('php://input', 'rb');
$first = '';
while (strlen($first) < HALF) $first .= fread($input, HALF - strlen($first));
echo getmypid(), "\\n";
flush();
$second = stream_get_contents($input);
echo md5($first . $second), "\\n";
""".replace("HALF", str(HALF)),
}
SETUP = "systemctl daemon-reload"


class Client:
    def __init__(self, connect):
        self._wire, self._data = connect(PORTS[0]), bytes(number % 251 for number in range(2 * HALF))
        self._pid = b""

    def before(self):
        head = f"PUT / HTTP/1.1\r\nHost: node\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(self._data)}\r\n\r\n"
        self._wire.send(head.encode() + self._data[:HALF])
        http.head(self._wire)
        self._pid = http.chunk(self._wire)

    def after(self):
        self._wire.send(self._data[HALF:])
        found = b"".join(iter(lambda: http.chunk(self._wire), b""))
        expected = hashlib.md5(self._data).hexdigest().encode() + b"\n"
        if found == expected and self._pid.strip().isdigit():
            return []
        return [f"a divided request was answered {self._pid + found!r}, expected a pid and {expected!r}"]
