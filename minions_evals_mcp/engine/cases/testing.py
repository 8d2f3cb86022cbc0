"""The verbs of the testing API: make test cases of a prompt, and run them against a version of it, one or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated

import anyio
from pydantic import Field, JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.values import Value, one_line
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
from minions_evals_mcp.engine.records.new_version import add_version
from minions_evals_mcp.engine.records.save_records import Arrival, changed_meanwhile, delete_record, write_batch
from minions_evals_mcp.engine.records.save_records import batch_of as batch_of_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_test_case import run_test_case
from minions_evals_mcp.engine.version_chain import cases_of_prompt, find_ref, prompt_of_case
from minions_evals_mcp.errors import BadInputError, EvalsError, InstrumentError, NotFoundError
from minions_evals_mcp.next_steps import list_them
from minions_evals_mcp.store import jobs, records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import version_rows


class NotRun(Value):
    """A test case of a batch that has no execution, and why: the instrument's fault or a missing output, never the agent's."""

    test_case_id: str
    code: str
    reason: str


class Batch(Value):
    """The result of a batch, in the order asked for."""

    executions: Annotated[tuple[TestCaseExecution, ...], Field(strict=False)]
    not_run: Annotated[tuple[NotRun, ...], Field(strict=False)] = ()

    def idents(self) -> list[str]:
        """The test cases of the batch, those that could not be run last."""
        return [part.test_case_id for part in (*self.executions, *self.not_run)]


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
    fields["inputs"] = inputs_of(input)
    if expected_output is not None:
        fields["expectedOutputs"] = output_record(expected_output, {})
    wire: Json = {"id": id or engine.new_id(), "type": TestCase.slug, "fields": fields}
    record = record_from_wire(wire, new_id="", now=engine.clock())

    def save(db: Db) -> None:
        if records.find(db, record.id) is not None:
            raise BadInputError(f"the id {record.id!r} is taken.", remedy="Leave it out, or update that test case.")
        write_batch(db, batch_of_records([Arrival(record)]), by=engine.speaker, now=record.created_at)

    await engine.store.write(save)
    return await test_case(engine, record.id)


async def create_prompt_version(
    engine: Engine,
    *,
    prompt_id: str,
    content: str,
    changelog: str = "",
    description: str | None = None,
    id: str | None = None,  # noqa: A002  as above
) -> Record[PromptVersion]:
    """The next version of the prompt, following its latest; raises as `add_version`."""
    return await add_version(
        engine, prompt_id=prompt_id, content=content, changelog=changelog, description=description, id=id
    )


async def update_test_case(
    engine: Engine,
    test_case_id: str,
    changes: Mapping[str, JsonValue],
    *,
    by: str = "python",
    seen: datetime | None = None,
) -> TestCaseSummary:
    """The case with the documented fields changed (`promptId`, `name`, `description`, `input`, `expectedOutput`).

    Another expected output is a new baseline, as by `update_expected_output`. `seen` is the `updatedAt` that the change was
    made to: where somebody changed the case since, `ConflictError` is raised. Raises `InvalidRecordError`.
    """
    case = await engine.store.read(lambda db: case_record(db, test_case_id))
    if seen is not None and case.updated_at != seen:
        raise changed_meanwhile(replace(case, updated_at=seen))
    named: Json = dict(changes)
    if "input" in named:
        named["inputs"] = inputs_of(named.pop("input"))
    if "expectedOutput" in named:
        given = named.pop("expectedOutput")
        named["expectedOutputs"] = None if given is None else output_record(given, case.fields.expected_outputs or {})
    await save_case(engine, case, named, by=by)
    return await test_case(engine, test_case_id)


async def delete_test_case(engine: Engine, test_case_id: str) -> bool:
    """Hides the case; its runs are kept. Raises `NotFoundError`."""
    await engine.store.read(lambda db: case_record(db, test_case_id))
    await delete_record(engine, test_case_id)
    return True


async def execute_test_case(  # noqa: PLR0913  the request of the API, one by one
    engine: Engine,
    test_case_id: str,
    *,
    prompt_version: int | str | None = None,
    target: str | None = None,
    recorded: bool = False,
    key: str | None = None,
    triggered_by: str = "python",
) -> TestCaseExecution:
    """A run of the case against that version of its prompt (its number, its id, `PROMPT@NUMBER`, `latest`), else its default.

    By default that is the version that the case names, else the latest of its prompt, else none. A target makes the output
    even where one is recorded, unless `recorded` is set.
    An output that there is nothing to judge by waits: `passed` and `score` are null until it is accepted or judged.
    Raises `NotFoundError` for an unknown version, `InstrumentError` where the output could not be made or judged.
    """
    await engine.store.read(lambda db: case_record(db, test_case_id))
    request = RunRequest(
        subject_id=test_case_id,
        prompt_version_ref=None if prompt_version is None else str(prompt_version),
        target=target,
        recorded=recorded,
        key=key,
        triggered_by=triggered_by,
    )
    return await execution_of_job(engine, await run_test_case(engine, request))


async def execution_of_job(engine: Engine, job: Job) -> TestCaseExecution:
    """The execution that a test case's job brought, also one that waits; raises `InstrumentError` where there is none."""
    return await engine.store.read(lambda db: _executed(db, UnitKey(job.id, 0, 1)))


