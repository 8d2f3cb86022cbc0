"""The request of a trial."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Asker, BenchmarkId, More, Names, VersionRef
from minions_evals_mcp.domain.values import Text, VersionName
from minions_evals_mcp.engine.request import RunSettings


class TrialRequest(RunSettings):
    """Compare a candidate with the version in use: all of the open cases, and of sealed cases the verdict alone."""

    benchmark_id: Annotated[BenchmarkId, Field(description="The benchmark", examples=["support/quality"]), NAME_SAYS_IT]
    version: Annotated[
        VersionName,
        Names(("prompt-version", "prompt"), of_cases=True),
        Field(description="Candidate"),
        More("The candidate: a prompt version, or with `text` the prompt to add the version to."),
    ]
    content: Annotated[
        Annotated[Text, Field(max_length=100_000)] | None,
        Field(description="Its text, saved as a new version"),
        More("The candidate's text. It is saved as a new version of its prompt."),
    ] = None
    against: Annotated[
        VersionRef | None,
        Field(description="Instead of the version in use"),
        More("The version to beat (default: the version in use)."),
    ] = None
    sealed: Annotated[
        bool,
        Field(description="Use the sealed part: spends error budget"),
        More("Also use the sealed part. Its verdict spends error budget of the prompt."),
    ] = False
    max_attempts: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(description="Maximum number of attempts on the sealed part"),
        NAME_SAYS_IT,
    ] = None
    judge: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]  a trial waits for nobody
        Literal["auto", "heuristic", "llm"],
        Field(description="auto: each criterion's own"),
        More("auto (each criterion's own), heuristic (rules), or llm (a model)."),
    ] = "auto"
    triggered_by: Asker = "optimiser"
