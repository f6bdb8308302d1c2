"""The fuzz targets of the nodes' C programs, as their Makefiles name them."""

import re
import typing

from lab.paths import REPO


class Target(typing.NamedTuple):
    """A fuzz target NAME of the PROGRAM in files/."""

    program: str
    name: str

    def __str__(self):
        return f"{self.program} {self.name}"

    @property
    def binary(self):
        return REPO / "build" / self.program / f"fuzz_{self.name}"

    @property
    def log(self):
        return REPO / "build" / self.program / f"fuzz_{self.name}.log"


def targets():
    """Return all fuzz targets, by the names of their programs."""
    return [
        Target(makefile.parent.name, name)
        for makefile in sorted((REPO / "files").glob("*/Makefile"))
        for names in re.findall(r"^FUZZ_TARGETS := (.*)$", makefile.read_text(encoding="utf-8"), re.MULTILINE)
        for name in names.split()
    ]
