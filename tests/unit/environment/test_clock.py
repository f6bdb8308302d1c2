import types

from ansible_collections.kup.fleet.plugins.module_utils._environment import clock
from ansible_collections.kup.fleet.plugins.module_utils._environment.plan import Plans


def test_the_plan_has_what_the_clocks_say(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(clock, "run", lambda argv: asked.append(argv) or types.SimpleNamespace(stdout="12 34 -1\n"))

    clock.put_plan(Plans(str(tmp_path / "plans")))

    assert asked == [["/usr/local/lib/kup/environment", "clock"]]
    assert (tmp_path / "plans/0-clock.plan").read_text() == "kup-environment 1\nclock optional - realtime 12 34 -1\n"
