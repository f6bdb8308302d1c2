"""What psutil tells of a process is what /proc says of it."""

import os
import subprocess
import time

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._errors import KupError
from ansible_collections.kup.fleet.plugins.module_utils._system import processes


@pytest.fixture
def child():
    """A process that has come to rest: what it is and has does not change between two looks."""
    with subprocess.Popen(
        ["sh", "-c", "echo ready; read -r _"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 20
        while processes.Process(child.pid).status("State")[:1] != "S" and time.monotonic() < deadline:
            time.sleep(0.01)
        yield child
        child.kill()


def test_a_process_has_a_parent_and_memory(child):
    process = processes.Process(child.pid)
    assert process.parent == os.getpid()
    assert process.rss == process.size("VmRSS") > 0
    assert int(process.started) >= int(processes.Process(os.getpid()).started) > 0


def test_one_that_has_ended_has_neither(child):
    process = processes.Process(child.pid)
    child.kill()
    child.wait()
    assert (process.parent, process.rss, process.started, process.exists) == (0, 0, "", False)


def test_without_psutil_one_sentence_says_what_to_install(child, monkeypatch):
    monkeypatch.setattr(processes, "HAS_PSUTIL", False)
    with pytest.raises(KupError, match=r"^The Python module psutil is missing on this node; install python3-psutil\.$"):
        processes.Process(child.pid).rss  # noqa: B018  a property
