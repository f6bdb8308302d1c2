import fakeplan
import pytest


@pytest.fixture
def unit_templates(monkeypatch):
    fakeplan.use_templates(monkeypatch)
