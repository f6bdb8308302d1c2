"""The declared applications: a file below software/ each.

The docstring of such a file says in one line what the application has in memory. Its other names; the last eight are optional:

    UNITS       its units, all of which are carried
    PORTS       those that its clients use
    PACKAGES    Debian packages that bring it; the version of the last one is noted
    Client      Client(connect) loads it, through what connect(port, datagrams=False) makes and stays open; before() is called before each
                update, after() returns after it what is not as it was: sentences. An OSError is a lost connection
    FILES       {path: text} on the node, and SETUP: shell, before the units start; AFTER: shell, when they are active
    DATA        a directory that is put on a disk of its own
    PID         pid of the first unit's main process
    WORKS       regular expression for processes that come and go, and for what they open and close, by the application's own work
    LAB         variables of the lab whose machine it needs (lab/README.md); such an application is tried only where it is named
    RELEASES    {Debian release on which it is tried: what @VERSION@ stands for in UNITS, PACKAGES, FILES, SETUP and AFTER}; without it,
                it is tried on Debian 13
"""

import importlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent / "software"
#: The Debian release of the nodes, unless the command line says otherwise.
RELEASE = "13"
DEFAULTS = {
    "FILES": {},
    "SETUP": "",
    "AFTER": "",
    "DATA": "",
    "PID": 0,
    "WORKS": "",
    "LAB": {},
    "RELEASES": {RELEASE: ""},
}
_VERSION = "@VERSION@"


def names(release=None):
    """Return the names of the applications: all, or those that are tried on a Debian RELEASE."""
    known = sorted(path.stem.replace("_", "-") for path in HERE.glob("*.py"))
    return known if release is None else [name for name in known if release in Application(name).RELEASES]


class Application:
    """A declared application, by its name, as a Debian RELEASE has it."""

    def __init__(self, name, release=RELEASE):
        module = importlib.import_module(f"tests.applications.software.{name.replace('-', '_')}")
        self.name = name
        self.says = module.__doc__.strip()
        self.PORTS, self.Client = module.PORTS, module.Client
        self.__dict__.update({key: getattr(module, key, default) for key, default in DEFAULTS.items()})
        version = self.RELEASES.get(release, "")
        self.UNITS = tuple(unit.replace(_VERSION, version) for unit in module.UNITS)
        self.PACKAGES = tuple(package.replace(_VERSION, version) for package in module.PACKAGES)
        self.FILES = {
            path.replace(_VERSION, version): text.replace(_VERSION, version) for path, text in self.FILES.items()
        }
        self.SETUP, self.AFTER = self.SETUP.replace(_VERSION, version), self.AFTER.replace(_VERSION, version)


def packages(applications):
    """Return the packages of APPLICATIONS."""
    return sorted({package for one in applications for package in one.PACKAGES})
