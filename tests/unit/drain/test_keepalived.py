"""keepalived as Debian has it, on two machines that are network namespaces."""

import os

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._drain import keepalived as library
from ansible_collections.kup.fleet.plugins.module_utils._drain.base import Visit
from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from tests.balancers import keepalived, wait_for


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with keepalived.started(tmp_path_factory.mktemp("keepalived")) as found:
        yield found


@pytest.fixture
def on_the_first(machines, monkeypatch):
    run = library.run
    monkeypatch.setattr(library, "run", lambda words: run([*machines.inside(0), *words]))


def visit(machines, addresses=(keepalived.ADDRESS,)):
    made = library.Keepalived([str(machines.file)], 1, list(addresses))
    return Visit(made, "keepalived", "node1", [f"keepalived node1 {machines.file}"])


@pytest.mark.usefixtures("on_the_first")
def test_another_machine_has_the_address_while_the_node_is_drained(machines):
    place = f"keepalived node1 {machines.file}"
    assert machines.holders() == [0]
    answer = visit(machines).drain(0, True)
    assert (answer.changed, answer.places) == (True, {place: "drained"})
    wait_for(lambda: machines.holders() == [1])
    assert visit(machines).undrain().places == {place: "serving"}
    wait_for(lambda: machines.holders() == [0])


def test_an_address_that_stays_fails_the_drain(machines, monkeypatch):
    monkeypatch.setattr(library, "_PATIENCE", 0.5)
    # It is on this machine, whose keepalived nobody has.
    with pytest.raises(KupError, match=r"^The address 127.0.0.1 is still on the node 0.5 s after"):
        visit(machines, ["127.0.0.1"]).drain(0, True)
    visit(machines).undrain()


@pytest.mark.parametrize(
    ("text", "state"), [("0\n", "serving"), ("", "serving"), ("1\n", "drained"), (" 1 ", "drained"), ("7\n", "out")]
)
def test_states(tmp_path, text, state):
    path = tmp_path / "drained"
    path.write_text(text)
    assert library.Keepalived([str(path)], 1, []).look() == {str(path): state}


def test_the_file_keeps_its_rights(tmp_path):
    path = tmp_path / "drained"
    path.write_text("0\n")
    os.chmod(path, 0o644)
    library.Keepalived([str(path)], 1, []).drain([str(path)])
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("1\n", 0o644)


@pytest.mark.parametrize("text", ["many", "0" * 200, "1.5"])
def test_what_is_no_number_is_refused(tmp_path, text):
    path = tmp_path / "drained"
    path.write_text(text)
    with pytest.raises(KupError, match="has no number, expected"):
        library.Keepalived([str(path)], 1, []).look()


def test_a_file_has_to_be_there_and_no_link(tmp_path):
    with pytest.raises(KupError, match="none is not there"):
        library.Keepalived([str(tmp_path / "none")], 1, []).look()
    (tmp_path / "real").write_text("0\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(KupError, match="has no number"):
        library.Keepalived([str(tmp_path / "link")], 1, []).look()
    with pytest.raises(KupError, match="expected at least one file"):
        library.Keepalived([], 1, [])
