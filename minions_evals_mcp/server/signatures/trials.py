"""The arguments and answer of the tool that tries a candidate version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.values import VersionName
from minions_evals_mcp.server.edge.answer import Answer, Object
from minions_evals_mcp.server.edge.argument_types import Cap, Id, Key, Target, Trials, Version
from minions_evals_mcp.server.edge.guard import Arguments


class TryVersion(Arguments):
    """try_version"""

    benchmark_id: Id
    version: Annotated[VersionName, Field(description="Candidate")]
    content: Annotated[str | None, Field(max_length=100_000, description="Its text, kept as a new version")] = None
    against: Version = None
    sealed: Annotated[bool, Field(description="Ask the sealed part: spends budget")] = False
    judge: Annotated[Literal["auto", "heuristic", "llm"], Field(description="auto: each criterion's own")] = "auto"
    target: Target | None = None
    trials: Trials = 1
    idempotency_key: Key = None
    wait_seconds: Annotated[float, Field(ge=1, le=50, description="The run goes on after it")] = 50
    max_cost_usd: Cap | None = None


class TrialAnswer(Answer):
    """A candidate beside the version in use: `open` whole, of `sealed` the verdict, and the `budget` that is left."""

    version: str = ""
    against: str = ""
    open: Object | None = None
    sealed: Object | None = None
    budget: Object | None = None
    may_be_approved: bool = False
