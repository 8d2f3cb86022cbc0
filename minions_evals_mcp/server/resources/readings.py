"""The reading of each resource, by the functions that the tools use, within the size of a tool's longest answer."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import cast

from mcp_types import CallToolResult
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.domain.values import iso, known_names
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.operations import detect_trend as trends
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.views import outboxes, runs
from minions_evals_mcp.operations.views import records as views
from minions_evals_mcp.operations.views.production import MOST_HOURS, ProductionFilter, read_production
from minions_evals_mcp.server.answers.message import message_answer
from minions_evals_mcp.server.answers.sizes import WHOLE, Pages, Shape, answered, fitted
from minions_evals_mcp.server.edge.argument_types import LISTED, MESSAGE, RUN
from minions_evals_mcp.server.resources import addresses
from minions_evals_mcp.server.resources.answers import IndexAnswer, OutboxAnswer, ProductionAnswer, ResultsAnswer
from minions_evals_mcp.server.resources.guide import GUIDE
from minions_evals_mcp.server.resources.schema import minion_type, shapes_of
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import GetStatistics
from minions_evals_mcp.server.signatures.records import GetRecord
from minions_evals_mcp.server.tools.analysis import trend_answer
from minions_evals_mcp.server.tools.records import record_answer
from minions_evals_mcp.server.tools.running import run_answer
from minions_evals_mcp.server.tools.statistics import get_statistics
from minions_evals_mcp.skills import NAMES

AT_ONCE = 200
POINTS = 60
NEWEST = 10
FULL = Shape("full")


async def index(call: Call) -> str:
    """Returns how many records of each type there are, and the newest runs."""
    counts, jobs = await views.overview(call.engine, LISTED, newest=NEWEST)
    newest = [_run_line(job) for job in jobs]
    answer = IndexAnswer(
        summary=f"{sum(counts.values())} records of {len(counts)} types; {len(newest)} newest runs",
        records=counts,
        runs=newest,
        guide=addresses.GUIDE,
        templates=(
            addresses.RECORD,
            addresses.RESULTS,
            addresses.TREND,
            addresses.HISTORY,
            addresses.PRODUCTION,
            addresses.SCHEMA,
        ),
    )
    return _text(answered(answer, shape=FULL))


def _run_line(job: get_run.Job) -> Json:
    return {
        "uri": addresses.record_address("run", job.id), "kind": job.kind, "subjectId": job.subject_id, "state": job.state,
        "startedAt": iso(job.created_at),
    }  # fmt: skip


async def guide(call: Call) -> str:
    """Returns how to work with the server, and the rules that nothing gets round."""
    del call
    return GUIDE + "\n".join(f"- {ident}: {text}" for ident, text in RULES.items()) + "\n"


async def schema(call: Call, kind: str) -> str:
    """The fields of a type of record."""
    del call
    if kind not in TYPES:
        raise _unknown("type", kind, [*TYPES])
    schema_wire = {**minion_type(kind), **shapes_of(kind)}
    return to_json(
        fitted({"summary": f"{kind}: {len(cast('list[Json]', schema_wire['schema']))} fields", **schema_wire}, WHOLE)
    ).decode()


async def record(call: Call, kind: str, ident: str) -> str:
    """A record of any type with its links, or where a run stands."""
    if kind in {"schema", "skill"}:  # these have no records, and a reader guesses the singular
        raise NotFoundError("type", kind, remedy=f"Read evals://{kind}s/{ident}.")
    if kind not in LISTED:
        raise _unknown("type", kind, LISTED)
    if kind == RUN:
        return _text(await run_answer(call, await get_run.job(call.engine, ident), FULL, limit=20))
    if kind == MESSAGE:
        return await _message(call, ident)
    record_read = await views.record_view(call.engine, ident)
    if record_read is None or isinstance(record_read, views.Message):
        raise NotFoundError(kind, ident)
    record_type = str(record_read.wire["type"])
    if record_type != kind:
        where = addresses.record_address(record_type, ident)
        raise NotFoundError(f"{kind} record", ident, remedy=f"It is a {record_type}: read {where}.")
    return _text(record_answer(record_read, GetRecord(id=ident, detail="full")))


async def _message(call: Call, ident: str) -> str:
    message = await views.message(call.engine, ident)
    if message is None:
        raise NotFoundError(MESSAGE, ident)
    return _text(message_answer(message, GetRecord(id=ident, detail="full")))


async def results(call: Call, ident: str, status: str, limit: str, cursor: str) -> str:
    """A page of a run's results: the failed first, the lowest score first."""
    if status and status not in runs.STATUSES:
        raise _unknown("status", status, runs.STATUSES)
    size, offset = _number("limit", limit, 1, AT_ONCE), _number("cursor", cursor, 0, 10**9)
    page = await runs.results(call.engine, ident, status=status, offset=offset, limit=size)
    answer = ResultsAnswer(
        summary=f"run {page.job.id}: {page.job.state}; {len(page.results)} of {page.total} {status or 'ended'} units",
        run_id=page.job.id,
        state=page.job.state,
        results=[_result(result) for result in page.results],
    )
    more = offset + len(page.results) < page.total
    return _text(answered(answer, shape=Shape("full", offset=offset), pages=Pages(("results",), more=more)))


