"""The kernel module's table, under sanitizers: what layout.c writes is believed by check.c, which refuses each damage for its reason."""

import pathlib

import pytest
import sanitized

REPO = pathlib.Path(__file__).resolve().parents[3]
MODULE = REPO / "files" / "kmod"
HARNESS = REPO / "tests" / "kmod" / "check"
SOURCES = {"check": ["check.c"], "layout": ["check.c", "layout.c", "find.c"]}


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    # As the module is built; and short lists of runs are sorted as long ones are.
    flags = ["-D__KERNEL__", "-Wno-unused-parameter", "-DRADIX_FROM=64"]
    # The harness's own <linux/...> first.
    flags += [f"-I{directory}" for directory in (HARNESS, MODULE, REPO / "files" / "stub")]
    programs = {
        name: [*flags, HARNESS / f"test_{name}.c", *(MODULE / source for source in sources)]
        for name, sources in SOURCES.items()
    }
    return sanitized.Ends(tmp_path_factory.mktemp("check"), programs)


@pytest.mark.parametrize("compiler", sanitized.COMPILERS)
@pytest.mark.parametrize(("program", "said"), [("check", "damaged tables refused"), ("layout", "tables believed")])
def test_table_under_sanitizers(ends, compiler, program, said):
    assert said in ends.said(compiler, program)
