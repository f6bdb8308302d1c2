"""Build a node's root file system as a directory, with mmdebstrap."""

import shutil
import subprocess

from . import mirror
from .command import TIED, LabError, say
from .paths import GUEST, REPO

# Folder of the lab's own files in the image.
OWN = "var/lib/kup-lab"

# Everything that a node of the fleet has besides the essential packages.
PACKAGES = [
    "systemd",
    "systemd-sysv",
    "udev",
    "dbus",
    "kmod",
    "e2fsprogs",
    "procps",
    "iproute2",
    "openssh-server",
    "nftables",
    "memcached",
    "kexec-tools",
    "criu",
    "python3",
    "python3-apt",
    "python3-psutil",
    "python3-pyelftools",
    "zstd",
    "initramfs-tools",
    "grub-pc",
]
# Of a server as Debian's installer leaves it, and as its packages are usually added to.
STOCK = ["apparmor", "irqbalance", "libpam-systemd", "polkitd", "rsyslog", "systemd-timesyncd", "unattended-upgrades"]
# Debian 12 ships pycriu inside the criu package.
PYCRIU = "python3-pycriu"
# `--criu next` takes these, and nothing else, from the next release: libc stays the release's own.
CRIU_FROM_NEXT = ["criu", "libcompel1", "libnet9", "libnl-3-200", PYCRIU]

PRESEED = """\
kexec-tools kexec-tools/load_kexec boolean false
grub-pc grub-pc/install_devices_empty boolean true
grub-pc grub-pc/install_devices multiselect
"""

# Services of more packages are off: a lab starts what it is about. The node's own are these.
_BUT_OWN = " ".join(f"! -name '{name}'" for name in ("systemd-*", "lab-*", "ssh*", "memcached.service", "*.target"))

# A host-only initramfs, for the kernels that get one: the root disk is NVMe, its file system ext4.
INITRAMFS = "MODULES=list\nCOMPRESS=zstd\n"
INITRAMFS_MODULES = "nvme\next4\n"


def _write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _skeleton(root, plan):
    """Write the files that must exist before the packages are installed."""
    if not plan.get("stock"):
        _write(root / "etc/initramfs-tools/conf.d/lab.conf", INITRAMFS)
        _write(root / "etc/initramfs-tools/modules", INITRAMFS_MODULES)
    _write(root / "etc/default/grub.d/lab.cfg", (GUEST / "image/grub.cfg").read_text(encoding="utf-8"))
    _write(root / f"{OWN}/preseed", PRESEED)
    _write(root / f"{OWN}/from-release", plan["from"].release + "\n")
    for script in ("customize.sh", "lean.sh", "finish.sh", "module.sh"):
        _write(root / OWN / script, (GUEST / "image" / script).read_text(encoding="utf-8"), 0o755)
    (root / f"{OWN}/repo").mkdir()
    if plan.get("packages"):
        # Packages with alternatives of manual pages (Java's) are not installed without this directory.
        (root / "usr/share/man/man1").mkdir(parents=True)
    _write(root / "etc/apt/preferences.d/lab-pins", _pins(plan))


def _pins(plan):
    """Return apt preferences: the few packages that may come from another suite than the release's own."""
    own = [suite.name for suite in mirror.suites(plan["release"])]
    pins = [("*", suite.name, 1) for suite in _suites(plan) if suite.name not in own]
    if plan["criu"] == "next":
        pins.append((" ".join(CRIU_FROM_NEXT), mirror.next_suite(plan["release"]).name, 990))
    # A kernel of a backport may want the linux-base of the same suite.
    suites_of_kernels = {plan[key].suite.name for key in ("from", "to")}
    pins += [("linux-base", name, 990) for name in own if name.endswith("-backports") and name in suites_of_kernels]
    return "\n".join(f"Package: {names}\nPin: release n={suite}\nPin-Priority: {rank}\n" for names, suite, rank in pins)


