"""The kernel module's check of a table: believed when it is right, and never read or given outside of it, under sanitizers."""

import pathlib
import shutil
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[3]
MODULE = REPO / "files" / "kmod"
HARNESS = REPO / "tests" / "kmod" / "check"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_check_under_sanitizers(tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = tmp_path / "test_check"
    warnings = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D__KERNEL__"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    # The harness's own <linux/...> first.
    includes = [f"-I{directory}" for directory in (HARNESS, MODULE, REPO / "files" / "stub")]
    sources = [HARNESS / "test_check.c", MODULE / "check.c"]
    subprocess.run([compiler, *warnings, *sanitizers, *includes, "-o", program, *sources], check=True)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "damaged tables refused" in done.stderr
