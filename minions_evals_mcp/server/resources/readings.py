"""The reading of each resource, by the functions that the tools use, within the size of a tool's longest answer."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from typing import cast

from mcp_types import CallToolResult
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.jobs import get_job, kept_job
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.server.answers.message import message_answer
from minions_evals_mcp.server.answers.sizes import WHOLE, Pages, Shape, answered, fitted
from minions_evals_mcp.server.edge.argument_types import LISTED, MESSAGE, RUN
from minions_evals_mcp.server.resources import addresses
from minions_evals_mcp.server.resources.answers import IndexAnswer, OutboxAnswer, ResultsAnswer
from minions_evals_mcp.server.resources.guide import GUIDE
from minions_evals_mcp.server.resources.schema import minion_type, shapes_of
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import GetStatistics
from minions_evals_mcp.server.signatures.records import GetRecord
from minions_evals_mcp.server.tools.analysis import trend_answer
from minions_evals_mcp.server.tools.records import record_answer, record_view
from minions_evals_mcp.server.tools.running import run_answer
from minions_evals_mcp.server.tools.statistics import get_statistics
from minions_evals_mcp.skills import NAMES
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.agent import delivery, inbox
from minions_evals_mcp.store.agent.inbox import Message
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages import listings
from minions_evals_mcp.store.queries.report_units import UnitDetail, UnitLine

STATUSES = ("passed", "failed", "unscored")
AT_ONCE = 200
POINTS = 60
NEWEST = 10
FULL = Shape("full")


async def index(call: Call) -> str:
    """Returns how many records of each type there are, and the newest runs."""
    counts, newest = await call.engine.store.read(_counted)
    answer = IndexAnswer(
        summary=f"{sum(counts.values())} records of {len(counts)} types; {len(newest)} newest runs",
        records=counts,
        runs=newest,
        guide=addresses.GUIDE,
        templates=(addresses.RECORD, addresses.RESULTS, addresses.TREND, addresses.HISTORY, addresses.SCHEMA),
    )
    return _text(answered(answer, shape=FULL))


def _counted(db: Db) -> tuple[dict[str, int], list[Json]]:
    counts = {kind: listings.count_of(db, kind) for kind in LISTED}
    newest: list[Json] = [
        {
            "uri": addresses.record_address("run", job.id), "kind": job.kind, "subjectId": job.subject_id, "state": job.state,
            "startedAt": iso(job.created_at),
        }
        for job in jobs.jobs(db, limit=NEWEST)
    ]  # fmt: skip
    return {kind: number for kind, number in counts.items() if number}, newest


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
    if kind not in LISTED:
        raise _unknown("type", kind, LISTED)
    if kind == RUN:
        return _text(await run_answer(call, await get_job(call.engine, ident), FULL, limit=20))
    if kind == MESSAGE:
        return await _message(call, ident)
    record_read = await record_view(call.engine, ident)
    if record_read is None or isinstance(record_read, Message):
        raise NotFoundError(kind, ident)
    record_type = str(record_read.wire["type"])
    if record_type != kind:
        where = addresses.record_address(record_type, ident)
        raise NotFoundError(f"{kind} record", ident, remedy=f"It is a {record_type}: read {where}.")
    return _text(record_answer(record_read, GetRecord(id=ident, detail="full")))


async def _message(call: Call, ident: str) -> str:
    message = await call.engine.store.read(lambda db: inbox.message(db, ident))
    if message is None:
        raise NotFoundError(MESSAGE, ident)
    return _text(message_answer(message, GetRecord(id=ident, detail="full")))


async def results(call: Call, ident: str, status: str, limit: str, cursor: str) -> str:
    """A page of a run's results: the failed first, the lowest score first."""
    if status and status not in STATUSES:
        raise _unknown("status", status, STATUSES)
    size, offset = _number("limit", limit, 1, AT_ONCE), _number("cursor", cursor, 0, 10**9)
    answer, more = await call.engine.store.read(partial(_results, ident=ident, status=status, offset=offset, size=size))
    return _text(answered(answer, shape=Shape("full", offset=offset), pages=Pages(("results",), more=more)))


def _results(db: Db, *, ident: str, status: str, offset: int, size: int) -> tuple[ResultsAnswer, bool]:
    """The page, and whether there is more."""
    job = kept_job(db, ident)
    wanted = [line for line in report_units.unit_lines(db, job.id) if status in {"", _status(line)}]
    page = wanted[offset : offset + size]
    details = report_units.unit_details(db, job.id, [unit.place for unit in page])
    answer = ResultsAnswer(
        summary=f"run {job.id}: {job.state}; {len(page)} of {len(wanted)} {status or 'ended'} units",
        run_id=job.id,
        state=job.state,
        results=[_result(line, detail) for line, detail in zip(page, details, strict=True)],
    )
    return answer, offset + len(page) < len(wanted)


def _status(line: UnitLine) -> str:
    if line.passed is None:
        return "unscored"
    return "passed" if line.passed else "failed"


def _result(line: UnitLine, unit: UnitDetail) -> Json:
    wire: Json = {
        "testCaseId": unit.case_id, "trial": unit.place[1], "status": _status(line), "outcome": unit.outcome,
        "score": line.fraction, "reason": unit.reason, "failureType": unit.failure.get("failureType"),
        "description": unit.failure.get("description"),
    }  # fmt: skip
    if unit.test_run_id is not None:
        wire["uri"] = addresses.record_address("test-run", unit.test_run_id)
    return {name: value for name, value in wire.items() if value not in (None, "")}


async def trend(call: Call, ident: str) -> str:
    """Returns where a benchmark is heading, and its newest points."""
    summary = await summarize_trend(call.engine, ident, limit=POINTS)
    return _text(answered(trend_answer(summary), shape=FULL))


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
    told_to, waiting, refused = await call.engine.store.read(
        lambda db: (listings.newest_told(db, limit=50), delivery.queue(db), delivery.refused(db, limit=20))
    )
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
    return NotFoundError(what, given[:80], remedy=f"{hint}Known are {', '.join(known)}.")


def _number(name: str, given: str, least: int, most: int) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 11 and least <= int(given) <= most):
        raise BadInputError(f"{name} is {given[:40]!r}.", remedy=f"Give a whole number from {least} to {most}.")
    return int(given)


def _text(result: CallToolResult) -> str:
    """The answer as the JSON of its structured content."""
    return to_json(result.structured_content or {}).decode()
