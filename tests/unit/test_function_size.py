"""No function of plugins/ and files/ is too long to read at once: at most 60 lines and 15 branches (lizard's complexity)."""

import pathlib
import re

import lizard
import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
LINES, BRANCHES = 60, 15

#: Functions that are longer, each with its reason: at most ten.
EXCEPTIONS = {}

SHELL_FUNCTION = re.compile(r"^(\w+)\(\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def sources(*endings):
    return [
        path
        for folder in ("plugins", "files")
        for path in sorted((REPO / folder).rglob("*"))
        if path.is_file() and path.suffix in endings
    ]


def too_long(path):
    """Names of the functions of a Python or C file that are too long."""
    found = lizard.analyze_file(str(path)).function_list
    return [each.name for each in found if each.length > LINES or each.cyclomatic_complexity > BRANCHES]


@pytest.mark.parametrize("path", sources(".py", ".c", ".h"), ids=lambda path: str(path.relative_to(REPO)))
def test_functions_can_be_read_at_once(path):
    named = [f"{path.relative_to(REPO)}:{name}" for name in too_long(path)]
    assert [name for name in named if name not in EXCEPTIONS] == []


def test_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= 10
    for name in EXCEPTIONS:
        path, _colon, function = name.partition(":")
        assert function in too_long(REPO / path), f"{name} is no exception any more"


@pytest.mark.parametrize("path", sources("", ".sh"), ids=lambda path: str(path.relative_to(REPO)))
def test_shell_functions_can_be_read_at_once(path):
    text = path.read_text(errors="replace")
    assert [name for name, body in SHELL_FUNCTION.findall(text) if body.count("\n") > LINES] == []
