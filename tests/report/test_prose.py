"""Names in sentences of ours on a page."""

from __future__ import annotations

import pytest

from minions_evals_mcp.report.prose import prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("called `refund` twice", "called <code>refund</code> twice"),
        ("`a``b`", "<code>a</code><code>b</code>"),
        ("`a<b`", "<code>a&lt;b</code>"),
        ("<code>`", "&lt;code&gt;`"),
        ("a ` b", "a ` b"),
        ("``", "``"),
    ],
)
def test_a_name_between_backticks_is_code_and_all_else_is_escaped(text: str, shown: str) -> None:
    assert str(prose(text)) == shown


def test_a_sentence_is_cut_before_it_is_set() -> None:
    assert prose("`" + "a" * 700 + "`", 10) == "`aaaaaaaa…"
