"""Advice within a stored text is shown in words, and text from outside that looks like it does no harm."""

from __future__ import annotations

import pytest

from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.report.plain import printable


def test_advice_in_a_stored_reason_is_shown_in_words() -> None:
    reason = f"stopped: {Next('runs', {'run_id': 'r1'}, 'shows it')}, or use another {argument('key')}."
    assert printable(reason) == "stopped: runs (run_id=r1) shows it, or use another key."


@pytest.mark.parametrize(
    "inner", ["", "x", "a \ue002{", "a \ue002{}", "a \ue002[]\ue002 b", "a \ue002null\ue002 b\ue002 c"]
)
@pytest.mark.parametrize("sign", ["\ue000", "\ue001"])
def test_text_from_outside_that_looks_like_advice_is_shown_as_text(sign: str, inner: str) -> None:
    shown = printable(f"before {sign}{inner}\ue003 after")
    assert shown.isprintable()
    assert (shown.startswith("before "), shown.endswith(" after")) == (True, True)
