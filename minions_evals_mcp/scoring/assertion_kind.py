"""What one assertion type is: its check, what refuses a value that does not fit, and what it needs of the outside."""

from __future__ import annotations

from collections.abc import Callable

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.checks import Evidence, Need, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult


def no_needs(_assertion: Assertion, _subject: Subject) -> tuple[Need, ...]:
    return ()


def _anything(_assertion: Assertion) -> None:
    return


@frozen_type
class AssertionKind:
    """One type: its check, what refuses a value that does not fit it, and what it needs of the outside."""

    check: Callable[[Assertion, Subject, Evidence], UnweightedResult | Unmet]
    vet: Callable[[Assertion], None] = _anything
    needs: Callable[[Assertion, Subject], tuple[Need, ...]] = no_needs
    turned_there: bool = True
    """Whether promptfoo 0.123.1 turns its verdict round for `not-`, too; where it does not, a verdict by a config says so."""

    stands_alone: bool = False
    """Whether it needs no value: what a case expects is none of its own."""

    may_ask: Callable[[Assertion], bool] | None = None
    """Whether it may need something, whatever the output; without it every type that has needs may."""

    def note_on_turn(self, assertion: Assertion, subject: Subject) -> str:
        """What the reason says of a verdict that was turned round; mostly nothing."""
        differs = subject.of_config and not self.turned_there
        return f"; {assertion.type} inverts this, unlike promptfoo" if differs else ""
