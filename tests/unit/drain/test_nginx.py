"""nginx as Debian has it, with traffic; and the lines of its files."""

import fcntl
import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import nginx as library
from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from tests.balancers import nginx, wait_for


@pytest.fixture(scope="module")
def balancer(tmp_path_factory):
    with nginx.started(tmp_path_factory.mktemp("nginx")) as found:
        yield found


@pytest.fixture(autouse=True)
def in_service(balancer):
    text = balancer.servers.read_text()
    yield
    balancer.servers.write_text(text)


def visit(balancer, *addresses, command=None):
    made = library.Nginx([str(balancer.servers)], addresses or [balancer.first], command or balancer.command)
    return Visit(made, "nginx", "lb1", [place(balancer)])


def place(balancer):
    return f"nginx lb1 {balancer.servers}:{balancer.first}"


def test_a_drained_server_gets_no_new_requests(balancer):
    text = balancer.servers.read_text()
    assert balancer.answering() == {b"1", b"2"}
    answer = visit(balancer).drain(0, True)
    assert (answer.changed, answer.places) == (True, {place(balancer): "drained"})
    assert f"server {balancer.first} weight=2 max_fails=0 down; # drained by kup\n" in balancer.servers.read_text()
    # The reload is done by workers that nginx starts.
    wait_for(lambda: balancer.answering() == {b"2"})
    assert visit(balancer).undrain().changed
    assert balancer.servers.read_text() == text
    wait_for(lambda: balancer.answering() == {b"1", b"2"})


def test_both_may_be_said_twice(balancer):
    text = balancer.servers.read_text()
    assert [visit(balancer).drain(0, True).changed for _each in range(2)] == [True, False]
    assert [visit(balancer).undrain().changed for _each in range(2)] == [True, False]
    assert balancer.servers.read_text() == text


def test_a_file_that_nginx_refuses_is_put_back(balancer):
    text = balancer.servers.read_text().replace("server", "servers are\nserver", 1)
    balancer.servers.write_text(text)
    with pytest.raises(KupError, match=r"'/usr/sbin/nginx .* -t' ended with 1: nginx: \[emerg\] unknown directive"):
        visit(balancer).drain(0, True)
    assert balancer.servers.read_text() == text


def test_a_file_is_put_back_where_nginx_cannot_reload(balancer, tmp_path):
    """It does not run, for example."""
    text = balancer.servers.read_text()
    command = [*balancer.command, "-g", f"pid {tmp_path}/none;"]
    (tmp_path / "nginx.conf").write_text("events {}")
    command[2] = str(tmp_path / "nginx.conf")
    with pytest.raises(KupError, match="-s reload' ended with 1"):
        visit(balancer, command=command).drain(0, True)
    assert balancer.servers.read_text() == text


def test_the_file_keeps_its_rights_and_a_link_stays_one(balancer, tmp_path):
    real = tmp_path / "real.conf"
    real.write_text(balancer.servers.read_text())
    os.chmod(real, 0o640)
    os.chown(real, 1, 2)
    link = tmp_path / "link.conf"
    link.symlink_to(real)
    made = library.Nginx([str(link)], [balancer.first], balancer.command)
    made.drain([f"{link}:{balancer.first}"])
    assert link.is_symlink()
    assert library.MARK in real.read_text()
    about = real.stat()
    assert (about.st_mode & 0o777, about.st_uid, about.st_gid) == (0o640, 1, 2)


def test_two_runs_take_turns(balancer, monkeypatch):
    monkeypatch.setattr(library, "_PATIENCE", 0.3)
    descriptor = os.open(balancer.servers.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(KupError, match="is locked by others"):
        visit(balancer).drain(0, True)
    os.close(descriptor)
    visit(balancer).drain(0, True)


def test_a_server_that_is_not_there_is_refused(balancer, tmp_path):
    with pytest.raises(KupError, match="has no line 'server 192.0.2.9:80'"):
        visit(balancer, "192.0.2.9:80").look()
    with pytest.raises(KupError, match=r"none.conf is not there"):
        library.Nginx([str(tmp_path / "none.conf")], ["a"], ["nginx"]).look()
    with pytest.raises(KupError, match="is empty"):
        library.Nginx([], ["a"], ["nginx"])


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("server a:80;", "serving"),
        ("  server\ta:80  weight=5 ;  # mine", "serving"),
        ("server a:80 down;", "out"),
        ("server a:80 down weight=5; # drained by kup", "out"),
        ("server a:80 down; # drained by kup", "drained"),
        ("server a:80 down; # drained by kup # mine", "drained"),
        ("#server a:80;", None),
        ("server a:80", None),
        ("server a:80; server b:80;", None),
        ("server b:80; # server a:80;", None),
        ("servers a:80;", None),
    ],
)
def test_states_of_lines(line, state):
    assert library.line_states(f"# x\n{line}\n").get("a:80") == state


def test_an_address_that_is_there_twice_is_in_one_state():
    assert library.line_states("server a;\nserver a down;\n") == {"a": "out"}
    assert library.line_states("server a;\nserver a backup;\n") == {"a": "serving"}


@pytest.mark.parametrize(
    ("line", "down"),
    [
        ("server a;", "server a down; # drained by kup"),
        ("\tserver a weight=5; # mine", "\tserver a weight=5 down; # drained by kup # mine"),
    ],
)
def test_a_line_is_what_it_was(line, down):
    text = f"server b;\n{line}\nserver aa;"
    drained = library.changed(text, ["a"], True)
    assert drained == f"server b;\n{down}\nserver aa;"
    assert library.changed(drained, ["a"], True) == drained
    assert library.changed(drained, ["a"], False) == text
