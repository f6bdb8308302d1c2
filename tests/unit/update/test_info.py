"""Facts of the node."""

from ansible_collections.kup.fleet.plugins.module_utils._update import info


def test_lockdown_and_memory():
    assert info.lockdown("none [integrity] confidentiality\n") == "integrity"
    assert info.lockdown("") == "none"
    assert info.memory("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:     500 kB\n") == {
        "total": 1024000,
        "available": 512000,
    }
