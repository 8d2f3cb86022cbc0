"""Checks that decide before a model is asked: a final state or an effect that is wrong cannot be talked round."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.scoring.assertions.kinds.graded import GRADED
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject

DECIDING = frozenset({"state", "effect"})


def left_to_ask(assertions: Sequence[Assertion], subject: Subject) -> tuple[Assertion, ...]:
    """The assertions, without those that a model grades where a check of state or effect has failed: each must pass."""
    failed = any(
        isinstance(found := check(assertion, subject), Checked) and not found.passed
        for assertion in assertions
        if assertion.base_type in DECIDING
    )
    return tuple(one for one in assertions if one.base_type not in GRADED) if failed else tuple(assertions)
