"""An output is rendered with its lines; what is code from its first line on stays code, and what only sounds so does not."""

from __future__ import annotations

import pytest

from minions_evals_mcp.view.rich_output import code_language, rendered_output


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("def mean(values):\n    return sum(values) / len(values)\n", "python"),
        ("from a import b\n\n\ndef c():\n    b()", "python"),
        ("async function go() {\n  await b();\n}", "javascript"),
        ("const a = 1;\nconsole.log(a);", "javascript"),
        ("SELECT id\nFROM orders\n  WHERE state = 'paid'", "sql"),
        ("Here it is:\n\n    def a(): ...", ""),
        ("class action suits:\n  there are two", ""),
        ("import duties rise again\n  and so do prices:", ""),
        ("def mean(values): return 1", ""),
        ("# A heading\n\n```python\ndef a():\n    b\n```", ""),
    ],
)
def test_only_what_begins_as_code_and_has_its_shape_is_code(text: str, language: str) -> None:
    assert code_language(text) == language


def test_lines_end_where_they_ended_and_code_keeps_its_indentation() -> None:
    assert "paid with.<br>\nYour ticket" in rendered_output("The card that you paid with.\nYour ticket is T-1.")
    shown = rendered_output('def a():\n    return "<b>"\n')
    assert "\n    <span" in shown
    assert "<b>" not in shown
