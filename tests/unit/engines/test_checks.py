"""Checks of what stops one memory engine."""

from checkcases import Case, case_tests

MIB = 1 << 20
PROGRAM = "/usr/local/lib/kup/paged"
OPTIONS = ("CONFIG_MEM_SOFT_DIRTY", "CONFIG_USERFAULTFD")
BOTH = "#\nCONFIG_MEM_SOFT_DIRTY=y\nCONFIG_USERFAULTFD=y\n"
ONE = "#\nCONFIG_MEM_SOFT_DIRTY=y\nCONFIG_USERFAULTFD=m\n"
CASES = [
    ("page-daemon", Case((PROGRAM, False), (PROGRAM, True), f"The page daemon {PROGRAM}", "tarball")),
    (
        "criu-feature",
        Case(("uffd-noncoop", "no"), ("uffd-noncoop", ""), "'criu check --feature uffd-noncoop'", ": no;"),
    ),
    (
        "images-file-system",
        Case(("/images", "btrfs"), ("/images", "xfs"), "/images", "is on btrfs, expected one of ext4, xfs"),
    ),
    ("disk-checkpoint-in-memory", Case(("/images", True), ("/images", False), "/images", "power cut")),
    ("kernel-option", Case(("7.2", ONE, OPTIONS), ("7.2", BOTH, OPTIONS), "Kernel 7.2", "CONFIG_USERFAULTFD")),
    # Where the configuration is not known, nothing is said.
    ("kernel-option", Case(("7.2", ONE, OPTIONS), ("7.2", "", OPTIONS), "Kernel 7.2")),
    ("machine", Case(("aarch64",), ("x86_64",), "This machine (aarch64)", "expected x86_64")),
    ("unsigned-code", Case(("none [integrity] confidentiality",), ("[none] integrity confidentiality",), "The kernel")),
    ("unsigned-code", Case(("none integrity [confidentiality]",), ("",), "The kernel", "Secure Boot")),
    (
        "huge-page-size",
        Case(
            (
                {
                    "hugepages-64kB": "[always] inherit madvise never",
                    "hugepages-2048kB": "always [inherit] madvise never",
                },
            ),
            ({"hugepages-64kB": "always [inherit] madvise never"},),
            "The setting hugepages-64kB/enabled",
            "write 'inherit'",
        ),
    ),
    (
        "kernel-too-old",
        Case(("5.10.0-30-amd64", "kup_ppp"), ("6.1.0-44-amd64", "kup_ppp"), "Kernel 5.10.0-30-amd64", "6.1"),
    ),
    (
        "kernel-headers",
        Case(("7.2", "kup_ppp", False), ("7.2", "kup_ppp", True), "Kernel 7.2", "install linux-headers-7.2"),
    ),
    (
        "relative-memory-limit",
        Case(([("b.slice", "MemoryMax=90%")],), ([],), "MemoryMax=90% in b.slice", "expected bytes"),
    ),
    ("images-in-memory", Case(("/dev/shm/x", True), ("/srv", False), "/dev/shm/x", "is in memory, which a power cut")),
    ("engine-survives", Case((["panic"],), ([],), "It", "does not survive panic, which kup_survive has")),
    ("engine-failed", Case(("make failed.",), ("",), "It", "could not be prepared: make failed; look at that")),
    ("engine-packages", Case((["a", "b"],), ([],), "a, b", "would have to be installed for it")),
    (
        "shared-copies",
        Case(
            (2 * MIB, 2 * MIB - 1), (2 * MIB, 2 * MIB), "its memory", "has 2 MiB that its processes share copy-on-write"
        ),
    ),
    ("locked-memory", Case((257 * MIB,), (256 * MIB,), "its locked memory", "has 257 MiB, expected at most 256 MiB")),
    # Exactly so much is brought in later.
    (
        "swapped-out",
        Case(
            (41 * MIB, 36 * MIB, "memory.max", 4 * MIB),
            (40 * MIB, 36 * MIB, "memory.max", 4 * MIB),
            "",
            "has 41 MiB swapped",
        ),
    ),
    (
        "swapped-out",
        Case((5 * MIB, -MIB, "memory.max", 4 * MIB), (4 * MIB, -MIB, "", 4 * MIB), "", "has room for 0 MiB"),
    ),
]
test_every_check_has_a_case, test_a_blocker_is_found, test_no_blocker_is_found = case_tests(
    "_engines.checks", cases=CASES
)