def _suites(plan):
    """Return the suites that PLAN needs: the release's own, then those of CRIU and the kernels."""
    suites = mirror.suites(plan["release"])
    if plan["criu"] == "next":
        suites.append(mirror.next_suite(plan["release"]))
    for key in ("from", "to"):
        if plan[key].suite not in suites:
            suites.append(plan[key].suite)
    return suites


def _hooks(plan, skeleton, packages_later):
    """Return mmdebstrap's hook arguments; in a hook $1 is the new root."""
    yield f'--setup-hook=cp -a {skeleton}/. "$1"/'
    # debconf exists once the essential packages are unpacked.
    yield f'--essential-hook=chroot "$1" debconf-set-selections /{OWN}/preseed'
    if packages_later:
        # apt on the node installs the target kernel: download it with the dependencies that the image lacks.
        fetch = (
            'export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"; apt-get clean'
            " && apt-get --yes --download-only --no-install-recommends install "
            + " ".join(packages_later)
            + f' && mv "$1"/var/cache/apt/archives/*.deb "$1"/{OWN}/repo/'
        )
        yield f"--customize-hook={fetch}"
    yield f'--customize-hook=cd {REPO} && /usr/bin/python3 -m lab.repository "$1"/{OWN}/repo'
    yield f'--customize-hook=chroot "$1" sh /{OWN}/customize.sh'
    if not plan.get("stock"):
        yield f'--customize-hook=chroot "$1" sh /{OWN}/lean.sh'
    if plan.get("packages") and not plan.get("stock"):
        yield f'--customize-hook=find "$1"/etc/systemd/system/*.wants -type l {_BUT_OWN} -delete'
    if plan["module"]:
        files = " ".join(f"{REPO}/files/{name}" for name in ("kmod", "stub/table.h"))
        yield f'--customize-hook=cp -r {files} "$1"/{OWN}/'
        yield f'--customize-hook=chroot "$1" sh /{OWN}/module.sh'
    if plan["initrd"] == "none":
        # A kernel installed later gets no initramfs either: an emulated node takes minutes to make one.
        yield '--customize-hook=rm -f "$1"/boot/initrd.img-* "$1"/etc/kernel/postinst.d/initramfs-tools'


def build(plan, root, work):
    """Fill the directory ROOT according to PLAN (see image.plan), with WORK as a scratch directory."""
    skeleton = work / "skeleton"
    skeleton.mkdir()
    _skeleton(skeleton, plan)
    packages = [*PACKAGES, plan["from"].package, *(STOCK if plan.get("stock") else ()), *plan.get("packages", ())]
    if plan["release"] != "12":
        packages.append(PYCRIU)
    if plan["module"]:
        packages += ["make", *(plan[key].package.replace("image", "headers", 1) for key in ("from", "to"))]
    later = [plan["to"].package] if plan["target"] == "repo" else []
    if not later:
        packages.append(plan["to"].package)
    sources = "\n".join(suite.source_line for suite in _suites(plan))
    argv = [
        *TIED,
        "mmdebstrap",
        "--mode=root",
        "--format=directory",
        f"--variant={'standard' if plan.get('stock') else 'minbase'}",
        "--skip=cleanup/apt",
        "--aptopt=Apt::Install-Recommends false",
        "--dpkgopt=force-unsafe-io",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        f"--include={','.join(packages)}",
        *_hooks(plan, skeleton, later),
        mirror.CODENAMES[plan["release"]],
        str(root),
        "-",
    ]
    log = work.parent / f"{work.name}.mmdebstrap.log"
    say(f"building the root file system (log: {log})")
    if shutil.which("mmdebstrap") is None:
        raise LabError("The command mmdebstrap is missing on this machine: install the packages in lab/packages.txt.")
    with log.open("w", encoding="utf-8") as out:
        # The child inherits the lock on the image (image.ensure) and holds it until it has ended.
        done = subprocess.run(
            argv, input=sources, stdout=out, stderr=subprocess.STDOUT, text=True, check=False, close_fds=False
        )
    if done.returncode:
        said = [
            line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.startswith("E:")
        ]
        raise LabError(
            f"mmdebstrap ended with {done.returncode}, saying: {(said or ['nothing'])[-1]}; its log is {log}."
        )
    log.unlink()
