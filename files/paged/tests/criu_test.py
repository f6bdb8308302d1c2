# SPDX-License-Identifier: GPL-3.0-or-later
"""Dump a tree with CRIU into `paged store`, restore it with `paged serve`, and let it compare every byte.

    criu_test.py PAGED DIRTIER [--criu COMMAND] [--rounds N] [--kills N] [--repeat N]

COMMAND is split at blanks, so that a CRIU with libraries of its own can be tried. Early rounds need a kernel that tracks
written pages (CONFIG_MEM_SOFT_DIRTY). --kills needs systemd: `paged serve` is then a unit of it and killed N times.

Exit codes: 0, every byte was right; 1, the test has failed, or there is no CRIU; 77, `criu check` says that this CRIU does
not fit this kernel, so nothing was tried. The scenario `drain` runs the test on kernels that fit.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 120
# The exit code by which automake and others know a test that was not run.
NOT_TRIED = 77
# What restore reads by itself: the tree's shared memory (dirtier.c), and a few pages of each process's files.
SHARED_PAGES = 600
FILE_PAGES = 64


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"criu_test: {what} has not come within {PATIENCE} s")
        time.sleep(0.02)


def reap_all() -> None:
    """The dumped tree is gone when CRIU has ended it, but its process ids are taken until somebody has waited for them."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class Trial:
    def __init__(self, options: argparse.Namespace, work: Path):
        self.options = options
        self.criu = shlex.split(options.criu)
        self.work = work
        self.state = work / "state"
        self.drained = work / "journal.drained"
        for name in ("store", "images"):
            (work / name).mkdir(mode=0o700)

    def run_criu(self, images: Path, *arguments: str, **more) -> None:
        command = [*self.criu, arguments[0], "-D", str(images), "-v4", "-o", f"{arguments[0]}.log", *arguments[1:]]
        done = subprocess.run(command, check=False, capture_output=True, text=True, **more)
        if done.returncode:
            log = (images / f"{arguments[0]}.log").read_text(errors="replace").splitlines()
            print("\n".join(line for line in log if "Error" in line), file=sys.stderr)
            raise SystemExit(f"criu_test: {' '.join(command)} has ended with {done.returncode}")

    def dump_round(self, pid: int, number: int, last: bool) -> dict:
        """One round; what `paged store` says about it."""
        images = self.work / ("images" if last else f"round-{number}")
        images.mkdir(mode=0o700, exist_ok=True)
        ours, theirs = socket.socketpair()
        command = [
            self.options.paged,
            "store",
            "--store",
            str(self.work / "store"),
            "--socket-fd",
            str(theirs.fileno()),
        ]
        command += ["--first"] if number == 0 else []
        command += ["--last", "--images-dir", str(images)] if last else []
        store = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True)
        theirs.close()
        arguments = ["dump" if last else "pre-dump", "-t", str(pid), "--page-server", "--ps-socket", str(ours.fileno())]
        if self.options.rounds:
            arguments.append("--track-mem")
        if number:
            arguments += ["--prev-images-dir", f"../round-{number - 1}"]
        self.run_criu(images, *arguments, pass_fds=[ours.fileno()])
        ours.close()
        said = store.communicate()[0]
        if store.returncode:
            raise SystemExit(f"criu_test: paged store has ended with {store.returncode}")
        return json.loads(said)

    def serve_command(self) -> list[str]:
        images = self.work / "images"
        command = [self.options.paged, "serve", "--store", str(self.work / "store"), "--images-dir", str(images)]
        command += ["--socket", str(images / "lazy-pages.socket"), "--journal", str(self.work / "journal")]
        return [*command, "--after", str(self.work / "rest")]

    def criu_restore(self) -> float:
        """The seconds that it took."""
        images = self.work / "images"
        wait_until((images / "lazy-pages.socket").exists, "the socket of paged serve")
        start = time.monotonic()
        self.run_criu(images, "restore", "-d", "--lazy-pages", "-W", str(images))
        return time.monotonic() - start

    def restore(self) -> None:
        serve = subprocess.Popen(self.serve_command(), stdout=subprocess.PIPE, text=True)
        seconds = self.criu_restore()
        (self.work / "rest").touch()
        said = serve.communicate(timeout=PATIENCE)[0]
        if serve.returncode:
            raise SystemExit(f"criu_test: paged serve has ended with {serve.returncode}")
        print(f"criu_test: restored in {seconds:.2f} s,", said.strip())

    def restore_with_kills(self) -> None:
        unit = "paged-test.service"
        settings = {
            "Type": "notify",
            "NotifyAccess": "all",
            "FileDescriptorStoreMax": 4096,
            "Restart": "on-failure",
            "RestartSec": 0,
            "StartLimitIntervalSec": 0,
            "RestartPreventExitStatus": "2 3 4",
        }
        command = ["systemd-run", "--quiet", "--unit", unit]
        for name, value in settings.items():
            command += ["-p", f"{name}={value}"]
        subprocess.run([*command, *self.serve_command()], check=True)
        seconds = self.criu_restore()
        kills = 0
        for number in range(self.options.kills):
            # Half of them hit, however fast the machine brings in the rest.
            if number == self.options.kills // 2:
                (self.work / "rest").touch()
            time.sleep(random.random() * 0.3)
            if self.drained.exists():
                break
            done = subprocess.run(["systemctl", "kill", "--signal=KILL", "--kill-who=main", unit], check=False)
            kills += done.returncode == 0
        wait_until(self.drained.exists, "the end of paged serve")
        print(f"criu_test: restored in {seconds:.2f} s, {kills} kills")
        # The last kill may have come so late that it is started once more to find all done.
        show = ["systemctl", "show", "--property=ActiveState", "--value", unit]
        wait_until(
            lambda: subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip() == "inactive",
            "the unit's end",
        )

    def run(self) -> None:
        # Files of its own: what else is written to ours meanwhile would not fit the images.
        with (self.work / "said").open("w") as said:
            streams = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said}
            dirtier = subprocess.Popen([self.options.dirtier, str(self.state)], start_new_session=True, **streams)
        try:
            wait_until(lambda: self.state.exists() and self.state.read_text() == "ready", "the tree")
            for number in range(self.options.rounds):
                print("criu_test: round", number, self.dump_round(dirtier.pid, number, last=False))
                time.sleep(0.2)
            last = self.dump_round(dirtier.pid, self.options.rounds, last=True)
            print("criu_test: last", last)
            if last["eager_pages"] > SHARED_PAGES + FILE_PAGES * last["objects"]:
                raise SystemExit(f"criu_test: {last['eager_pages']} pages would not come on demand")
            reap_all()
            if self.options.kills:
                self.restore_with_kills()
            else:
                self.restore()
            if not self.drained.exists():
                raise SystemExit("criu_test: paged serve has ended without having installed all pages")
            time.sleep(0.5)
            (self.work / "state.stop").touch()
            wait_until(lambda: self.state.read_text() == "right", "the tree's word that every byte is right")
            reap_all()
        except BaseException:
            print((self.work / "said").read_text(), file=sys.stderr)
            os.killpg(dirtier.pid, signal.SIGKILL)
            raise


def refuse_without_criu(command: str) -> None:
    """End the program where CRIU is not installed (1), or does not fit the kernel (NOT_TRIED)."""
    words = shlex.split(command)
    if not shutil.which(words[0]):
        raise SystemExit(f"criu_test: there is no {words[0]}: install CRIU, or name one with --criu")
    check = subprocess.run([*words, "check"], capture_output=True, text=True, check=False)
    if check.returncode:
        complaints = [line for line in (check.stdout + check.stderr).splitlines() if "Error" in line]
        print(f"criu_test: NOT TRIED, `{command} check` fails on Linux {os.uname().release}:", *complaints, sep="\n  ")
        sys.exit(NOT_TRIED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paged")
    parser.add_argument("dirtier")
    parser.add_argument("--criu", default="criu")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()

    refuse_without_criu(options.criu)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for _number in range(options.repeat):
        with tempfile.TemporaryDirectory(prefix="paged-criu.", dir="/dev/shm") as work:
            Trial(options, Path(work)).run()
    print("criu_test: every byte was right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
