"""A web application in Ruby under puma, with its state in memory"""

from tests.applications import http
from tests.applications.wire import values

UNITS = ("remembering-puma.service",)
PORTS = (8088,)
PACKAGES = ("puma",)
FILES = {
    "/usr/local/lib/web/remembering.ru": """
memory = {}
run(lambda do |env|
  path = env['PATH_INFO']
  if env['REQUEST_METHOD'] == 'PUT'
    memory[path] = env['rack.input'].read
    [204, {}, []]
  else
    body = memory.fetch(path, '')
    [memory.key?(path) ? 200 : 404, { 'content-length' => body.bytesize.to_s }, [body]]
  end
end)
""",
    "/usr/local/lib/web/puma.rb": (
        "bind 'tcp://0.0.0.0:8088'\nthreads 2, 4\npersistent_timeout 86400\nfirst_data_timeout 86400\n"
        "rackup '/usr/local/lib/web/remembering.ru'\n"
    ),
    "/etc/systemd/system/remembering-puma.service": (
        "[Service]\nUser=www-data\nExecStart=/usr/bin/puma -C /usr/local/lib/web/puma.rb\n[Install]\nWantedBy=multi-user.target\n"
    ),
}


def Client(connect):
    return http.Remembering(connect, PORTS[0], values(b"puma", 500))
