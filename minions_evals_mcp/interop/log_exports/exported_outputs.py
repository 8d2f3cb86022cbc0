"""The outputs that are written into another tool's file: a run judged here, or the outputs of an imported log with its own scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun, PromptVersion
from minions_evals_mcp.domain.outputs import output_value
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.sessions.conversation import count, number, texts
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units, version_outputs
from minions_evals_mcp.store.queries.report_units import UnitDetail

PAGE = 100
OURS = "minions-evals"
"""The name of the verdict as a whole, which was made here."""


@dataclass(frozen=True, slots=True)
class ExportedScore:
    """One score of an output: made here, or `foreign`. `about` is what a foreign one said besides."""

    name: str
    value: JsonValue
    passed: bool | None = None
    reason: str = ""
    foreign: bool = False
    by: str = ""
    about: Json = field(default_factory=dict[str, JsonValue])


LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect's letters are worth, as its own metrics count them."""


def worth(score: ExportedScore) -> float | None:
    """The score as a number; None where it is none."""
    value = score.value
    if isinstance(value, str):
        return LETTERS.get(value)
    return float(value) if isinstance(value, bool | int | float) else None


@dataclass(frozen=True, slots=True)
class ExportedOutput:
    """One output with all that is known of it. `sample` is its id in the log that it came from, else its case's."""

    sample: JsonValue
    epoch: int
    case_id: str
    inputs: Json
    targets: tuple[str, ...]
    name: str = ""
    output: JsonValue = None
    messages: tuple[JsonValue, ...] = ()
    steps: tuple[JsonValue, ...] = ()
    scores: tuple[ExportedScore, ...] = ()
    passed: bool | None = None
    score: float | None = None
    reason: str = ""
    error: str | None = None
    stop_reason: str | None = None
    started: str | None = None
    completed: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency_ms: float | None = None
    agent: str = ""
    agent_run_id: str | None = None
    test_run_id: str | None = None
    case: Json = field(default_factory=dict[str, JsonValue])
    extra: Json = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Export:
    """The outputs that are written: about what, how many, and the outputs. `header` is what an imported log said of itself."""

    id: str
    task: str
    subject: str
    created: str
    total: int
    passed: int | None
    prompt: str
    outputs: AsyncIterator[ExportedOutput]
    header: Json = field(default_factory=dict[str, JsonValue])
    version: str | None = None


async def export_of(engine: Engine, ident: str) -> Export:
    """Returns what stands under the id of a run, a benchmark (its newest run), or a version that an imported log made.

    Raises as `find_subject` does, and `BadInputError` for a version under which nothing was recorded.
    """
    version = await engine.store.read(lambda db: records.get(db, ident, PromptVersion))
    if version is not None:
        return await _recorded(engine, version)
    subject = await find_subject(engine, ident)
    return await engine.store.read(partial(_judged, engine=engine, run_id=subject.run_id))


async def _recorded(engine: Engine, version: Record[PromptVersion]) -> Export:
    idents = await engine.store.read(lambda db: version_outputs.recorded_ids(db, version.id))
    if not idents:
        raise BadInputError(
            f"nothing was recorded under {version.id}.", remedy="Name a run, or a version of an imported log."
        )
    log = obj(version.fields.extra.get("log"))
    return Export(
        id=str(log.get("id") or version.id),
        task=str(log.get("task") or version.fields.prompt_id or version.id),
        subject=str(log.get("subject") or version.title),
        created=str(log.get("created") or iso(version.created_at)),
        total=len(idents),
        passed=None,
        prompt=version.fields.content,
        outputs=_recorded_outputs(engine, idents),
        header=obj(version.fields.extra.get("header")),
        version=version.id,
    )


async def _recorded_outputs(engine: Engine, idents: Sequence[str]) -> AsyncIterator[ExportedOutput]:
    for first in range(0, len(idents), PAGE):
        page = list(idents[first : first + PAGE])
        for run_read in await engine.store.read(partial(_page, idents=page)):
            yield run_read


