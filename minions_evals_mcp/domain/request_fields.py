"""Parts of a request's fields: help in two lengths, and the bounds that several requests share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, get_args

from pydantic import AfterValidator, Field, StringConstraints

from minions_evals_mcp.domain.providers import PROVIDERS, examples
from minions_evals_mcp.domain.values import Id, Text, VersionName
from minions_evals_mcp.frozen_types import frozen_type

MAX_REPEATS = 1000
"""The most trials or iterations of one case."""
OF_A_CONFIG, OF_A_FUNCTION = "config:", "evaluate:"
"""How targets begin that no command line can name: a column of a config, a function that a program gives `evaluate`."""
OWN_TARGETS = ("python:", "command:", "http:", "https:")
"""How a target begins that runs the user's code or calls an address of theirs: no other command can say whether it works."""

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


@frozen_type
class Names:
    """Marks a field that holds ids: `kinds` are the types of the records that it names, `prompt`, and `record` for any."""

    kinds: tuple[str, ...]
    of_cases: bool = False
    """Whether `latest` is the newest version of the prompt that the cases are of, and not the newest of all."""


TestCaseId = Annotated[Id, Names(("test-case",))]
BenchmarkId = Annotated[Id, Names(("benchmark",))]
PROMPT = "prompt"
"""What names a prompt, which is no record: versions and test cases say of which they are."""
PromptId = Annotated[Id, Names((PROMPT,))]
VersionId = Annotated[Id, Names(("prompt-version",))]
VersionRef = Annotated[VersionName, Names(("prompt-version",), of_cases=True)]
BranchId = Annotated[Id, Names(("test-branch",))]
AgentRunId = Annotated[Id, Names(("agent-run",))]
ComparisonId = Annotated[Id, Names(("prompt-comparison",))]
WorldId = Annotated[Id, Names(("world",))]


def names_in(annotation: object, metadata: Iterable[object] = ()) -> Names | None:
    """The mark of a field that holds ids, wherever its annotation has it; None where it holds none."""
    marks = (part for part in (*metadata, *getattr(annotation, "__metadata__", ())) if isinstance(part, Names))
    inside = (names_in(part) for part in get_args(annotation))
    return next(marks, None) or next((mark for mark in inside if mark is not None), None)


Asker = Annotated[Text, Field(description="Id of the agent, person or schedule that asks"), NAME_SAYS_IT]
"""Who asks."""
