"""Loading the next kernel, and its command line."""

import types

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._boot import kexec, panic

NO_TESTS = "cryptomgr.notests=Y"


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("BOOT_IMAGE=/boot/vmlinuz-6.12 root=UUID=1 ro console=ttyS0", "root=UUID=1 console=ttyS0 rw quiet"),
        ("root=/dev/sda1 rw quiet initrd=\\initrd.img", "root=/dev/sda1 rw quiet"),
        ("root=/dev/sda1 quiet rootwait crashkernel=256M", "root=/dev/sda1 rootwait crashkernel=256M rw quiet"),
        ("root=/dev/sda1 ro kup_ppp.table=0x1000,0x2 quiet", "root=/dev/sda1 rw quiet"),
        (f"root=/dev/sda1 rw quiet {NO_TESTS}", "root=/dev/sda1 rw quiet"),
        ("root=/dev/sda1 cryptomgr.notests rw", "root=/dev/sda1 cryptomgr.notests rw quiet"),
    ],
)
def test_command_line_of_the_next_kernel(current, expected):
    assert kexec.command_line(current) == " ".join([expected, NO_TESTS, *panic.words()])


@pytest.mark.parametrize(("knows", "words"), [(True, 0), (False, 1)])
def test_the_next_kernel_keeps_the_page_tables_of_one_that_has_four_levels(knows, words):
    once = kexec.command_line("root=/dev/sda1", knows)
    assert once.split().count("no5lvl") == words
    assert kexec.command_line(once, knows) == once


@pytest.fixture
def staged(tmp_path):
    (tmp_path / "cmdline").write_text("root=/dev/sda1 rw quiet\n")
    return tmp_path


def test_a_kernel_is_loaded_with_what_is_staged_beside_it(staged):
    command = kexec.load_command(f"{staged}/patched", ["--kexec-syscall"], "kup_ppp.table=0x1000,0x2")
    assert command == [
        "kexec",
        "--kexec-syscall",
        "--load",
        f"{staged}/patched",
        "--command-line=root=/dev/sda1 rw quiet kup_ppp.table=0x1000,0x2",
    ]
    (staged / "initrd").write_text("")
    assert kexec.load_command(f"{staged}/vmlinuz", [])[2:] == [
        f"{staged}/vmlinuz",
        "--command-line=root=/dev/sda1 rw quiet",
        f"--initrd={staged}/initrd",
    ]


@pytest.mark.parametrize(("said", "loads"), [("kup_sums: 5 regions\n", 1), ("", 2), ("ERROR: ld.so\n", 2)])
def test_where_the_image_gets_no_check_sums_those_of_kexec_have_to_do(staged, monkeypatch, said, loads):
    calls = []

    def run(argv, **options):
        calls.append((argv, options))
        return types.SimpleNamespace(stdout=said)

    monkeypatch.setattr(kexec, "run", run)
    kexec.load_summed(f"{staged}/patched", ["--kexec-syscall"])
    command = kexec.load_command(f"{staged}/patched", ["--kexec-syscall"])
    summed = ([*command, "--no-checks"], {"more": [("LD_PRELOAD", "/usr/local/lib/kup/sums/kup_sums.so")]})
    assert calls == [summed, (command, {})][:loads]
