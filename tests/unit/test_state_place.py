"""Where the state of an update lies."""

import os
from types import SimpleNamespace

import pytest

from ansible_collections.kup.fleet.plugins.module_utils import _paths


@pytest.mark.parametrize(
    ("there", "devices", "place"),
    [
        (["/var"], {}, _paths.ON_VAR),
        (["/var", "/var/lib/kup"], {}, _paths.ON_VAR),
        (["/var"], {"/var": 2}, _paths.OFF_VAR),
        (["/var", "/var/lib"], {"/var/lib": 2}, _paths.OFF_VAR),
        (["/var", f"{_paths.ON_VAR}/record"], {"/var": 2}, _paths.ON_VAR),
        # Once there, it counts: the record is in it.
        (["/var", _paths.OFF_VAR], {}, _paths.OFF_VAR),
    ],
)
def test_the_state_is_where_the_next_boot_reads_it_before_it_mounts_anything(monkeypatch, there, devices, place):
    monkeypatch.setattr(
        _paths,
        "os",
        SimpleNamespace(
            path=SimpleNamespace(isdir=there.__contains__, exists=["/", *there].__contains__, dirname=os.path.dirname),
            stat=lambda path: SimpleNamespace(st_dev=devices.get(path, 1)),
        ),
    )
    assert _paths._state() == place
