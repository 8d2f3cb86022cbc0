"""The one grammar of checks, shared by heuristic criteria, test cases, imports and `minions-evals score`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Text, Value

NEGATION = "not-"
SET = "assert-set"
TURN, EVERY_TURN, AGENT_TURNS = "turn", "every-turn", "agent-turns"
"""Assertions that hold others, which look at a turn of a conversation, at each, or at all that the agent said."""
HOLDING = frozenset({SET, TURN, EVERY_TURN, AGENT_TURNS})


class Grader(Value):
    """The judge of one assertion in place of the run's model: `model` is `provider:model`.

    `params` join each request as they are. Whether it is asked with a key of its own is kept, the key is not: only the
    config that it stands in can open it, and so it is with an address (`{{env.NAME}}` may stand in it) and with what answers
    in a model's place: a function, a program, an application. Of that `model` is the name, and `code` the digest.
    """

    model: Text
    max_tokens: Annotated[int | None, Field(ge=1, exclude_if=lambda limit: limit is None)] = None
    params: Annotated[dict[str, JsonValue], Field(exclude_if=lambda held: not held)] = {}
    base_url: Annotated[str | None, Field(exclude_if=lambda url: url is None)] = None
    own_key: Annotated[bool, Field(exclude_if=lambda own: not own)] = False
    code: Annotated[str | None, Field(exclude_if=lambda code: code is None)] = None

    @property
    def name(self) -> str:
        """All that tells it from other graders, as one text."""
        return canonical(self.model_dump(mode="json"))

    @property
    def label(self) -> str:
        """The model, with whatever else tells it from the same one elsewhere."""
        return self.name if self.needs_config else self.model

    @property
    def needs_config(self) -> bool:
        """Returns whether only the config that it stands in can open it."""
        return self.own_key or self.base_url is not None or self.code is not None


class ScoringCode(Value):
    """A person's code that makes one verdict of all the assertions of a test; in it are `namedScores` and `context`."""

    language: Literal["python", "javascript"]
    code: Text


class Assertion(Value):
    """One check of an output.

    `type` names the check, `not-` before it turns its verdict round. `value` is what is looked for, `threshold` the
    score (or the limit) at which the check passes, `weight` (0 or more) its share in the aggregate, `metric` the name
    under which its score is also reported. `transform` is JavaScript that makes what is checked out of `output` and
    `context`. `provider` is the model that decides it in place of the run's, `rubric_prompt` what that is told in place
    of our words (a Nunjucks template); only a config that a person runs gives them. `config` is what code is told under
    that name, `context_transform` code that makes the context of the `context-…` types. `value_code` is code that gives
    the `value` for each output, in a config's file. `quoted` are the texts that a template put into `value`: they are not its
    author's words, and a judge reads them between marks. `assertions` (`assert` on the wire) is what an `assert-set` or a
    check of turns holds.
    A record without one of these does not mention it.
    """

    type: Text
    value: JsonValue = None
    threshold: float | None = None
    weight: Annotated[float, Field(ge=0)] = 1.0
    metric: str | None = None
    transform: Annotated[str | None, Field(exclude_if=lambda code: code is None)] = None
    provider: Annotated[Grader | None, Field(exclude_if=lambda grader: grader is None)] = None
    rubric_prompt: Annotated[str | None, Field(exclude_if=lambda template: template is None)] = None
    context_transform: Annotated[str | None, Field(exclude_if=lambda code: code is None)] = None
    config: Annotated[JsonValue, Field(exclude_if=lambda config: config is None)] = None
    value_code: Annotated[ScoringCode | None, Field(exclude_if=lambda code: code is None)] = None
    quoted: Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda texts: not texts)] = ()
    assertions: Annotated[
        tuple[Assertion, ...], Field(strict=False, alias="assert", exclude_if=lambda held: not held)
    ] = ()

    @property
    def negated(self) -> bool:
        """Returns whether the check passes when its base type does not."""
        return self.type.startswith(NEGATION)

    @property
    def base_type(self) -> str:
        """The type without its negation."""
        return self.type.removeprefix(NEGATION)
