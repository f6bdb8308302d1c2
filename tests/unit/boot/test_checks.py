"""Checks of what a node needs to start one kernel from another."""

import pytest
from checkcases import Case, case_tests

from ansible_collections.kup.fleet.plugins.module_utils._boot import checks, grub, kexec

GRUB = "/boot/grub/grub.cfg"
CASES = [
    ("kexec-off", Case(("1",), ("0",), "kexec", "kexec_load_disabled is 1")),
    ("lockdown", Case(("none integrity [confidentiality]",), ("none [integrity] confidentiality",), "The kernel")),
    ("lockdown", Case(("none integrity [confidentiality]",), ("",), "The kernel", "locked down for confidentiality")),
    ("kexec-missing", Case((False,), (True,), "The running kernel", "CONFIG_KEXEC")),
    (
        "page-table-levels",
        Case(
            ("5.10.0-46-cloud-amd64", False, "flags\t: fpu la57 sse"),
            ("5.10.0-46-cloud-amd64", False, "flags\t: fpu sse"),
            "This machine",
            "which kernel 5.10.0-46-cloud-amd64 is built without",
        ),
    ),
    (
        "page-table-levels",
        Case(("5.10", False, "flags\t: la57"), ("5.10", True, "flags\t: la57"), "This machine"),
    ),
    ("boot-loader", Case((GRUB, False), (GRUB, True), "The boot loader", f"is not GRUB ({GRUB} ")),
]
test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found = case_tests("_boot.checks", cases=CASES)


@pytest.mark.parametrize(
    ("files", "there", "codes"),
    [
        ({}, True, []),
        ({"/proc/sys/kernel/kexec_load_disabled": "1"}, True, ["kexec-off"]),
        ({"/sys/kernel/security/lockdown": "none integrity [confidentiality]"}, False, ["lockdown", "kexec-missing"]),
    ],
)
def test_what_is_looked_at_for_kexec(monkeypatch, files, there, codes):
    monkeypatch.setattr(kexec, "read_text", files.get)
    monkeypatch.setattr(kexec.os.path, "exists", lambda path: there and path == "/sys/kernel/kexec_loaded")
    assert [blocker.code for blocker in kexec.blockers()] == codes


@pytest.mark.parametrize(
    ("target", "configuration", "codes"),
    [
        ("5.10", "CONFIG_X86=y\n# CONFIG_X86_5LEVEL is not set\n", ["page-table-levels"]),
        ("5.10", "CONFIG_X86=y\nCONFIG_X86_5LEVEL=y\n", []),
        ("6.17", "CONFIG_X86=y\n", []),
        (None, "CONFIG_X86=y\n# CONFIG_X86_5LEVEL is not set\n", []),
    ],
)
def test_what_is_looked_at_of_the_new_kernel(monkeypatch, target, configuration, codes):
    files = {"/proc/cpuinfo": "flags : la57\n", f"/boot/config-{target}": configuration}
    monkeypatch.setattr(kexec, "read_text", lambda path, default=None: files.get(path, default))
    monkeypatch.setattr(kexec.os.path, "exists", lambda path: True)
    assert [blocker.code for blocker in kexec.blockers(target)] == codes


@pytest.mark.parametrize(("configuration", "program", "fits"), [(1, 1, True), (1, 0, False), (0, 1, False)])
def test_what_is_looked_at_for_grub(monkeypatch, tmp_path, configuration, program, fits):
    for name, there in (("_CONFIGURATION", configuration), ("_SET_DEFAULT", program)):
        monkeypatch.setattr(grub, name, str(tmp_path / name))
        if there:
            (tmp_path / name).touch()
    assert grub.blockers() == checks.boot_loader(str(tmp_path / "_CONFIGURATION"), fits)