def _page(db: Db, *, idents: list[str]) -> list[ExportedOutput]:
    recorded = version_outputs.recorded(db, idents)
    cases = records.get_all(db, [_case_id(run) for run in recorded], TestCase)
    return [_of_run(run, cases.get(_case_id(run))) for run in recorded]


def _case_id(run: Record[AgentRun]) -> str:
    return str(obj(run.fields.extra.get("log")).get("case", ""))


def _of_run(
    run: Record[AgentRun], case: Record[TestCase] | None, scores: Sequence[ExportedScore] = ()
) -> ExportedOutput:
    """An agent-run, with the scores that were made here and those that it came with."""
    fields, log = run.fields, obj(run.fields.extra.get("log"))
    case_id = case.id if case else _case_id(run) or run.id
    return ExportedOutput(
        sample=log.get("sample", case_id),
        epoch=count(log.get("epoch")) or 1,
        case_id=case_id,
        inputs=fields.inputs,
        targets=_targets(case),
        name=case.fields.name if case else "",
        output=output_value(fields.outputs) if fields.outputs else None,
        messages=tuple(listed_values(fields.extra.get("messages"))),
        steps=tuple(step.model_dump(mode="json") for step in fields.tool_calls_log or ()),
        scores=_distinct((*scores, *_foreign(fields.extra))),
        error=fields.error_message,
        stop_reason=fields.stop_reason,
        started=_moment(log.get("startedAt"), fields.triggered_at),
        completed=_moment(log.get("completedAt"), fields.completed_at),
        input_tokens=count(log.get("inputTokens")),
        output_tokens=count(log.get("outputTokens")),
        cost=fields.cost,
        latency_ms=number(log.get("latencyMs")),
        agent=fields.agent_id,
        agent_run_id=run.id,
        case=wire_fields(case.fields) if case else {},
        extra=fields.extra,
    )


def _moment(written: JsonValue, at: datetime | None) -> str | None:
    """The moment as the log wrote it, else as it is kept, in whole milliseconds."""
    return written if isinstance(written, str) else None if at is None else iso(at)


def _targets(case: Record[TestCase] | None) -> tuple[str, ...]:
    if case is None:
        return ()
    return texts(case.fields.extra.get("targets")) or texts([*(case.fields.expected_outputs or {}).values()])


def _distinct(scores: Sequence[ExportedScore]) -> tuple[ExportedScore, ...]:
    """The scores, those that bear a name again with a number: formats keep them by name."""
    seen: Counter[str] = Counter()
    distinct: list[ExportedScore] = []
    for score in scores:
        seen[score.name] += 1
        times = seen[score.name]
        distinct.append(score if times == 1 else replace(score, name=f"{score.name} ({times})"))
    return tuple(distinct)


def _foreign(extra: Json) -> Iterator[ExportedScore]:
    for value in listed_values(extra.get("foreignScores")):
        fields = obj(value)
        about = {key: part for key, part in fields.items() if key not in {"name", "value", "foreign"}}
        passed = fields.get("passed")
        yield ExportedScore(
            str(fields.get("name")), fields.get("value"), passed if isinstance(passed, bool) else None,
            str(fields.get("explanation") or ""), foreign=True, about=about,
        )  # fmt: skip


def _judged(db: Db, *, engine: Engine, run_id: str) -> Export:
    run = runs.benchmark_run(db, run_id)
    if run is None:
        raise BadInputError(f"{run_id} has no result yet.", remedy="Run it to its end first, or name a benchmark-run.")
    places = [line.place for line in report_units.unit_lines(db, run_id)]
    ref = run.fields.prompt_version_ref
    version = None if ref is None else records.get(db, ref, PromptVersion)
    log = {} if version is None else obj(version.fields.extra.get("log"))
    return Export(
        id=run_id,
        task=str(log.get("task") or run.fields.benchmark_id),
        subject=str(log.get("subject") or ref or run.fields.benchmark_id),
        created=iso(run.fields.ran_at),
        total=len(places),
        passed=run.fields.passed_count,
        prompt="" if version is None else version.fields.content,
        outputs=_judged_outputs(engine, run_id, sorted(places)),
        header={} if version is None else obj(version.fields.extra.get("header")),
        version=ref,
    )


