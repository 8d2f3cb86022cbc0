"""Figures that a promptfoo provider reports beside its output: one that can be none is the provider's error."""

from __future__ import annotations

import math

import pytest

from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.responders import returned

ASKED = TargetQuestion("p.py", None, None, 5)


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"cost": -1}, "p.py: it reported a cost of -1"),
        ({"cost": math.nan}, "p.py: it reported a cost of nan"),
        ({"tokenUsage": {"prompt": -5}}, "p.py: it reported a prompt token count of -5"),
        ({"tokenUsage": {"completion": -0.5}}, "p.py: it reported a completion token count of -0.5"),
    ],
)
def test_a_figure_that_can_be_none_is_the_providers_error(beside: dict[str, object], said: str) -> None:
    found = returned({"output": "hi", **beside}, ASKED, 1.0, {})
    assert isinstance(found, TargetErrored)
    assert found.reason.startswith(said)


def test_what_is_no_number_is_unknown() -> None:
    found = returned({"output": "hi", "cost": "free", "tokenUsage": {"prompt": 5, "completion": 0.5}}, ASKED, 1.0, {})
    assert isinstance(found, Observed)
    assert (found.cost_usd, found.input_tokens, found.output_tokens) == (None, 5, None)
