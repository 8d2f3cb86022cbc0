"""Parts of a request's fields: help in two lengths, and the bounds that several requests share."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from minions_evals_mcp.domain.providers import PROVIDERS, examples
from minions_evals_mcp.domain.values import Text
from minions_evals_mcp.frozen_types import frozen_type

MAX_REPEATS = 1000
"""The most trials or iterations of one case."""

Repeats = Annotated[int, Field(ge=1, le=MAX_REPEATS)]
Dollars = Annotated[float, Field(gt=0)]
"""US dollars, more than 0."""
Seconds = Annotated[float, Field(gt=0)]
"""Seconds, more than 0."""


def _model_only(name: str) -> str:
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not model:
        raise ValueError(
            f"name a model ({examples()}); a target that runs code or calls an address is named by the operator"
        )
    return name


ModelTarget = Annotated[str, StringConstraints(max_length=120), AfterValidator(_model_only)]
"""The target that a tool or a message may name: a model, never code, a command or an address."""


@frozen_type
class More:
    """The long help of a field. The command line shows it in place of the short description."""

    text: str


@frozen_type
class NameSaysIt:
    """Marks a field whose name says enough for a model: its tool's schema goes without the description, which hosts pay for."""


NAME_SAYS_IT: Final = NameSaysIt()
Asker = Annotated[Text, Field(description="Who asks: an agent's, a person's or a schedule's id"), NAME_SAYS_IT]
"""Who asks."""
