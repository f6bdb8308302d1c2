"""One table for the checks of a module: what each is given to find a blocker, and what to find none."""

from dataclasses import dataclass

import pytest

from tests.refusals_table import checks


@dataclass(frozen=True)
class Case:
    """``blocked`` and ``fits``: arguments of the check; ``object``, ``says`` (in the sentence): of the one blocker."""

    blocked: tuple
    fits: tuple
    object: str
    says: str = ""


def case_tests(*modules, cases):
    """Test functions for all checks of ``modules``: each has a case, and finds exactly what the case says."""
    found = {check.code: check for module in modules for check in checks(module)}

    def test_every_check_has_a_case():
        assert {code for code, _case in cases} == set(found)

    @pytest.mark.parametrize(("code", "case"), cases)
    def test_a_blocker_is_found(code, case):
        (blocker,) = found[code](*case.blocked)
        assert (blocker.code, blocker.object) == (code, case.object)
        assert case.says in blocker.sentence()

    @pytest.mark.parametrize(("code", "case"), cases)
    def test_no_blocker_is_found(code, case):
        assert found[code](*case.fits) == []

    return test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found
