"""PHP as a service of its own"""

UNITS = ("php8.4-fpm.service",)
PORTS = ()
PACKAGES = ("php-fpm", "php8.4-fpm")


class Client:
    """Nobody asks it: its processes are compared."""

    def __init__(self, _connect):
        pass

    def before(self):
        pass

    def after(self):
        return []
