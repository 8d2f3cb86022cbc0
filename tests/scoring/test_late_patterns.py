"""A pattern that is compiled late is the same pattern."""

from __future__ import annotations

import re

import pytest

from minions_evals_mcp.late_patterns import late


def test_it_finds_what_the_compiled_one_finds() -> None:
    text = "Ticket ref-1, TICKET REF-22"
    ours, theirs = late(r"ref-(\d+)", re.IGNORECASE), re.compile(r"ref-(\d+)", re.IGNORECASE)
    assert [match[1] for match in ours.finditer(text)] == [match[1] for match in theirs.finditer(text)] == ["1", "22"]
    assert ours.sub("…", text) == theirs.sub("…", text)
    assert (ours.pattern, ours.groups) == (theirs.pattern, theirs.groups)


def test_it_is_compiled_by_the_first_look_only() -> None:
    broken = late("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")
