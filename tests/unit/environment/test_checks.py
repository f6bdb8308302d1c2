"""Checks of what the old boot has around the applications."""

from checkcases import Case, case_tests

MIB = 1 << 20
CASES = [
    ("packet-filter", Case((["a set"], ""), ([], ""), "The node's packet filter", "has a set")),
    ("packet-filter", Case(([], "no such device"), ([], ""), "The node's packet filter", ": no such device;")),
    ("run-files-size", Case((6, 0, 5, MIB), (5, MIB, 5, MIB), "its files in memory", "are 6 with 0 MiB")),
    (
        "run-files-size",
        Case((1, 3 * MIB, 5, MIB), (1, MIB, 5, MIB), "its files in memory", "expected at most 5 with 1 MiB"),
    ),
    ("run-directory", Case((["/run/udev/x"],), ([],), "its /run/udev/x", "makes anew")),
]
# Those of mounts are in test_mounts.py.
test_a_blocker_is_found, test_no_blocker_is_found = case_tests("_environment.checks", cases=CASES)[1:]
