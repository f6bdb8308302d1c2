"""The Debian archives: the machine's own apt sources, or KUP_LAB_MIRROR."""

import lzma
import os
import pathlib
import re
import urllib.error
import urllib.request
from dataclasses import dataclass

from .command import LabError

CODENAMES = {"12": "bookworm", "13": "trixie", "forky": "forky"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Suite:
    """One suite of an archive, e.g. trixie-backports."""

    uri: str
    name: str

    @property
    def source_line(self):
        """The line for sources.list; testing's Release file may be older than it promises, so its date is not checked."""
        stale = " check-valid-until=no" if self.name in ("forky", "sid") else ""
        return f"deb [signed-by={KEYRING}{stale}] {self.uri} {self.name} main"

    def url(self, path):
        return f"{self.uri}/{path}"


def _deb822(text):
    """Yield (uris, suites) of each enabled binary entry of a .sources file."""
    for stanza in re.split(r"\n\s*\n", re.sub(r"^#.*\n?", "", text, flags=re.M)):
        fields = dict(re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.M))
        if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes").strip() != "no":
            yield fields.get("URIs", "").split(), fields.get("Suites", "").split()


def _one_line(text):
    """Yield (uris, suites) of each `deb` line of a .list file."""
    for match in re.finditer(r"^\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)", text, re.M):
        yield [match[1]], [match[2]]


def _machine_sources(etc_apt):
    """Yield (uri, suite) for everything that the machine's apt knows."""
    for path in [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*"))]:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        parse = _deb822 if path.suffix == ".sources" else _one_line
        for uris, suites in parse(path.read_text(encoding="utf-8")):
            yield from ((uri.rstrip("/"), suite) for uri in uris for suite in suites)


def _codename():
    match = re.search(r"^VERSION_CODENAME=(\S+)", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    return match[1] if match else "stable"


def archives(etc_apt=pathlib.Path("/etc/apt")):
    """Return (main archive URI, security archive URI)."""
    main = os.environ.get("KUP_LAB_MIRROR", "").rstrip("/")
    security = os.environ.get("KUP_LAB_MIRROR_SECURITY", "").rstrip("/")
    if not main:
        own = _codename()
        for uri, suite in _machine_sources(etc_apt):
            if suite == own:
                main = main or uri
            elif suite in (f"{own}-security", f"{own}/updates"):
                security = security or uri
    if not main:
        raise LabError(
            f"No Debian archive for {_codename()} is in the sources of {etc_apt}: set KUP_LAB_MIRROR to one's URI."
        )
    return main, security or f"{main}-security"


def suites(release):
    """Return the suites that a machine of this release uses, in the order in which they are preferred."""
    main, security = archives()
    code = CODENAMES[release]
    if release == "forky":
        return [Suite(main, code)]
    return [Suite(main, code), Suite(security, f"{code}-security"), Suite(main, f"{code}-backports")]


def other_suites(release):
    """Return the suites of other releases for kernels that the release's own suites lack."""
    return {"12": [], "13": suites("forky"), "forky": suites("13")}[release]


def next_suite(release):
    """Return the suite from which `--criu next` takes CRIU."""
    if release != "13":
        raise LabError(f"CRIU from the next release fits Debian 13 only, not {release}: use --criu release.")
    return suites("forky")[0]


def packages(suite, wanted):
    """Yield the stanzas (dicts) of SUITE's index whose package name matches the regular expression WANTED."""
    url = suite.url(f"dists/{suite.name}/main/binary-amd64/Packages.xz")
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            text = lzma.decompress(answer.read()).decode()
    except (OSError, lzma.LZMAError) as error:
        raise LabError(
            f"The package index of {suite.name} cannot be read ({error}): check the mirror or set KUP_LAB_MIRROR."
        ) from error
    for match in re.finditer(rf"^Package: (?:{wanted})\n(?:.+\n)*", text, re.M):
        yield dict(re.findall(r"^([A-Za-z-]+): (.*)", match[0], re.M))


def has_file(suite, path):
    """True if the mirror serves this pool file: an index may list files that rotation has removed."""
    try:
        with urllib.request.urlopen(urllib.request.Request(suite.url(path), method="HEAD"), timeout=60):
            return True
    except urllib.error.HTTPError:
        return False
    except OSError as error:
        raise LabError(f"The mirror does not answer for {path} ({error}).") from error
