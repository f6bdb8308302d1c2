"""Base images of nodes: each is built once and cached under a digest of its inputs."""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import time
import uuid

from . import disk, kernels, rootfs
from .command import LabError, say
from .paths import GUEST, REPO

# Inputs of every image: a change of one of these files makes a new image.
SOURCES = [
    *(REPO / "lab" / name for name in ("rootfs.py", "repository.py", "disk.py", "mirror.py", "kernels.py", "image.py")),
    *(GUEST / "image" / name for name in ("customize.sh", "lean.sh", "finish.sh", "grub.cfg")),
]
# More inputs of an image with the kernel module.
KERNEL_MODULE = [GUEST / "image/module.sh", *sorted(REPO.glob("files/kmod/*")), REPO / "files/stub/table.h"]
KEEP_DAYS = 14


def cache():
    """Return the cache directory, made on first use."""
    path = pathlib.Path(os.environ.get("KUP_LAB_CACHE") or pathlib.Path.home() / ".cache/kup-lab")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _digest(wish):
    text = json.dumps(wish, sort_keys=True)
    for path in SOURCES + (KERNEL_MODULE if wish["module"] else []):
        text += path.read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def ensure(wish):
    """Return (path of the raw base image, facts about it) for WISH, building it if the cache does not hold it.

    WISH: release, from, to (series), criu (release|next), target (installed|repo), initrd (none|host), module (bool),
    disk (GiB); where there are any: packages (more of the release's), stock (True: as Debian's installer leaves a server, with nothing left out).
    The series are looked up on the mirror when the image is built; remove the cache to move on to newer kernels.
    """
    name = f"debian{wish['release']}-{_digest(wish)}"
    raw, facts = cache() / f"{name}.raw", cache() / f"{name}.json"
    with (cache() / f"{name}.lock").open("w") as lock:
        # A second lab that wants the same image waits until the first has built it.
        os.set_inheritable(lock.fileno(), True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not facts.exists():
            _forget_old()
            _build(wish, name, raw, facts)
        os.utime(facts)  # used now: see _forget_old
    return raw, json.loads(facts.read_text(encoding="utf-8"))


def _build(wish, name, raw, facts):
    begin = time.monotonic()
    work = cache() / f"{name}.tmp"
    # A build that was killed leaves only this directory; nothing in it is mounted.
    _remove(work)
    work.mkdir()
    try:
        plan = dict(wish) | {key: kernels.resolve(wish[key], wish["release"]) for key in ("from", "to")}
        if plan["from"] == plan["to"]:
            raise LabError(f"Both kernel series mean {plan['from'].release}: choose two different ones.")
        say(f"kernels: from {plan['from'].release} to {plan['to'].release}")
        root = work / "root"
        rootfs.build(plan, root, work)
        partuuid = str(uuid.uuid4())
        # No fsck at boot: ext4's journal is replayed by the kernel.
        (root / "etc/fstab").write_text(f"PARTUUID={partuuid} / ext4 errors=remount-ro 0 0\n", encoding="utf-8")
        disk.write(root, work / "disk.raw", wish["disk"], partuuid)
        log = cache() / f"{name}.serial.log"
        disk.install_boot_loader(root, work / "disk.raw", partuuid, plan["from"].release, log)
        log.unlink()
        record = {
            "wish": wish,
            "kernel_from": plan["from"].release,
            "kernel_to": plan["to"].release,
            "criu": _version(root, "criu"),
            "memcached": _version(root, "memcached"),
            "systemd": _version(root, "systemd"),
            "build_seconds": round(time.monotonic() - begin),
        }
        os.replace(work / "disk.raw", raw)
        # The facts are written last: an image without facts counts as missing.
        (work / "facts").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        os.replace(work / "facts", facts)
        say(f"image {name} built in {record['build_seconds']} s")
    finally:
        _remove(work)


def _forget_old():
    """Remove images not used for KEEP_DAYS; nodes have copies of their own."""
    for facts in cache().glob("debian*.json"):
        if facts.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
            facts.unlink()
            facts.with_suffix(".raw").unlink(missing_ok=True)


def _version(root, package):
    argv = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Version}", package]
    return subprocess.run(argv, text=True, capture_output=True, check=False).stdout


def _remove(work):
    if work.exists():
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            if any(f" {work}/" in line for line in mounts):
                raise LabError(f"Something is still mounted below {work}: unmount it, then try again.")
        shutil.rmtree(work)
