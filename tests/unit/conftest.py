import subprocess

import fakeplan
import pytest

from ansible_collections.kup.fleet.plugins.module_utils._system.processes import Process


@pytest.fixture(scope="session", autouse=True)
def one_folder_of_all(tmp_path_factory):
    """pytest makes it for whoever asks first; two threads (`atonce`) that ask at the same time would get two."""
    tmp_path_factory.getbasetemp()


@pytest.fixture
def unit_templates(monkeypatch):
    fakeplan.use_templates(monkeypatch)


@pytest.fixture
def inside():
    """Run a shell script in a new mount namespace; returns its process, which waits after the script."""
    children = []

    def start(script="", *options):
        words = ["unshare", "--mount", *options, "sh", "-ec", f"{script}\necho ready\nread -r _"]
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        children.append(child)
        assert child.stdout.readline() == b"ready\n"
        return Process(child.pid)

    yield start
    for child in children:
        child.communicate(b"\n")
