"""CRIU in the mount namespaces of applications: nothing of theirs is executed. Real namespaces and the real CRIU, as root."""

import os
import subprocess
import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._blocker import Blocked
from ansible_collections.kup.fleet.plugins.module_utils._criu import program
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process

REPO = os.path.abspath(f"{__file__}/../../../..")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make mount namespaces")


@pytest.fixture
def proof(tmp_path):
    """What a program of the application's writes if it is executed: a file."""
    return tmp_path / "executed"


@pytest.fixture
def bait(tmp_path, proof):
    """A directory of the application's with programs of the names that CRIU uses."""
    directory = tmp_path / "bait"
    directory.mkdir()
    for name in ("criu", "nsenter", "sh", "dash", "env", "iptables", "apparmor_parser"):
        (directory / name).write_text(f"#!/bin/sh\nid -u >>{proof}\n")
        (directory / name).chmod(0o755)
    return directory


@pytest.fixture
def application(monkeypatch, tmp_path):
    """Start an application that runs a script in a mount namespace of its own; returns its unit."""
    children = []
    monkeypatch.setattr(program, "INSIDE", str(tmp_path / "inside"))
    monkeypatch.setattr(program, "_NODE", f"/proc/{os.getpid()}")
    monkeypatch.setattr(program, "_KERNDAT", "/")
    (tmp_path / "inside").mkdir()

    def start(script="", *options):
        words = ["unshare", "--mount", *options, "sh", "-ec", f"{script}\necho ready\nread -r _"]
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        children.append(child)
        assert child.stdout.readline() == b"ready\n"
        return types.SimpleNamespace(name="a.service", main=Process(child.pid), own_mounts=True)

    yield start
    for child in children:
        child.communicate(b"\n")


def run(unit, *words):
    """Run CRIU inside with ``words``; returns what it prints."""
    with program.of(unit) as criu:
        command = [*criu.words, *words, *criu.options]
        return subprocess.run(
            command, pass_fds=criu.descriptors, env=criu.environment, capture_output=True, text=True, check=False
        )


def test_an_application_in_a_user_namespace_gets_no_root(application, bait, proof):
    unit = application(f"mount --bind {bait} /usr/sbin", "--user", "--map-root-user")
    with pytest.raises(Blocked, match=r"a\.service: its mount namespace belongs to another user namespace"):
        program.of(unit)
    assert not proof.exists()
    # What the refusal is against: the application's program as the node's root.
    subprocess.run(["nsenter", f"--mount={unit.main.path}/ns/mnt", "--", "criu"], check=True)
    assert proof.read_text() == "0\n"


@pytest.mark.parametrize(
    "script",
    [
        "mount --bind {bait} /usr/sbin",
        # Neither programs nor libraries are there.
        "mount -t tmpfs none /usr/sbin; mount -t tmpfs none {libraries}",
        # As NoExecPaths=/ has it.
        "mount --bind /usr/sbin /usr/sbin; mount -o remount,bind,noexec none /usr/sbin; mount -o remount,bind,noexec none /",
    ],
)
def test_criu_is_the_nodes_own(application, bait, proof, script):
    libraries = program.libraries(program.interpreter("/bin/sh"))
    said = run(application(script.format(bait=bait, libraries=libraries)), "--version")
    assert said.stdout == subprocess.run(["criu", "--version"], capture_output=True, text=True, check=True).stdout
    assert not proof.exists()


@pytest.mark.parametrize("script", ["mount --bind {bait} /usr/bin", "mount -o remount,bind,noexec none /"])
def test_what_criu_starts_runs_on_the_node(application, bait, proof, monkeypatch, tmp_path, script):
    hook = tmp_path / "hook"
    hook.write_text(
        f"#!/bin/sh\necho $(readlink /proc/self/ns/mnt) $PWD $WORD ${{LD_LIBRARY_PATH-unset}} $1 >{tmp_path}/ran\n"
    )
    hook.chmod(0o755)
    monkeypatch.setattr(program, "PROGRAMS", {"action-script": str(hook)})
    with open(f"{REPO}/files/node/switch/from-inside.in") as stream:
        scripts = program.scripts(stream.read())
    for path, text in scripts.items():
        with open(path, "w") as stream:
            stream.write(text)
        os.chmod(path, 0o755)
    unit = application(script.format(bait=bait))
    with program.of(unit) as criu:
        enter = f'exec nsenter --mount={unit.main.path}/ns/mnt --wd={tmp_path} -- "$0" argument <&-'
        subprocess.run(
            ["sh", "-c", enter, criu.hook],
            env={**criu.environment, "PATH": os.environ["PATH"], "WORD": "kept"},
            check=True,
        )
    ran = (tmp_path / "ran").read_text()
    assert ran == f"{os.readlink('/proc/self/ns/mnt')} {tmp_path} kept unset argument\n"
    assert not proof.exists()


def test_descriptors_are_closed(application):
    before = os.listdir("/proc/self/fd")
    unit = application()
    opened = os.listdir("/proc/self/fd")
    with program.of(unit) as criu:
        assert len(criu.descriptors) == len(os.listdir("/proc/self/fd")) - len(opened)
    assert os.listdir("/proc/self/fd") == opened != before


def test_a_unit_without_mounts_of_its_own_needs_none():
    with program.of(types.SimpleNamespace(own_mounts=False)) as criu:
        assert (criu.words, criu.options, criu.descriptors) == (["criu"], [], [])


def test_what_the_kernel_can_do_is_found_out_on_the_node(application, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(program, "run", lambda command, check: asked.append(command[1:]))
    for known in (str(tmp_path), f"{tmp_path}/none"):
        monkeypatch.setattr(program, "_KERNDAT", known)
        program.of(application()).close()
    assert asked == [["check"]]


def test_the_host_name_of_the_unit_is_shared(application):
    with program.of(application()) as criu:
        assert not any(word.startswith("--uts") for word in criu.words)
    unit = application("hostname kup-test", "--uts")
    with program.of(unit) as criu:
        enter = criu.words[: criu.words.index("--") + 1]
        said = subprocess.run(
            [*enter, "/bin/hostname"], pass_fds=criu.descriptors, capture_output=True, text=True, check=True
        )
    assert said.stdout == "kup-test\n"


@pytest.mark.parametrize("missing", ["criu", "nsenter"])
def test_a_missing_program(application, monkeypatch, missing):
    unit, found = application(), program.shutil.which
    monkeypatch.setattr(program.shutil, "which", lambda name: None if name == missing else found(name))
    with pytest.raises(KupError, match=f"{missing} is not installed"):
        program.of(unit)


def test_what_has_no_loader(tmp_path):
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(KupError, match="is no 64-bit ELF program"):
        program.interpreter(str(tmp_path / "script"))