def _result(result: runs.UnitResult) -> Json:
    unit = result.unit
    wire: Json = {
        "testCaseId": unit.case_id, "trial": unit.place[1], "status": result.status, "outcome": unit.outcome,
        "score": result.fraction, "reason": unit.reason, "failureType": unit.failure.get("failureType"),
        "description": unit.failure.get("description"),
    }  # fmt: skip
    if unit.test_run_id is not None:
        wire["uri"] = addresses.record_address("test-run", unit.test_run_id)
    return {name: value for name, value in wire.items() if value not in (None, "")}


async def trend(call: Call, ident: str) -> str:
    """Returns where a benchmark is heading, and its newest points."""
    summary = (await trends.run(call.engine, trends.Request(benchmark_id=ident, limit=POINTS))).trend
    return _text(answered(trend_answer(summary), shape=FULL))


async def production(call: Call, hours: str, **only: str) -> str:
    """The production traces that were judged, by agent and rubric."""
    span = _number("hours", hours, 1, MOST_HOURS)
    page = await read_production(call.engine, ProductionFilter(hours=span, **only))
    counts = page.counts
    answer = ProductionAnswer(
        summary=f"{counts.passed} of {counts.judged} judged traces passed; {counts.unscored} not scored, {page.waiting} wait",
        since=iso(page.since),
        counts=counts.model_dump(mode="json"),
        waiting=page.waiting,
        causes=page.causes,
        series=[series.model_dump(mode="json", exclude={"points"}) for series in page.series],
        points=[point.model_dump(mode="json") for point in page.points if point.judged],
        failing=[trace.model_dump(mode="json") for trace in page.failing],
    )
    return _text(answered(answer, shape=FULL))


async def history(call: Call, ident: str) -> str:
    """A test case over time."""
    wanted = GetStatistics.model_construct(test_case_id=ident, limit=20, detail="full")
    return _text(await get_statistics(call, wanted))


async def skill(call: Call, name: str) -> str:
    """A skill's text as the engine follows it."""
    if name not in NAMES:
        raise _unknown("skill", name, NAMES)
    skills = call.engine.skills
    own_skill = next(
        own_skill
        for own_skill in (
            skills.run_test_case, skills.run_benchmark, skills.detect_trend, skills.compare_prompt_versions, skills.classify_failure,
        )
        if own_skill.name == name
    )  # fmt: skip
    return f"# {own_skill.name}\n\n{own_skill.description}\n\n{own_skill.body}\n"


async def outbox(call: Call) -> str:
    """Returns what is told to neighbours, newest first, and how far that is."""
    told_to, waiting, refused = await outboxes.overview(call.engine)
    answer = OutboxAnswer(
        summary=f"{len(told_to)} newest rows; {sum(letters.rows for letters in waiting)} wait, {len(refused)} are refused",
        waiting=[queue.wire() for queue in waiting],
        refused=[row.wire() for row in refused],
        rows=[row.wire() for row in told_to],
    )
    return _text(answered(answer, shape=FULL))


def _unknown(what: str, given: str, known: Sequence[str]) -> NotFoundError:
    near = difflib.get_close_matches(given, known, 1, 0.5)
    hint = f"Did you mean {near[0]}? " if near else ""
    return NotFoundError(what, given[:80], remedy=f"{hint}{known_names(given, known)}")


def _number(name: str, given: str, least: int, most: int) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 11 and least <= int(given) <= most):
        raise BadInputError(f"{name} is {given[:40]!r}.", remedy=f"Give a whole number from {least} to {most}.")
    return int(given)


def _text(result: CallToolResult) -> str:
    """The answer as the JSON of its structured content."""
    return to_json(result.structured_content or {}).decode()
