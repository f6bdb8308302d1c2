"""The kernel module's table, under sanitizers: what layout.c writes is believed by check.c, which refuses each damage for its reason."""

import pathlib
import shutil
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[3]
MODULE = REPO / "files" / "kmod"
HARNESS = REPO / "tests" / "kmod" / "check"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("program", "sources", "said"),
    [
        ("check", ["check.c"], "damaged tables refused"),
        ("layout", ["check.c", "layout.c", "find.c"], "tables believed"),
    ],
)
def test_table_under_sanitizers(tmp_path, compiler, program, sources, said):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    warnings = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D__KERNEL__"]
    # As the module is built; and short lists of runs are sorted as long ones are.
    warnings += ["-Wno-unused-parameter", "-DRADIX_FROM=64"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    # The harness's own <linux/...> first.
    includes = [f"-I{directory}" for directory in (HARNESS, MODULE, REPO / "files" / "stub")]
    files = [HARNESS / f"test_{program}.c", *(MODULE / source for source in sources)]
    subprocess.run([compiler, *warnings, *sanitizers, *includes, "-o", tmp_path / program, *files], check=True)
    done = subprocess.run([tmp_path / program], check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
