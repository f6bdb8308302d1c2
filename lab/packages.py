"""Packages of Debian for nodes that run: a node itself has no way to the archives."""

import re
import subprocess
import urllib.request

from . import image, mirror
from .command import LabError


def install(lab, machine, package):
    """Install one PACKAGE of the node's own release, whose dependencies the node has."""
    path = fetch(package, lab.record["image"]["wish"]["release"])
    words = lab.ssh(machine, [f"cat >/root/{package}.deb && dpkg -i /root/{package}.deb"], silence=120)
    done = subprocess.run(words, input=path.read_bytes(), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode().strip()[-300:]
        raise LabError(f"The package {package} cannot be installed on {machine.node['name']}: {said}")


def fetch(package, release):
    """Return the path of the package's file for a Debian RELEASE, from the cache of images or the mirror."""
    folder = image.cache() / "packages"
    folder.mkdir(exist_ok=True)
    cached = sorted(folder.glob(f"{package}_{release}_*.deb"))
    if cached:
        return cached[-1]
    suite = mirror.suites(release)[0]
    for stanza in mirror.packages(suite, re.escape(package)):
        with urllib.request.urlopen(suite.url(stanza["Filename"]), timeout=120) as answer:
            content = answer.read()
        if len(content) != int(stanza["Size"]):
            raise LabError(f"{package} has {len(content)} bytes at {suite.uri}, expected {stanza['Size']}: try again.")
        path = folder / f"{package}_{release}_{stanza['Version'].replace(':', '%')}.deb"
        path.write_bytes(content)
        return path
    raise LabError(f"{suite.name} has no package {package}.")
