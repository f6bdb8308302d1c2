"""Plans of the environment program: whatever an application calls its files, a word stays a word."""

import pytest

from ansible_collections.kup.fleet.plugins.module_utils._environment import plan


@pytest.mark.parametrize(
    ("word", "encoded"),
    [
        ("plain/~word", b"plain/~word"),
        ("a b%\n", b"a%20b%25%0A"),
        (b"\xff\x00", b"%FF%00"),
        ("\udcff", b"%FF"),  # as the library gets a name that is no UTF-8
        ("", b"%"),
        (0, b"0"),
    ],
)
def test_a_word_has_printable_ascii_only(word, encoded):
    assert plan.encode(word) == encoded


def test_plans_and_contents_are_for_root_only(tmp_path):
    plans = plan.Plans(f"{tmp_path}/environment")
    content = plans.add_content(b"\0")
    plans.put("files", [plan.step("file", "a.service", ["/run/a b", "644", 0, 0, 1, 0, content], required=True)])
    assert (tmp_path / "environment/files.plan").read_text() == (
        "kup-environment 1\nfile required a.service /run/a%20b 644 0 0 1 0 1\n"
    )
    assert (tmp_path / "environment/contents/1").read_bytes() == b"\0"
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("*")} == {0}
