"""Run a test case: judge one output of it, and record score, reasons and failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, AgentRunId, More, PromptId, TestCaseId
from minions_evals_mcp.engine.request import MOST_CASES, PromptVersionChoice, RunRequest, RunSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minions_evals_mcp.engine.cases.test_history import TestCaseExecution
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.estimate import Estimate
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.store.jobs import Job as Answer


class Request(RunSettings):
    """Judge one output of a test case, or of each of a prompt's cases."""

    test_case_id: Annotated[
        TestCaseId | None, Field(description="The test case", examples=["support/refund"]), NAME_SAYS_IT
    ] = None
    prompt_id: Annotated[PromptId | None, Field(description="A batch")] = None
    test_case_ids: Annotated[
        tuple[TestCaseId, ...] | None,
        Field(strict=False, min_length=1, max_length=MOST_CASES, description="Only these of the prompt's cases"),
        NAME_SAYS_IT,
    ] = None
    agent_run_id: Annotated[
        AgentRunId | None,
        Field(description="Judge this recorded output"),
        More("Judge the output of this recorded agent-run."),
    ] = None
    prompt_version_ref: PromptVersionChoice = None

    @model_validator(mode="after")
    def _one_case_or_a_batch(self) -> Self:
        if (self.test_case_id is None) == (self.prompt_id is None):
            raise ValueError("testCaseId: give testCaseId, or promptId for a batch of its cases")
        if self.test_case_ids is not None and self.prompt_id is None:
            raise ValueError("testCaseIds: needs promptId, the prompt of these cases")
        if self.agent_run_id is not None and self.test_case_id is None:
            raise ValueError("agentRunId: needs testCaseId")
        return self

    @property
    def subject_id(self) -> str:
        """The test case, or the prompt of a batch."""
        subject = self.test_case_id or self.prompt_id
        assert subject is not None
        return subject


def run_request(request: Request, *, default_target: str | None = None) -> RunRequest:
    """The engine's request. `default_target` makes what is not recorded where the caller names no target."""
    return RunRequest.asked_with_default(request, default_target, subject_id=request.subject_id)


async def run(
    engine: Engine,
    request: Request | RunRequest,
    *,
    default_target: str | None = None,
    progress: Progress | None = None,
) -> Answer:
    """The job at its end, of a request that names one test case. The engine's own request is taken as it is."""
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.run.run_test_case import run_test_case  # noqa: PLC0415  as above

    is_ready = isinstance(request, RunRequest)
    asked = request if is_ready else run_request(request, default_target=default_target)
    return await run_test_case(engine, asked, progress=progress or silent)


async def execution(engine: Engine, request: Request, *, default_target: str | None = None) -> TestCaseExecution:
    """The execution of a request that names one test case; raises `InstrumentError` where there is none."""
    from minions_evals_mcp.engine.cases.testing import execution_of_job  # noqa: PLC0415  as above

    return await execution_of_job(engine, await run(engine, request, default_target=default_target))


async def start(engine: Engine, request: Request, *, default_target: str | None = None) -> Started:
    """The job of a request that names one test case, recorded and ready to run."""
    from minions_evals_mcp.engine.run.run_test_case import start_test_case  # noqa: PLC0415  as above

    return await start_test_case(engine, run_request(request, default_target=default_target))


async def batch(engine: Engine, request: Request, *, default_target: str | None = None) -> Sequence[RunRequest]:
    """The requests of a batch, one for each of the prompt's cases."""
    from minions_evals_mcp.engine.cases.testing import batch_requests  # noqa: PLC0415  as above

    return await batch_requests(engine, run_request(request, default_target=default_target), request.test_case_ids)


async def estimate(engine: Engine, request: Request, *, default_target: str | None = None) -> list[Estimate]:
    """The work of each case and the most that it can cost; nothing runs."""
    from minions_evals_mcp.engine.run.estimate import estimate as estimated  # noqa: PLC0415  as above

    if request.prompt_id is None:
        asked: Sequence[RunRequest] = [run_request(request, default_target=default_target)]
    else:
        asked = await batch(engine, request, default_target=default_target)
    return [await estimated(engine, one, kind="test-case") for one in asked]
