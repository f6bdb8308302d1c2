"""What psutil tells of a process is what /proc says of it."""

import os
import subprocess

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import processes


@pytest.fixture
def child():
    child = subprocess.Popen(["sleep", "60"])
    yield child
    child.kill()
    child.wait()


def test_a_process_has_a_parent_and_memory(child):
    process = processes.Process(child.pid)
    assert process.parent == os.getpid()
    assert process.rss == process.size("VmRSS") > 0


def test_one_that_has_ended_has_neither(child):
    process = processes.Process(child.pid)
    child.kill()
    child.wait()
    assert (process.parent, process.rss, process.exists) == (0, 0, False)


def test_without_psutil_one_sentence_says_what_to_install(child, monkeypatch):
    monkeypatch.setattr(processes, "HAS_PSUTIL", False)
    with pytest.raises(KupError, match=r"^The Python module psutil is missing on this node; install python3-psutil\.$"):
        processes.Process(child.pid).rss  # noqa: B018  a property
