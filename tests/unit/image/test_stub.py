"""The code that is put into kernels: what is in the repository is what its sources build, and it holds under sanitizers."""

import pathlib
import shutil
import subprocess

import pytest

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


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("name", "said"), [("reserve", "tables merged"), ("pages", "passed")])
def test_code_under_sanitizers(tmp_path, compiler, name, said):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = tmp_path / name
    warnings = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [REPO / "tests" / "stub" / f"test_{name}.c", STUB / "reserve.c", STUB / "pages.c"]
    subprocess.run([compiler, *warnings, *sanitizers, "-o", program, *sources], check=True)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr + done.stdout
