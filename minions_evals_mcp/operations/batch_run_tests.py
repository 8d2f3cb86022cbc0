"""Run several test cases of a prompt against one of its versions, each compared with its own history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, PromptId, TestCaseId
from minions_evals_mcp.engine.request import MOST_CASES, PromptVersionChoice, RunRequest, RunSettings

if TYPE_CHECKING:
    from minions_evals_mcp.engine.cases.test_history import TestCaseExecution
    from minions_evals_mcp.engine.cases.testing import Batch as Answer
    from minions_evals_mcp.engine.cases.testing import NotRun
    from minions_evals_mcp.engine.context import Engine


Execution: TypeAlias = "TestCaseExecution"
Refused: TypeAlias = "NotRun"


class Request(RunSettings):
    """Run several test cases of a prompt, else all active ones."""

    prompt_id: Annotated[PromptId, Field(description="The prompt"), NAME_SAYS_IT]
    test_case_ids: Annotated[
        tuple[TestCaseId, ...] | None,
        Field(
            strict=False,
            min_length=1,
            max_length=MOST_CASES,
            description="Default: every active test case of the prompt",
        ),
    ] = None
    prompt_version_ref: PromptVersionChoice = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if self.trials > 1:
            raise ValueError("trials: a batch runs each case once; run one case to repeat it")
        return self


async def run(engine: Engine, request: Request, *, default_target: str | None = None) -> Answer:
    """The executions in the order asked for, and beside them what could not be run.

    Raises `BadInputError` for no case, or one of another prompt, and `NotFoundError` for an unknown version: nothing has run then.
    """
    from minions_evals_mcp.engine.cases.testing import run_batch  # noqa: PLC0415  the engine, at the first call

    asked = RunRequest.asked_with_default(request, default_target, subject_id=request.prompt_id)
    return await run_batch(engine, asked, request.test_case_ids)
