"""Classify a failure: say again why a test-run failed, or why each failed test-run of a run did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Dollars, More, Names
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.errors import InstrumentError, StoppedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from minions_evals_mcp.domain.records import Record
    from minions_evals_mcp.domain.results import EvalFailure
    from minions_evals_mcp.engine.answers.failure_causes import Cause
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.failures.classify_failure import ClassifyEstimate
    from minions_evals_mcp.engine.failures.explain_failure import Explainer

    Answer = Sequence[Record[EvalFailure]]


class Request(Value):
    """Say why a test-run failed, or why each failed test-run of a run did."""

    run_id: Annotated[
        Annotated[Text, Field(max_length=200), Names(("run", "test-run", "eval-failure"))],
        Field(description="RUN:CASE, a failed test-run, its failure, or a run"),
        More("RUN:CASE or a failed test-run's id. A run's id or key explains each of its failures."),
    ]
    ask_model: Annotated[bool | None, Field(description="Ask where rules are unsure")] = None
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        NAME_SAYS_IT,
        More("Stop before spending more than this. Finished analyses are saved."),
    ] = None


async def run(engine: Engine, request: Request) -> Answer:
    """The eval-failures, analysed again.

    Raises `NotFoundError`, `BadInputError` for a run that passed, `InstrumentError` where the model failed, and `StoppedError`
    at the cap.
    """
    by = explainer_of(engine, request)
    return [failure async for failure in analysed(engine, await failed_runs(engine, request), by)]


def explainer_of(engine: Engine, request: Request, *, by_operator: bool = False) -> Explainer:
    """The model that may be asked, within the request's cap. `by_operator`: only where the operator allows it.

    Raises `UnsupportedError` where the operator does not.
    """
    from minions_evals_mcp.engine.failures.explain_failure import ALLOW, explainer  # noqa: PLC0415  the engine, at the first call

    if by_operator and request.ask_model and not engine.config.explain:
        raise UnsupportedError(
            "the operator of this server does not allow model calls here.",
            remedy=f"Leave askModel out, or ask the operator: {ALLOW}",
        )
    return explainer(engine, allowed=request.ask_model, max_cost_usd=request.max_cost_usd)


async def failed_runs(engine: Engine, request: Request) -> list[str]:
    """The ids of the failed test-runs that the request is about."""
    from minions_evals_mcp.engine.failures.classify_failure import failed_run_ids  # noqa: PLC0415  as above

    return await failed_run_ids(engine, request.run_id)


async def analysed(engine: Engine, test_run_ids: Sequence[str], by: Explainer) -> AsyncIterator[Record[EvalFailure]]:
    """Each failure once it is analysed."""
    from minions_evals_mcp.engine.failures.classify_failure import classify_failure  # noqa: PLC0415  as above

    for ident in test_run_ids:
        yield await classify_failure(engine, ident, by=by)


async def learnt(engine: Engine, test_run_id: str, by: Explainer) -> Record[EvalFailure]:
    """The failure, analysed again where a model may say more; what the rules found is remembered in any case."""
    from minions_evals_mcp.engine.failures.classify_failure import classify_failure, store_findings  # noqa: PLC0415  as above

    if by.model is None:
        return await store_findings(engine, test_run_id)
    try:
        return await classify_failure(engine, test_run_id, by=by)
    except StoppedError:  # others have asked the last of the day's questions meanwhile
        return await store_findings(engine, test_run_id)
    except InstrumentError:  # the model may be down for longer than the message is tried again
        await store_findings(engine, test_run_id)
        raise


async def causes(engine: Engine, request: Request) -> list[Cause]:
    """What the failures of a run go back to, the costliest first; nothing for one test-run."""
    from minions_evals_mcp.engine.answers.failure_causes import read_causes  # noqa: PLC0415  as above

    return list(await read_causes(engine, request.run_id))


async def estimate(engine: Engine, request: Request, test_run_ids: Sequence[str] | None = None) -> ClassifyEstimate:
    """The model calls of those failures, else of all, and the most that they can cost; nothing is asked."""
    from minions_evals_mcp.engine.failures.classify_failure import estimate_classification  # noqa: PLC0415  as above

    wanted = await failed_runs(engine, request) if test_run_ids is None else test_run_ids
    return await estimate_classification(engine, wanted, explainer_of(engine, request))
