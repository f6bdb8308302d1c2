# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The execution environment, as far as it goes without its base image: ansible-builder makes the build's folder of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

REPO = Path(__file__).resolve().parents[3]
BUILDER = Path(sys.executable).with_name("ansible-builder")


def tarball():
    about = yaml.safe_load((REPO / "galaxy.yml").read_text())
    return f"{about['namespace']}-{about['name']}-{about['version']}.tar.gz"


def build(*words):
    done = subprocess.run([BUILDER, *words], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_definition_takes_the_tarball_of_this_version(tmp_path):
    shutil.copytree(REPO / "awx", tmp_path / "awx")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / tarball()).write_text("a tarball")
    context = tmp_path / "context"
    build(
        "create",
        "--file",
        str(tmp_path / "awx/execution-environment.yml"),
        "--context",
        str(context),
        "--output-filename",
        "Containerfile",
    )
    wanted = yaml.safe_load((context / "_build/requirements.yml").read_text())["collections"]
    assert [(context / "_build" / each["name"]).read_text() for each in wanted] == ["a tarball"]
    steps = (context / "Containerfile").read_text()
    assert "FROM $EE_BASE_IMAGE" in steps
    assert "ansible-core>=2.19" in steps and "ansible-runner>=2.4" in steps


def test_the_collection_says_what_it_needs(tmp_path):
    fleet = tmp_path / "ansible_collections/kup/fleet"
    fleet.mkdir(parents=True)
    for name in ("meta", "galaxy.yml"):
        (fleet / name).symlink_to(REPO / name)
    needs = yaml.safe_load(build("introspect", str(tmp_path)))
    assert needs["python"] == []
    assert [need.split()[0] for need in needs["system"]] == ["openssh-clients", "openssh-client", "tzdata"]
