"""Options that take a moment or a day: what cannot be read is refused with an example, by the option's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.cli.terminal import Terminal


@pytest.mark.parametrize(
    ("command", "option", "example"),
    [
        ("suite from-traces --agent a", "--since", "2026-11-01T00:00:00Z"),
        ("what-changed b", "--since", "2026-11-01T00:00:00Z"),
        ("forget", "--before", "2026-11-01"),
    ],
)
def test_a_moment_that_cannot_be_read_is_refused_with_an_example(
    tmp_path: Path, command: str, option: str, example: str
) -> None:
    refused = Terminal(tmp_path).run(*command.split(), option, "yesterday")
    assert refused.code == 2
    assert f"{option}: 'yesterday' is not a " in refused.err
    assert f"such as {example}." in refused.err
