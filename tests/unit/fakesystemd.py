"""systemd itself as a user's manager, in the namespaces of `fakeboot`: units that a test writes, with the library's own commands."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import fakeboot


def namespaces():
    """Whether this machine lets us have what `fakeboot` needs."""
    if os.geteuid() or not shutil.which("unshare") or not os.path.exists(fakeboot.MANAGER):
        return False
    command = [*fakeboot.BEGIN, fakeboot.PREPARE, "sh", "true"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def run(program, *arguments):
    """Run a Python file in namespaces; returns what it prints in its last line."""
    tests = pathlib.Path(__file__).parent
    command = [*fakeboot.BEGIN, fakeboot.PREPARE, "sh", sys.executable, program, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@contextlib.contextmanager
def manager(units):
    """In namespaces: systemd with these ``units`` (name → text), for which `systemctl` asks."""
    own = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / "systemd/user"
    for name, text in {"sysinit.target": "[Unit]\nDefaultDependencies=no\n", **units}.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text)
    tools = pathlib.Path("/run/bin")
    tools.mkdir()
    (tools / "systemctl").write_text('#!/bin/sh\nexec /usr/bin/systemctl --user "$@"\n')
    (tools / "systemctl").chmod(0o755)
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    process = subprocess.Popen(
        [fakeboot.MANAGER, "--user", "--unit=sysinit.target"],
        env={**os.environ, "SYSTEMD_LOG_TARGET": "console"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + 30
        while subprocess.run(["systemctl", "daemon-reload"], check=False, capture_output=True).returncode:
            assert time.monotonic() < give_up
            time.sleep(0.2)
        yield
    finally:
        process.kill()
