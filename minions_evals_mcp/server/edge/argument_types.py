"""The arguments of each tool. Bounds stand here, at the edge; inside, the values are trusted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, WithJsonSchema

from minions_evals_mcp.domain.providers import PROVIDERS, examples
from minions_evals_mcp.domain.values import ID_PATTERN, VersionName

Detail = Literal["summary", "full"]
Json = dict[str, JsonValue]
MOST_WAITED_S = 50
SAVED_AT_ONCE = 200
ROWS_AT_ONCE = 100
LONGEST_OUTPUT = 50_000
"""Characters of one output that is scored: the checks' work grows with it."""
RUN = "run"
MESSAGE = "message"
"""A message that `send_message` took in, as `agent-message` is one that the outbox holds for others."""
LISTED = (
    RUN, MESSAGE, "test-case", "rubric", "rubric-criterion", "benchmark", "test-branch", "test-run", "eval-judgment",
    "benchmark-run", "eval-metric", "eval-trend", "prompt-comparison", "eval-failure", "approval", "test-branch-execution",
    "judge-licence", "audit",
    "agent-run", "prompt-version", "skill-definition", "proposal-draft", "agent-message", "task", "approval-request",
    "memory-item", "world",
)  # fmt: skip

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN), WithJsonSchema({"type": "string"})]
Name = Annotated[str, StringConstraints(max_length=200, pattern=r"\S"), WithJsonSchema({"type": "string"})]
Key = Annotated[Name | None, Field(description="Same key, same run")]
Wait = Annotated[float, Field(ge=0, le=MOST_WAITED_S, description="0 to 50")]
QuickWait = Annotated[
    float | None,
    Field(
        ge=0,
        le=MOST_WAITED_S,
        description="Default: 10 if rules judge, otherwise 0",
    ),
]
Cursor = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{1,18}$"),
    WithJsonSchema({"type": "string", "description": "An answer's nextCursor"}),
]
Fields = Annotated[list[Name], Field(max_length=20, description="Show these keys only")]
Cap = Annotated[
    float, Field(gt=0, le=1_000_000), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]  # its name says the rest
Dry = Annotated[bool, Field(description="Only tell the cost")]


Cases = Annotated[
    list[Id],
    Field(min_length=1, max_length=1000),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]


def _model_target(name: str) -> str:
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not model:
        raise ValueError(
            f"a tool can name only a model ({examples()}). The operator names code, commands and addresses when starting the server with"
            " --target"
        )
    return name


Target = Annotated[
    str,
    StringConstraints(max_length=120),
    AfterValidator(_model_target),
    WithJsonSchema({"type": "string", "description": "Makes missing outputs, e.g. anthropic:MODEL"}),
]
Judge = Annotated[
    Literal["auto", "heuristic", "llm", "human", "caller"],
    Field(description="auto: each criterion's own; caller: you judge"),
]
Version = Annotated[
    VersionName | None,
    Field(description="Id, number or latest"),
]
Trials = Annotated[int, Field(ge=1, le=100)]
Limit = Annotated[
    int,
    Field(ge=1, le=100),
    WithJsonSchema({"type": "integer", "maximum": 100, "description": "Rows a page"}),
]
