"""The declared applications: a file below software/ each.

The docstring of such a file says in one line what the application has in memory. Its other names; the last six are optional:

    UNITS       its units, all of which are carried
    PORTS       those that its clients use
    PACKAGES    Debian packages that bring it; the version of the last one is noted
    Client      Client(connect) loads it, through what connect(port, datagrams=False) makes and stays open; before() is called before each
                update, after() returns after it what is not as it was: sentences. An OSError is a lost connection
    FILES       {path: text} on the node, and SETUP: shell, before the units start; AFTER: shell, when they are active
    DATA        a directory that is put on a disk of its own
    PID         pid of the first unit's main process
    WORKS       regular expression for processes that come and go, and for what they open and close, by the application's own work
"""

import importlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent / "software"
DEFAULTS = {"FILES": {}, "SETUP": "", "AFTER": "", "DATA": "", "PID": 0, "WORKS": ""}


def names():
    return sorted(path.stem.replace("_", "-") for path in HERE.glob("*.py"))


class Application:
    """A declared application, by its name."""

    def __init__(self, name):
        module = importlib.import_module(f"tests.applications.software.{name.replace('-', '_')}")
        self.name = name
        self.says = module.__doc__.strip()
        self.UNITS, self.PORTS, self.PACKAGES, self.Client = module.UNITS, module.PORTS, module.PACKAGES, module.Client
        self.__dict__.update({key: getattr(module, key, default) for key, default in DEFAULTS.items()})


def packages():
    """Return the packages of all applications: one image has them all."""
    return sorted({package for name in names() for package in Application(name).PACKAGES})
