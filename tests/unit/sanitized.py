"""Test programs in C, built with sanitizers by each compiler that this machine has."""

import shutil
import subprocess

import atonce
import pytest

COMPILERS = ("gcc", "clang")
_FLAGS = (
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)


class Ends:
    """How each program of ``programs`` (dict name → words for the compiler: flags and sources) ends, built in ``folder``."""

    def __init__(self, folder, programs):
        def run(case):
            compiler, name = case
            program = folder / f"{name}-{compiler}"
            subprocess.run([compiler, *_FLAGS, "-o", program, *programs[name]], check=True)
            return subprocess.run([program], check=False, capture_output=True, text=True, timeout=600)

        installed = filter(shutil.which, COMPILERS)
        self._ends = atonce.each(run, [(compiler, name) for compiler in installed for name in programs])

    def said(self, compiler, name):
        """What a program has said; it has ended well."""
        if (compiler, name) not in self._ends:
            pytest.skip(f"{compiler} is not installed")
        done = self._ends[compiler, name]
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr
