"""Which faults are injected into updates: engine, point, and what happens there. A new kind acts in guest/fault.sh; judge.py judges it."""

from dataclasses import dataclass, replace

from tests.faults import victim

ENGINES = ("criu", "foam", "ppp", "ppp+foam")

# Points at which a fault can strike, in the order in which an update comes by them; see fault.sh.
OLD_KERNEL = ("checkpointing", "freeze", "dumped", "planned")
NEW_KERNEL = ("early", "attached", "restoring", "pending", "probation")
POINTS = (*OLD_KERNEL, "boot", *NEW_KERNEL)
# systemd's ordering of the unit that strikes; the others look for their moment by themselves.
ORDER = {
    "early": "DefaultDependencies=no\nBefore=kup-early.service",
    "attached": "DefaultDependencies=no\nAfter=kup-early.service\nBefore=kup-paged-patterns.service patterns.service",
}
# Seconds after the point, at random up to so many.
SPREAD = {"checkpointing": 1.0, "boot": 2.0, "restoring": 1.0, "pending": 0.3, "probation": 1.0}

# What can be killed by its name, and where it runs.
KILLED = {
    "criu": ("freeze", "dumped", "restoring"),
    "paged": ("checkpointing", "freeze", "restoring", "pending"),
    "systemd-journal": ("freeze", "restoring", "probation"),
}
# The collection's own programs, by their command lines.
KILLED_LINES = {
    "kup._update.cli": OLD_KERNEL,
    "kup/boot/early": ("early",),
    "kup/boot/restore-unit": ("restoring",),
    "kup/boot/restore-done": ("pending",),
}
# What the kernel is told so that it does not come to user space.
COMMAND_LINES = ("root=/dev/none", "init=/bin/false")
# After these the node is not what an update needs.
SPOILING = ("package",)


@dataclass(frozen=True)
class Case:
    engine: str
    point: str
    fault: str
    word: str = ""
    #: The application that is carried beside patterns.service, if any.
    victim: str = ""

    @property
    def name(self):
        return " ".join(filter(None, (self.victim, self.engine, self.point, self.fault, self.word)))

    def as_dict(self):
        fault = f"{self.fault} {self.word}".strip()
        return {"case": self.name, "victim": self.victim, "engine": self.engine, "point": self.point, "fault": fault}


def _of(engine):
    for point in NEW_KERNEL:
        yield Case(engine, point, "panic")
    for point in POINTS:
        yield Case(engine, point, "cut")
    for words in COMMAND_LINES:
        yield Case(engine, "boot", "word", words)
    yield from _of_killed_programs(engine)
    yield from _of_disks(engine)
    for step in ("-1 year", "+1 year"):
        yield Case(engine, "early", "clock", step)
    yield Case(engine, "probation", "network", "120")
    yield Case(engine, "probation", "check")
    yield Case(engine, "probation", "crash")
    # The watchdog's driver is a module: systemd has nothing to feed any earlier.
    yield Case(engine, "probation", "hang")
    yield Case(engine, "checkpointing", "second")
    yield Case(engine, "checkpointing", "package", "OLD")


def _of_killed_programs(engine):
    for line, points in KILLED_LINES.items():
        for point in points:
            yield Case(engine, point, "kill-line", line)
    for program, points in KILLED.items():
        # The page daemon has no part in CRIU's own images.
        if (engine, program) != ("criu", "paged"):
            for point in points:
                yield Case(engine, point, "kill", program)


def _of_disks(engine):
    for point in ("checkpointing", "freeze", "attached", "probation"):
        yield Case(engine, point, "full")
    for point in ("checkpointing", "attached", "probation"):
        yield Case(engine, point, "readonly")
    for kind in ("image", "page", "record"):
        if engine in ("criu", "foam") or kind != "page":
            yield Case(engine, "attached", "flip", kind)
    yield Case(engine, "early", "flip", "plan")
    if engine.startswith("ppp"):
        yield Case(engine, "early", "flip", "table")


def cases():
    """All of them, in a fixed order."""
    alone = [case for engine in ENGINES for case in _of(engine)]
    return [replace(case, victim=name) for name in ("", *victim.NAMES) for case in alone]
