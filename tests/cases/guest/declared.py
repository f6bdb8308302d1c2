"""The declared cases: a file below units/ each, imported on this machine and on nodes.

The docstring of such a file says in one line what the application has. Its other names, all of them optional:

    SERVICE     lines of the unit's section [Service]
    FILES       {path: text}, written before the unit starts
    SETUP       shell, run after that; AFTER: shell, run when the unit has started
    INSTANCE    the unit is an instance of a template, of this name
    PACKAGES    Debian packages that the node needs for it
    PROGRAM     the command, where it is not the shared one; {command} is the shared one
    WAYS        update, fallback, panic (default: update and fallback)
    MUST        {key: value}: what is observed before; otherwise the case is void
    REFUSAL     regular expression: a refusal that matches it is as good as a right result
    UNSEEN      True: CRIU cannot dump it either, so the rehearsal refuses it where preflight does not see it
    FRESH       True: a fresh start is right where the record says so
    ALONE       True: not in an update with others
    FORBIDDEN   port that a client outside the node never gets an answer from
    program()   begins what the case is about; returns a function that returns what the application observes, a dict
    look()      what others on the node observe of it, a dict
    peer()      another program, which is not carried; its unit starts before
    CARRIED     True: its peer's unit is carried as well

A result is right if the same process answers, and everything that is observed equals what was observed before.
"""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Beside this file on a node, above it in the tree.
UNITS = next(path for path in (HERE / "units", HERE.parent / "units") if path.is_dir())
PORT = 5200
THERE = "/usr/local/lib/kup-cases"
DEFAULTS = {
    "SERVICE": "", "FILES": {}, "SETUP": "", "AFTER": "", "INSTANCE": "", "PACKAGES": (), "PROGRAM": "{command}",
    "WAYS": ("update", "fallback"), "MUST": {}, "REFUSAL": "", "UNSEEN": False, "FRESH": False, "ALONE": False, "FORBIDDEN": 0,
    "look": dict, "peer": None, "CARRIED": False,
}  # fmt: skip


def names():
    return sorted(path.stem.replace("_", "-") for path in UNITS.glob("*.py"))


class Case:
    """A declared case, by its name."""

    def __init__(self, name):
        if str(HERE) not in sys.path:
            sys.path.insert(0, str(HERE))
        path = UNITS / f"{name.replace('-', '_')}.py"
        spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.name = name
        self.says = module.__doc__.strip()
        self.port = PORT + names().index(name)
        self.program = module.program
        self.__dict__.update({key: getattr(module, key, default) for key, default in DEFAULTS.items()})

    @property
    def unit(self):
        return f"case-{self.name}@{self.INSTANCE}.service" if self.INSTANCE else f"case-{self.name}.service"

    @property
    def peer_unit(self):
        return f"peer-{self.name}.service"

    @property
    def units(self):
        """All that are carried."""
        return [self.unit, self.peer_unit] if self.CARRIED else [self.unit]

    def command(self, role="program"):
        return f"/usr/bin/python3 -B {THERE}/run.py {self.name} {role}"

    def unit_file(self):
        program = self.PROGRAM.format(command=self.command())
        after = f"Wants={self.peer_unit}\nAfter={self.peer_unit}\n" if self.peer else ""
        return (
            f"[Unit]\nDescription={self.says}\n{after}[Service]\nExecStart={program}\n{self.SERVICE.strip()}\n"
            "[Install]\nWantedBy=multi-user.target\n"
        )

    def peer_file(self):
        return f"[Service]\nExecStart={self.command('peer')}\n[Install]\nWantedBy=multi-user.target\n"

    def observe(self, answer):
        """Return ANSWER with what others observe."""
        return {**answer, **self.look()}
