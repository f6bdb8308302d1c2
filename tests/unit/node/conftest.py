import signal
import subprocess

import pytest
from fakenode import FakeNode


@pytest.fixture
def node(tmp_path):
    """Makes a `FakeNode`; arguments as for that."""
    return lambda **values: FakeNode(tmp_path, **values)


@pytest.fixture
def stopped():
    """Makes stopped processes, as a restore with frames leaves them."""
    made = []

    def make():
        process = subprocess.Popen(["sleep", "60"])
        made.append(process)
        process.send_signal(signal.SIGSTOP)
        # Until the signal has come.
        while state(process) != "T":
            pass
        return process

    yield make
    for process in made:
        process.kill()
        process.wait()


def state(process):
    with open(f"/proc/{process.pid}/stat") as stream:
        return stream.read().rpartition(")")[2].split()[0]


@pytest.fixture
def runs():
    """Whether a process runs, after a signal that may have let it go on."""
    return lambda process: state(process) not in "TZX"