async def batch_run_tests(  # noqa: PLR0913  as above
    engine: Engine,
    *,
    prompt_id: str,
    test_case_ids: Sequence[str] | None = None,
    prompt_version: int | str | None = None,
    target: str | None = None,
    recorded: bool = False,
    key: str | None = None,
    triggered_by: str = "python",
) -> Batch:
    """Every case (of those named, else all active ones of the prompt) run as by `execute_test_case`, several at once.

    What could not be run is named beside it. Raises `BadInputError` for no case, or one of another prompt, and as
    `find_version` does for an unknown version: nothing has run then.
    """
    request = RunRequest(
        subject_id=prompt_id,
        prompt_version_ref=None if prompt_version is None else str(prompt_version),
        target=target,
        recorded=recorded,
        key=key,
        triggered_by=triggered_by,
    )
    return await run_batch(engine, request, test_case_ids)


async def run_batch(engine: Engine, wanted: RunRequest, test_case_ids: Sequence[str] | None) -> Batch:
    """The batch that `wanted`, whose subject is the prompt, says for those cases; as `batch_run_tests`."""
    requests = await batch_requests(engine, wanted, test_case_ids)
    ended: dict[str, TestCaseExecution | NotRun] = {}
    places = anyio.CapacityLimiter(engine.config.concurrency)

    async def run_case(request: RunRequest) -> None:
        async with places:
            try:
                ended[request.subject_id] = await execution_of_job(engine, await run_test_case(engine, request))
            except EvalsError as error:  # one case without a verdict does not stop the others
                ended[request.subject_id] = not_run(request.subject_id, error)

    async with anyio.create_task_group() as tasks:
        for request in requests:
            tasks.start_soon(run_case, request)
    return batch_of(ended[request.subject_id] for request in requests)


def not_run(test_case_id: str, error: EvalsError) -> NotRun:
    """A case of a batch that the error kept from an execution."""
    return NotRun(test_case_id=test_case_id, code=error.code, reason=str(error))


def batch_of(ended: Iterable[TestCaseExecution | NotRun]) -> Batch:
    """The batch that those make, in their order."""
    parts = list(ended)
    return Batch(
        executions=tuple(part for part in parts if isinstance(part, TestCaseExecution)),
        not_run=tuple(part for part in parts if isinstance(part, NotRun)),
    )


async def batch_requests(
    engine: Engine, wanted: RunRequest, test_case_ids: Sequence[str] | None
) -> tuple[RunRequest, ...]:
    """The run of each case of a batch, under a key of its own; a name of a version stands for the same one in all.

    A cap on cost is shared out evenly, so that the whole keeps within it. Raises as `batch_run_tests` does.
    """
    idents, version = await engine.store.read(partial(_vetted_batch, request=wanted, named=test_case_ids))
    cap = None if wanted.max_cost_usd is None else wanted.max_cost_usd / len(idents)
    return tuple(
        wanted.model_copy(
            update={
                "subject_id": ident,
                "prompt_version_ref": version,
                "key": None if wanted.key is None else f"{wanted.key}/{ident}",
                "max_cost_usd": cap,
            }
        )
        for ident in idents
    )


def inputs_of(given: JsonValue) -> Json:
    """The documented `input` as the inputs of a case: a plain value is their entry `input`."""
    return given if isinstance(given, dict) else {"input": given}


def _vetted_batch(db: Db, *, request: RunRequest, named: Sequence[str] | None) -> tuple[list[str], str | None]:
    """The cases of a batch, each once, and the id of the version that is asked for."""
    prompt_id, version = request.subject_id, request.prompt_version_ref
    idents = _active_cases(db, prompt_id) if named is None else list(dict.fromkeys(named))
    if not idents:
        raise BadInputError("no test case named.", remedy="Give test_case_ids.")
    for ident in idents:
        if prompt_of_case(db, case_record(db, ident).fields) != prompt_id:
            if not version_rows.is_prompt(db, prompt_id):
                raise NotFoundError("prompt", prompt_id)
            raise BadInputError(f"test-case {ident} does not belong to the prompt {prompt_id}.")
    if version is None:
        return idents, None
    ref = find_ref(db, version, prompt=prompt_id)
    # Under a key each run keeps what the name stood for when it began, so the name itself must go on to it.
    return idents, ref if request.key is None else version


def _active_cases(db: Db, prompt_id: str) -> list[str]:
    idents = [case.id for case in cases_of_prompt(db, prompt_id) if case.fields.status == "active"]
    if not idents:
        raise NotFoundError("test-case of the prompt", prompt_id, remedy=list_them("test-case"))
    return idents


def _executed(db: Db, key: UnitKey) -> TestCaseExecution:
    job = jobs.job(db, key.job_id)
    assert job is not None, "it was just run"
    case = records.require(db, job.subject_id, TestCase)
    run = records.get(db, key.run_id, TestRun)
    if run is not None:
        return execution_of(run, case, runs.rationales_of(db, [run.id]).get(run.id, ""))
    row = jobs.units(db, job.id, first=0, last=1).get((0, key.trial))
    if row is None or row.observed is None:
        why = job.reason if row is None else f"{row.outcome}: {row.reason}"
        kind = BadInputError if row is not None and row.outcome == "skipped" else InstrumentError
        raise kind(f"{case.id} has no output: {one_line(why)}.")
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
