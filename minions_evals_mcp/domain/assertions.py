"""The one grammar of checks, shared by heuristic criteria, test cases, imports and `minions-evals score`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.values import Text, Value

NEGATION = "not-"


class Assertion(Value):
    """One check of an output.

    `type` names the check, `not-` before it turns its verdict round. `value` is what is looked for, `threshold` the
    score (or the limit) at which the check passes, `weight` (0 or more) its share in the aggregate, `metric` the name
    under which its score is also reported. `transform` is JavaScript that makes what is checked out of `output` and
    `context`. `assertions` (`assert` on the wire) is what an `assert-set` holds; only it
    has some, and a record without does not mention them.
    """

    type: Text
    value: JsonValue = None
    threshold: float | None = None
    weight: Annotated[float, Field(ge=0)] = 1.0
    metric: str | None = None
    transform: Annotated[str | None, Field(exclude_if=lambda code: code is None)] = None
    assertions: Annotated[
        tuple[Assertion, ...], Field(strict=False, alias="assert", exclude_if=lambda held: not held)
    ] = ()

    @property
    def negated(self) -> bool:
        """Whether the check passes when its base type does not."""
        return self.type.startswith(NEGATION)

    @property
    def base_type(self) -> str:
        """The type without its negation."""
        return self.type.removeprefix(NEGATION)
