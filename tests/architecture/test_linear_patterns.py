"""No pattern of ours takes time that grows faster than the text it is given."""

from __future__ import annotations

import re

import pytest

from tests.architecture.adversarial import Found, busy, patterns


def test_every_pattern_is_linear_on_texts_made_to_keep_it_busy() -> None:
    everything = patterns()
    assert len(everything) > 500
    slow = [f"{found.where}: {found.pattern[:100]!r} on {pump}" for found, pump in busy(everything)]
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    "pattern",
    [r"\{\{.*?\}\}", r"\s+$", r"(?:a|a)*b", r"[\w.+-]+@[\w-]+\.\w+", r"'(?:[^'\\]|\\.)*'"],
)
def test_a_pattern_that_is_not_linear_is_found(pattern: str) -> None:
    assert busy([Found("here", pattern, re.DOTALL)])


def test_a_linear_pattern_is_none_of_them() -> None:
    assert not busy(
        [Found("here", pattern, 0) for pattern in (r"(?<!a)a++b", r"(?<!\s)\s++\Z", r"\d{1,40}x", r",[^,]{0,40}+;")]
    )
