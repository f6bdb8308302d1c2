"""PHP as a service of its own"""

UNITS = ("php8.4-fpm.service",)
PORTS = ()
PACKAGES = ("php-fpm", "php8.4-fpm")
# Preflight refuses the JIT's buffer.
FILES = {"/etc/php/8.4/fpm/conf.d/99-node.ini": "opcache.jit_buffer_size=0\n"}


class Client:
    """Nobody asks it: its processes are compared."""

    def __init__(self, _connect):
        pass

    def before(self):
        pass

    def after(self):
        return []