async def _judged_outputs(
    engine: Engine, run_id: str, places: Sequence[report_units.Place]
) -> AsyncIterator[ExportedOutput]:
    for first in range(0, len(places), PAGE):
        page = list(places[first : first + PAGE])
        for unit_read in await engine.store.read(partial(_units, run_id=run_id, places=page)):
            yield unit_read


def _units(db: Db, *, run_id: str, places: list[report_units.Place]) -> list[ExportedOutput]:
    units = report_units.unit_details(db, run_id, places)
    cases = records.get_all(db, [unit.case_id for unit in units], TestCase)
    made = records.get_all(db, [unit.agent_run_id for unit in units if unit.agent_run_id is not None], AgentRun)
    return [_of_unit(unit, cases.get(unit.case_id), made.get(unit.agent_run_id or "")) for unit in units]


def _of_unit(unit: UnitDetail, case: Record[TestCase] | None, run: Record[AgentRun] | None) -> ExportedOutput:
    """A unit of a run with its verdict and, where its output was recorded, all that is known of that."""
    scores = tuple(_scores(unit))
    known = None if run is None else _of_run(run, case, scores)
    output = obj(unit.run.get("actualOutput", unit.observed.get("output")))
    share = None if unit.score is None or not unit.possible else unit.score / unit.possible
    return ExportedOutput(
        sample=known.sample if known else case.fields.extra.get("sample", unit.case_id) if case else unit.case_id,
        epoch=known.epoch if known else unit.place[1],
        case_id=unit.case_id,
        inputs=unit.inputs,
        targets=_targets(case),
        name=unit.title,
        output=output_value(output) if output else None,
        messages=known.messages if known else (),
        steps=known.steps if known else tuple(unit.tool_calls),
        scores=known.scores if known else _distinct(scores),
        passed=unit.passed,
        score=share,
        reason=unit.reason or "; ".join(judgment.rationale for judgment in unit.judgments),
        error=(known.error if known else None) or (unit.reason if unit.passed is None else None),
        stop_reason=known.stop_reason if known else None,
        started=known.started if known else None,
        completed=known.completed if known else None,
        input_tokens=count(unit.run.get("inputTokens")) or (known.input_tokens if known else None),
        output_tokens=count(unit.run.get("outputTokens")) or (known.output_tokens if known else None),
        cost=number(unit.run.get("costUsd")) or (known.cost if known else None),
        latency_ms=number(unit.run.get("latencyMs")) or (known.latency_ms if known else None),
        agent=str(unit.run.get("producedBy") or (known.agent if known else "")),
        agent_run_id=known.agent_run_id if known else None,
        test_run_id=unit.test_run_id,
        case=wire_fields(case.fields) if case else {},
        extra=known.extra if known else {},
    )


def _scores(unit: UnitDetail) -> Iterator[ExportedScore]:
    """The verdict as a whole, then each criterion's judgment and each named metric."""
    if unit.passed is None or unit.score is None:
        return
    reasons = "; ".join(judgment.rationale for judgment in unit.judgments)
    by = next((judgment.judged_by for judgment in unit.judgments), "")
    share = unit.score / unit.possible if unit.possible else 0.0
    yield ExportedScore(OURS, share, unit.passed, reasons, by=by)
    for judgment in unit.judgments:
        if not judgment.criterion_id.startswith("implicit:"):
            part = (judgment.score - judgment.min_score) / (judgment.max_score - judgment.min_score)
            yield ExportedScore(judgment.criterion_id, part, None, judgment.rationale, by=judgment.judged_by)
    for name, value in unit.metrics.items():
        yield ExportedScore(name, value, by=by)
