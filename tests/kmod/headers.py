"""Build the kernel module as a node does: with its Debian release's compiler and the kernel's own headers package.

A headers package brings programs that need its release's C library, so that all is done in a root directory of that
release, made once.
"""

import shutil
import subprocess

from lab import mirror
from lab.paths import REPO

# Series → Debian release whose compiler has built the kernel.
RELEASES = {"6.1": "12", "6.12": "13", "7.2": "13"}


def _packages(release):
    """Headers packages of the kernels that are to be tried on a Debian release: series → kernel release."""
    found = {}
    for suite in mirror.suites(release):
        for stanza in mirror.packages(suite, r"linux-headers-\d[^ \n]*-cloud-amd64"):
            kernel = stanza["Package"].removeprefix("linux-headers-")
            for series, where in RELEASES.items():
                if where == release and stanza["Version"].startswith(f"{series}.") and kernel.count(".") > 1:
                    known = found.get(series)
                    if not known or _is_older(known[1], stanza["Version"]):
                        found[series] = (kernel, stanza["Version"])
    return {series: kernel for series, (kernel, _version) in found.items()}


def _is_older(one, other):
    return subprocess.run(["dpkg", "--compare-versions", one, "lt", other], check=False).returncode == 0


def root(release, cache):
    """Root directory of a Debian release with compiler and headers; returns (path, series → kernel release)."""
    path = cache / f"root-{release}"
    note = cache / f"root-{release}.kernels"
    if not note.exists():
        shutil.rmtree(path, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        kernels = _packages(release)
        names = ["make", "gcc", "libc6-dev", *(f"linux-headers-{kernel}" for kernel in kernels.values())]
        sources = [suite.source_line for suite in mirror.suites(release)]
        subprocess.run(
            ["nice", "-n", "19", "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--skip=cleanup/tmp"]
            + [f"--include={','.join(names)}", mirror.CODENAMES[release], str(path), *sources],
            check=True,
        )
        note.write_text("".join(f"{series} {kernel}\n" for series, kernel in kernels.items()), encoding="utf-8")
    return path, dict(line.split() for line in note.read_text(encoding="utf-8").splitlines())


def build(series, cache):
    """Build the module, and the tests' own, for the newest kernel of a series; not again if no source is newer.

    :returns: (paths of kup_ppp.ko and kup_spoil.ko, kernel release).
    """
    path, kernels = root(RELEASES[series], cache)
    target = cache / series
    target.mkdir(parents=True, exist_ok=True)
    modules = [target / "kup_ppp.ko", target / "kup_spoil.ko"]
    work = path / "kup"
    sources = {
        "kmod": REPO / "files" / "kmod",
        "stub": REPO / "files" / "stub",
        "spoil": REPO / "tests" / "kmod" / "spoil",
    }
    newest = max(file.stat().st_mtime for source in sources.values() for file in source.iterdir())
    if not all(module.exists() and module.stat().st_mtime > newest for module in modules):
        shutil.rmtree(work, ignore_errors=True)
        for name, source in sources.items():
            shutil.copytree(source, work / name)
        _make(path, kernels[series], "-C", "/kup/kmod", f"KERNEL={kernels[series]}")
        _make(path, kernels[series], "-C", f"/lib/modules/{kernels[series]}/build", "M=/kup/spoil", "modules")
        for name, module in zip(("kmod", "spoil"), modules, strict=True):
            shutil.copyfile(work / name / module.name, module)
    return modules, kernels[series]


def _make(path, kernel, *words):
    # A kernel's own programs want /proc.
    command = ["nice", "-n", "19", "unshare", "--mount", "--pid", "--fork", f"--mount-proc={path}/proc"]
    command += ["chroot", str(path), "make", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The module cannot be built for {kernel}:\n{done.stdout}")
