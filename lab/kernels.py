"""Find installable kernels by series: '6.12' is the newest 6.12, '6.12-1' the newest but one; '6.12-generic' is the one for hardware."""

import functools
import re
import subprocess
from dataclasses import dataclass

from . import mirror
from .command import LabError

# Debian's cloud flavour has ext4 and NVMe built in, so a node needs no initramfs to find its root.
FLAVOUR = "cloud-amd64"
# Debian's flavour for hardware: all drivers are modules.
GENERIC = "generic"
# From 6.16 on the image package is empty and depends on these parts.
PARTS = ("image", "binary", "base", "modules")


@dataclass(frozen=True)
class Kernel:
    """A kernel whose packages the mirror serves completely."""

    release: str  # as uname -r says it, e.g. 6.12.9+deb13-cloud-amd64
    version: str  # of the package
    suite: mirror.Suite

    @property
    def package(self):
        return f"linux-image-{self.release}"


def _older_first(one, other):
    """Compare two package versions as dpkg does: -1, 0 or 1."""
    for relation, sign in (("lt", -1), ("gt", 1)):
        if not subprocess.run(
            ["dpkg", "--compare-versions", one.version, relation, other.version], check=False
        ).returncode:
            return sign
    return 0


def parts_of(release, stanza):
    """Return the packages with the parts of the kernel RELEASE on which its image package depends, as the STANZA of that says."""
    depends = stanza.get("Depends", "") + " "
    return [name for name in (f"linux-{part}-{release}" for part in PARTS[1:]) if f"{name} " in depends]


def _listed(suite, series, flavour):
    """Return {kernel: its pool files} for the images of this series and FLAVOUR that SUITE lists with all their parts."""
    name = rf"linux-(?:{'|'.join(PARTS)})-{re.escape(series)}[.-][^ \n]*{FLAVOUR}"
    if flavour == GENERIC:
        name = rf"linux-(?:{'|'.join(PARTS)})-{re.escape(series)}(?:\.[^ \n-]*|\.0-\d+)-amd64"
    stanzas = {stanza["Package"]: stanza for stanza in mirror.packages(suite, name)}
    found = {}
    for package, stanza in stanzas.items():
        if not package.startswith("linux-image-"):
            continue
        release = package.removeprefix("linux-image-")
        parts = parts_of(release, stanza)
        if re.match(r"\d+\.\d+\.\d", release) and all(part in stanzas for part in parts):
            found[Kernel(release, stanza["Version"], suite)] = [stanzas[part]["Filename"] for part in [package, *parts]]
    return found


def resolve(series, release):
    """Return the kernel that SERIES ('6.12', '6.12-1') means on Debian RELEASE."""
    match = re.fullmatch(rf"(\d+\.\d+)(?:-(\d))?(?:-({GENERIC}))?", series)
    if not match:
        raise LabError(
            f"The kernel series '{series}' is malformed: expected the form 6.12 (newest) or 6.12-1 (newest but one)."
        )
    skip = int(match[2] or 0)
    listed = {}
    for family in (mirror.suites(release), mirror.other_suites(release)):
        for suite in family:
            listed |= _listed(suite, match[1], match[3])
        if listed:
            break
    newest_first = sorted(listed, key=functools.cmp_to_key(_older_first), reverse=True)
    seen = set()
    for kernel in newest_first:
        if kernel.release in seen or not all(mirror.has_file(kernel.suite, path) for path in listed[kernel]):
            continue
        if len(seen) == skip:
            return kernel
        seen.add(kernel.release)
    raise LabError(f"No kernel {series} for Debian {release} can be downloaded from the mirror: choose another series.")
