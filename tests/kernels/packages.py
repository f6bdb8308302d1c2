"""Every kernel package that the mirror serves: all of the cloud flavour, and the newest generic one of each series."""

import functools
import re
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass

from lab import kernels, mirror

# Where kernels are: (archive, suite), oldest release first. A release that is in several suites counts once.
SUITES = (
    *(("main", "bullseye"), ("security", "bullseye-security"), ("main", "bookworm"), ("security", "bookworm-security")),
    *(("main", "bookworm-backports"), ("main", "trixie"), ("security", "trixie-security")),
    *(("main", "trixie-backports"), ("main", "forky"), ("main", "sid"), ("main", "experimental")),
)
_PARTS = "|".join(kernels.PARTS)


def series(release):
    """Return the series of a kernel release: 6.12 of 6.12.118+deb13-cloud-amd64."""
    return re.match(r"\d+\.\d+", release)[0]


@dataclass(frozen=True)
class Package:
    """A package with an image in it; from 6.19 on that is linux-binary, before linux-image."""

    release: str
    version: str
    suite: mirror.Suite
    path: str
    #: Whether the mirror still has all its parts, so that it can be installed; this one has the image.
    is_whole: bool = True

    @property
    def series(self):
        return series(self.release)

    @property
    def is_cloud(self):
        return self.release.endswith("-cloud-amd64")


def _older_first(one, other):
    if one.version == other.version:
        return 0
    older = (
        subprocess.run(["dpkg", "--compare-versions", one.version, "lt", other.version], check=False).returncode == 0
    )
    return -1 if older else 1


def _listed():
    main, security = mirror.archives()
    found = {}
    for archive, name in SUITES:
        suite = mirror.Suite(main if archive == "main" else security, name)
        stanzas = {one["Package"]: one for one in mirror.packages(suite, rf"linux-(?:{_PARTS})-\d[^ \n]*-amd64")}
        for package, stanza in stanzas.items():
            match = re.fullmatch(r"linux-(?:image|binary)-(\d+\.\d+[^ ]*?-(?:cloud-)?amd64)", package)
            # An image package of a few kilobytes only depends on the one that has the image.
            if match and not re.search(r"-(rt|dbg|unsigned)", match[1]) and int(stanza["Size"]) > 1 << 20:
                whole = _is_whole(match[1], stanzas)
                found.setdefault(match[1], Package(match[1], stanza["Version"], suite, stanza["Filename"], whole))
    return sorted(found.values(), key=functools.cmp_to_key(_older_first))


def _is_whole(release, stanzas):
    image = stanzas.get(f"linux-image-{release}")
    return image is not None and stanzas.keys() >= set(kernels.parts_of(release, image))


def wanted():
    """All packages to try, oldest first."""
    listed = _listed()
    generic = {package.series: package for package in listed if not package.is_cloud}
    return [package for package in listed if package.is_cloud or package is generic[package.series]]


def download(package, folder):
    """Fetch all packages of the kernel of ``package`` that the mirror serves; return their paths in ``folder``.

    From 6.16 on a kernel is in several packages.
    """
    parts = rf"linux-(?:{_PARTS})-{re.escape(package.release)}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for stanza in mirror.packages(package.suite, parts):
        path = folder / stanza["Filename"].rpartition("/")[2]
        new = path.with_suffix(".new")
        urllib.request.urlretrieve(package.suite.url(stanza["Filename"]), new)
        new.rename(path)
        paths.append(path)
    return paths


def place(release, cache):
    """Where the image of a kernel release is kept."""
    return cache / f"vmlinuz-{release}"


def image(package, cache):
    """Path of the package's kernel image in ``cache``, downloaded if it is not there; None if the mirror has lost it."""
    target = place(package.release, cache)
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    deb = cache / "package.deb"
    try:
        urllib.request.urlretrieve(package.suite.url(package.path), deb)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise
    new = cache / "image.new"
    with new.open("wb") as stream:
        unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE)
        # In /boot, and from 7.2 on in /usr/lib/modules.
        subprocess.run(
            ["tar", "--extract", "--to-stdout", "--wildcards", "*/vmlinuz*"],
            stdin=unpack.stdout,
            stdout=stream,
            check=True,
        )
        unpack.stdout.close()
        if unpack.wait():
            raise OSError(f"{deb} cannot be unpacked.")
    deb.unlink()
    new.rename(target)
    return target
