"""What a run is asked for, and what it turned out to be."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Id, Text, Value

JudgeChoice = Literal["auto", "heuristic", "llm", "human", "caller"]
JudgeKind = Literal["heuristic", "llm", "human", "caller"]


class RunRequest(Value):
    """A benchmark or a test case to be run. The fields down to `purpose` are frozen with the run's key."""

    subject_id: Id
    agent_run_id: Id | None = None
    prompt_version_ref: Id | None = None
    judge: JudgeChoice = "auto"
    target: str | None = None
    trials: Annotated[int, Field(ge=1, le=1000)] = 1
    fresh: bool = False
    triggered_by: Text = "command-line"
    purpose: Literal["scheduled", "manual", "comparison"] = "manual"
    key: Text | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    max_seconds: Annotated[float, Field(gt=0)] | None = None

    def frozen(self) -> Json:
        """What must be the same when the run is resumed under its key."""
        return self.model_dump(mode="json", exclude={"key", "max_cost_usd", "max_seconds"})
