"""The verbs of the testing API: make test cases of a prompt, and run them against a version of it, one or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

import anyio
from pydantic import Field, JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.cases.baselines import output_record, save_case
from minions_evals_mcp.engine.cases.test_history import (
    TestCaseExecution,
    TestCaseSummary,
    case_record,
    execution_of,
    expected_text,
    test_case,
)
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, delete_record, save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_test_case import run_test_case
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db


class NotRun(Value):
    """A test case of a batch that has no execution, and why: the instrument's fault or a missing output, never the agent's."""

    test_case_id: str
    code: str
    reason: str


class Batch(Value):
    """What a batch came to, in the order asked for."""

    executions: Annotated[tuple[TestCaseExecution, ...], Field(strict=False)]
    not_run: Annotated[tuple[NotRun, ...], Field(strict=False)] = ()


async def create_test_case(  # noqa: PLR0913  the documented fields
    engine: Engine,
    *,
    prompt_id: str,
    name: str,
    input: JsonValue,  # noqa: A002  the documented name
    expected_output: JsonValue = None,
    description: str = "",
    id: str | None = None,  # noqa: A002  as above
) -> TestCaseSummary:
    """A new test case of the prompt, which passes by similarity (0.8); raises `InvalidRecordError`, for a taken id too."""
    fields: Json = {"promptId": prompt_id, "name": name, "description": description}
    fields["inputs"] = _inputs(input)
    if expected_output is not None:
        fields["expectedOutputs"] = output_record(expected_output, {})
    wire: Json = {"id": id or engine.new_id(), "type": TestCase.slug, "fields": fields}
    record = record_from_wire(wire, new_id="", now=engine.clock())
    if await engine.store.read(lambda db: records.find(db, record.id)) is not None:
        raise BadInputError(f"the id {record.id!r} is taken.", remedy="Leave it out, or update that test case.")
    await save_records(engine, [Arrival(record)])
    return await test_case(engine, record.id)


async def update_test_case(
    engine: Engine, test_case_id: str, changes: Mapping[str, JsonValue], *, by: str = "python"
) -> TestCaseSummary:
    """The case with the documented fields changed (`promptId`, `name`, `description`, `input`, `expectedOutput`).

    Another expected output is a new baseline, as by `update_expected_output`. Raises `InvalidRecordError`.
    """
    kept = await engine.store.read(lambda db: case_record(db, test_case_id))
    named: Json = dict(changes)
    if "input" in named:
        named["inputs"] = _inputs(named.pop("input"))
    if "expectedOutput" in named:
        given = named.pop("expectedOutput")
        named["expectedOutputs"] = None if given is None else output_record(given, kept.fields.expected_outputs or {})
    await save_case(engine, kept, named, by=by)
    return await test_case(engine, test_case_id)


async def delete_test_case(engine: Engine, test_case_id: str) -> bool:
    """Hides the case; its runs are kept. Raises `NotFoundError`."""
    await engine.store.read(lambda db: case_record(db, test_case_id))
    await delete_record(engine, test_case_id)
    return True


async def execute_test_case(
    engine: Engine,
    test_case_id: str,
    *,
    prompt_version: int | str | None = None,
    target: str | None = None,
    key: str | None = None,
    triggered_by: str = "python",
) -> TestCaseExecution:
    """A run of the case against that version of its prompt (its number, its id, `PROMPT@NUMBER`, `latest`), else its default.

    By default that is the version that the case names, else the latest of its prompt, else none.
    An output that there is nothing to judge by waits: `passed` and `score` are null until it is accepted or judged.
    Raises `NotFoundError` for an unknown version, `InstrumentError` where the output could not be made or judged.
    """
    await engine.store.read(lambda db: case_record(db, test_case_id))
    request = RunRequest(
        subject_id=test_case_id,
        prompt_version_ref=None if prompt_version is None else str(prompt_version),
        target=target,
        key=key,
        triggered_by=triggered_by,
    )
    job = await run_test_case(engine, request)
    return await engine.store.read(lambda db: _executed(db, UnitKey(job.id, 0, 1)))


async def batch_run_tests(  # noqa: PLR0913  as above
    engine: Engine,
    *,
    prompt_id: str,
    test_case_ids: Sequence[str],
    prompt_version: int | str | None = None,
    target: str | None = None,
    key: str | None = None,
    triggered_by: str = "python",
) -> Batch:
    """Every case run as by `execute_test_case`, several at once; what could not be run is named beside it.

    Raises `BadInputError` for no case, or one of another prompt: nothing has run then.
    """
    idents = list(dict.fromkeys(test_case_ids))
    await engine.store.read(lambda db: _vet_batch(db, prompt_id, idents))
    ended: dict[str, TestCaseExecution | NotRun] = {}
    places = anyio.CapacityLimiter(engine.config.concurrency)

    async def one(ident: str) -> None:
        own = None if key is None else f"{key}/{ident}"
        async with places:
            try:
                ended[ident] = await execute_test_case(
                    engine, ident, prompt_version=prompt_version, target=target, key=own, triggered_by=triggered_by
                )
            except EvalsError as error:  # one case without a verdict does not stop the others
                ended[ident] = NotRun(test_case_id=ident, code=error.code, reason=str(error))

    async with anyio.create_task_group() as tasks:
        for ident in idents:
            tasks.start_soon(one, ident)
    found = [ended[ident] for ident in idents]
    return Batch(
        executions=tuple(one for one in found if isinstance(one, TestCaseExecution)),
        not_run=tuple(one for one in found if isinstance(one, NotRun)),
    )


def _inputs(given: JsonValue) -> Json:
    return given if isinstance(given, dict) else {"input": given}


def _vet_batch(db: Db, prompt_id: str, idents: Sequence[str]) -> None:
    if not idents:
        raise BadInputError("no test case is named.", remedy="Give test_case_ids.")
    for ident in idents:
        if case_record(db, ident).fields.prompt_id != prompt_id:
            raise BadInputError(f"test-case {ident} is not one of the prompt {prompt_id}.")


def _executed(db: Db, key: UnitKey) -> TestCaseExecution:
    row = jobs.units(db, key.job_id, first=0, last=1)[0, key.trial]
    case = records.require(db, row.case_id, TestCase)
    run = records.get(db, key.run_id, TestRun)
    if run is not None:
        return execution_of(run, case)
    job = jobs.job(db, key.job_id)
    assert job is not None, "it was just run"
    assert row.observed is not None, row.outcome
    return _waiting(key, case, row.observed, at=job.created_at)


def _waiting(key: UnitKey, case: Record[TestCase], seen: Observed, *, at: datetime) -> TestCaseExecution:
    """An output that nothing decides yet, under the id that its run will have."""
    return TestCaseExecution(
        id=key.run_id,
        test_case_execution_id=key.run_id,
        test_case_id=case.id,
        execution_id=seen.execution_id or seen.agent_run_id or key.run_id,
        passed=None,
        score=None,
        actual_output=output_text(seen.output),
        expected_output=expected_text(case.fields),
        latency_ms=seen.latency_ms,
        cost_usd=seen.cost_usd,
        created_at=at,
    )
