"""Containers of a unit: by the programs beside them, by control groups, and by clients that wait for them."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system import containers, processes
from ansible_collections.kup.fleet.plugins.module_utils._system.containers import Container

ONE, TWO = "1234567890ab" + "c" * 52, "f" * 64
GROUP = "/system.slice/web.service"


@pytest.fixture
def unit(tmp_path, monkeypatch):
    """Makes a unit of processes, each (program, arguments, control group below the unit's, pid namespace)."""
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))

    def add(pid, program, arguments=(), group="", namespace="host"):
        path = tmp_path / str(pid)
        (path / "ns").mkdir(parents=True)
        (path / "ns/pid").symlink_to(namespace)
        (path / "exe").symlink_to(program)
        (path / "cmdline").write_bytes(b"\0".join(word.encode() for word in (program, *arguments)) + b"\0")
        (path / "cgroup").write_text(f"0::{GROUP}{group}\n")
        return processes.Process(pid)

    def make(*members):
        found = [add(100 + number, *member) for number, member in enumerate(members)]
        return types.SimpleNamespace(cgroup=GROUP, processes=found)

    add(1, "/usr/lib/systemd/systemd")
    return make


def conmon(number, name, program="/usr/bin/conmon"):
    return (program, ("--api-version", "1", "-c", number, "-u", number, "-n", name, "--exit-command-arg", "-n"))


def test_a_quadlet_has_a_monitor_and_a_group(unit):
    monitor = (*conmon(ONE, "systemd-web"), "/runtime")
    inside = ("/usr/bin/web", (), f"/libpod-payload-{ONE}", "inner")
    assert containers.of(unit(inside, monitor)) == [Container("podman", ONE, "systemd-web")]


def test_the_container_may_be_elsewhere(unit):
    client = ("/usr/bin/podman", ("run", "--name", "web", "image"))
    assert containers.of(unit(client, conmon(ONE, "web"))) == [Container("podman", ONE, "web")]


def test_a_monitor_whose_file_was_replaced_by_an_upgrade(unit):
    assert containers.of(unit(conmon(ONE, "web", "/usr/bin/conmon (deleted)"))) == [Container("podman", ONE, "web")]


def test_several_containers_are_each_told_once(unit):
    found = containers.of(
        unit(conmon(ONE, "a"), conmon(TWO, "b"), ("/bin/a", (), f"/libpod-payload-{ONE}/deeper", "inner"))
    )
    assert [each.text for each in found] == ["container a (podman)", "container b (podman)"]


def test_a_shim_tells_the_id_only(unit):
    shim = ("/usr/bin/containerd-shim-runc-v2", ("-namespace", "moby", "-id", ONE, "-address", "/run/c.sock"))
    (found,) = containers.of(unit(("/usr/bin/containerd",), shim))
    assert found.text == "container 1234567890ab (containerd)"


@pytest.mark.parametrize(
    ("group", "engine"),
    [
        (f"/libpod-payload-{ONE}", "podman"),
        (f"/user.slice/libpod-{ONE}.scope/container", "podman"),
        (f"/docker-{ONE}.scope", "docker"),
        (f"/cri-containerd-{ONE}.scope", "containerd"),
        (f"/crio-{ONE}", "CRI-O"),
        # What the container has made below its own.
        (f"/libpod-payload-{ONE}/docker-{TWO}.scope", "podman"),
    ],
)
def test_a_group_alone_tells(unit, group, engine):
    assert containers.of(unit(("/bin/a", (), group, "inner"))) == [Container(engine, ONE)]


@pytest.mark.parametrize(
    "group", ["", "/worker", f"/libpod-conmon-{ONE}.scope", "/docker-1234.scope", f"/docker-{ONE}0.scope", f"/x-{ONE}"]
)
def test_other_groups_are_none(unit, group):
    assert containers.of(unit(("/bin/a", (), group, "inner"))) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "--rm", "--name", "web", "image"), "container web (docker)"),
        (("run", "--name=web", "image"), "container web (docker)"),
        (("--log-level", "info", "start", "-a", "web"), "a container (docker)"),
        (("run", "--name", "a\nb", "image"), "a container (docker)"),
    ],
)
def test_a_client_that_waits_for_a_container(unit, words, text):
    (found,) = containers.of(unit(("/usr/bin/docker", words)))
    assert found.text == text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("/usr/bin/podman", ("system", "service", "--time=0")),
        ("/usr/bin/dockerd", ("-H", "fd://")),
        ("/usr/bin/run", ("run",)),
        ("/usr/bin/conmon", ("-c", "1234", "-n", "web")),
        ("/usr/bin/containerd-shim-runc-v2", ()),
    ],
)
def test_other_programs_are_none(unit, program, words):
    assert containers.of(unit((program, words))) == []


@pytest.mark.parametrize(("group", "found"), [(f"/libpod-payload-{ONE}", [Container("podman", ONE)]), ("", [])])
def test_no_arguments_of_a_process_inside_are_read(unit, group, found):
    assert containers.of(unit((*conmon(TWO, "trick"), group, "inner"))) == found


@pytest.mark.parametrize("name", ["", "-x", "a b", "a" * 101, "\x1b[2J", "../a"])
def test_a_strange_name_is_not_told(unit, name):
    (found,) = containers.of(unit(conmon(ONE, name)))
    assert found.text == "container 1234567890ab (podman)"


@pytest.mark.parametrize(("limit", "found"), [(110, [Container("podman", ONE)]), (40, [])])
def test_arguments_are_read_up_to_a_limit(unit, monkeypatch, limit, found):
    monkeypatch.setattr(containers, "_ARGUMENTS_MAX", limit)
    assert containers.of(unit(conmon(ONE, "web"))) == found


def test_a_process_that_ends_meanwhile(unit, tmp_path):
    found = unit(conmon(ONE, "web"))
    for name in ("cmdline", "cgroup", "exe"):
        (tmp_path / "100" / name).unlink()
    assert containers.of(found) == []
