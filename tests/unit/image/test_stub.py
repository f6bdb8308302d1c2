"""The code that is put into kernels: what is in the repository is what its sources build, and it holds under sanitizers."""

import pathlib
import subprocess

import pytest
import sanitized

from ansible_collections.kup.fleet.plugins.module_utils._image import stub

REPO = pathlib.Path(__file__).resolve().parents[3]
STUB = REPO / "files" / "stub"

# Another compiler makes other code of the same sources: the comparison is one for Debian 12's.
COMPILER = "12.2.0"


def compiler_version():
    return subprocess.run(["gcc", "-dumpfullversion"], check=True, capture_output=True, text=True).stdout.strip()


def test_code_is_what_its_sources_build(tmp_path):
    if compiler_version() != COMPILER:
        pytest.skip(f"gcc is {compiler_version()}; the code was built with {COMPILER}")
    for name, content in (("boot", stub.BOOT), ("reserve", stub.RESERVE)):
        subprocess.run(["make", "-s", "-C", STUB, f"OUT={tmp_path}", f"{tmp_path}/{name}.bin"], check=True)
        assert (tmp_path / f"{name}.bin").read_bytes() == content


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    programs = {
        name: [REPO / "tests" / "stub" / f"test_{name}.c", STUB / "reserve.c", STUB / "pages.c"]
        for name in ("reserve", "pages")
    }
    programs["sums"] = [REPO / "tests" / "stub" / "test_sums.c"]
    return sanitized.Ends(tmp_path_factory.mktemp("stub"), programs)


@pytest.mark.parametrize("compiler", sanitized.COMPILERS)
@pytest.mark.parametrize(
    ("name", "said"), [("reserve", "tables merged"), ("pages", "passed"), ("sums", "bytes were wrong\npassed")]
)
def test_code_under_sanitizers(ends, compiler, name, said):
    assert said in ends.said(compiler, name)
