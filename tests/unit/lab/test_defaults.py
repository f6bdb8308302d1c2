"""The lab's defaults: what `up` makes of the options that are not given."""

import pytest

from lab import __main__ as command_line
from lab import defaults, verbs


@pytest.fixture(name="wish")
def _wish(monkeypatch):
    """A function: the image that `up` wants with these options."""

    class Enough(Exception):
        pass

    def wish(*options):
        def stop(_args, wanted):
            raise Enough(wanted)

        monkeypatch.setattr(verbs.host, "refuse_unless_fit", stop)
        with pytest.raises(Enough) as stopped:
            verbs.up(command_line.parser().parse_args(["up", *options]))
        return stopped.value.args[0]

    return wish


@pytest.mark.parametrize("release", defaults.UPDATES)
def test_kernels_and_criu_follow_from_the_release(wish, release):
    wanted = wish("--release", release)
    assert (wanted["from"], wanted["to"], wanted["criu"]) == tuple(vars(defaults.UPDATES[release]).values())


def test_options_overrule_the_release(wish):
    wanted = wish("--from", "6.11", "--criu", "release")
    assert (wanted["release"], wanted["from"], wanted["to"], wanted["criu"]) == ("13", "6.11", "7.2", "release")
