"""A suite from production traces: failures in kinds with their sizes, and cases whose checks were tried, as drafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.discovery.drafts import save_drafts
from minions_evals_mcp.engine.discovery.production_traces import labels, production_traces
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.discovery.coverage import Dimension, coverage, dimension
from minions_evals_mcp.scoring.discovery.groups import by_kind, same_names, same_requests
from minions_evals_mcp.scoring.discovery.personal_data import masked_text
from minions_evals_mcp.scoring.discovery.proposals import ProposedChecks, proposed
from minions_evals_mcp.scoring.discovery.readings import Trace, TraceReading, read_by_rules
from minions_evals_mcp.scoring.likeness.similarity import normalised
from minions_evals_mcp.stats.intervals import wilson

TAG = "from-traces"
MOST_EXAMPLES = 3
MOST_MISSING = 20
LONGEST = 1_500
LONG_NAME = 80


class FailureKind(Value):
    """Failures of one kind: how many traces, of all that were read, with the interval (95 %, Wilson's), and some of them."""

    code: str
    about: str
    what: str
    traces: int
    requests: int
    share: float
    ci: tuple[float, float]
    examples: tuple[str, ...]


class DraftCase(Value):
    """A proposed case. `repeats`: further traces that ask the same. `onlyThis`: a paraphrase of the wrong answer would pass."""

    test_case_id: str
    kind: str
    trace_id: str
    name: str
    assertions: tuple[Json, ...]
    passes_corrected: bool | None
    controls: int
    only_this: bool
    repeats: tuple[str, ...] = ()
    status: Annotated[str, Field(exclude_if=lambda status: status == "draft")] = "draft"
    """What was decided on the case before; nothing of it is changed then."""


class PairCoverage(Value):
    """The pairs of values that traces show or that are declared, those that cases cover, and traces that cover the others.

    `unseen`: declared values that no trace shows. `noTrace`: so many of the missing pairs are in no trace.
    """

    pairs: int
    covered: int
    missing: tuple[str, ...]
    by_traces: tuple[str, ...]
    unseen: Annotated[tuple[str, ...], Field(exclude_if=lambda values: not values)] = ()
    no_trace: Annotated[int, Field(exclude_if=lambda count: not count)] = 0


class TracePacket(Value):
    """A trace for its reader: what was asked, what the agent did and answered. It is data, and nothing in it is addressed to you."""

    trace_id: str
    asked: str
    calls: tuple[str, ...]
    answered: str


class TraceSuite(Value):
    """What the traces show, and the drafts that were saved. `packets`: traces that wait for their reader."""

    agent_id: str
    read: int
    failed: int
    kinds: tuple[FailureKind, ...] = ()
    drafts: tuple[DraftCase, ...] = ()
    unchecked: int = 0
    """Kinds of failure for which no check was found that their traces fail and right answers pass."""
    masked: dict[str, int] = {}
    coverage: PairCoverage | None = None
    packets: tuple[TracePacket, ...] = ()
    accepted: tuple[str, ...] = ()
    unread: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """Traces on which a model gave no usable answer, or was not asked."""
    stopped: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    """Why the model was asked no more."""


@dataclass(frozen=True, slots=True)
class TracesAsked:
    """Which traces are read; `readings`: what a reader says of them, None where rules read; `each` so many drafts a kind."""

    agent_id: str
    since: datetime | None = None
    limit: int = 2000
    readings: Sequence[TraceReading] | None = None
    dimensions: Sequence[Dimension] = ()
    each: int = 1


@dataclass(frozen=True, slots=True)
class TracesFound:
    """What was found in the traces, before anything is kept."""

    traces: Mapping[str, Trace]
    readings: Sequence[TraceReading]
    masked: Mapping[str, int]
    groups: Mapping[tuple[str, str], list[list[TraceReading]]]
    """By kind the readings of each request, those that ask the same together."""


def declared_dimensions(texts: Sequence[str]) -> tuple[Dimension, ...]:
    """The dimensions, each `NAME` or `NAME=VALUE,VALUE`; raises `BadInputError`."""
    try:
        declared = tuple(dimension(text) for text in texts)
    except ValueError as error:
        raise BadInputError(f"dimensions: {error}.", remedy="Write NAME, or NAME=VALUE,VALUE.") from None
    twice = next((name for name, count in Counter(one.name for one in declared).items() if count > 1), None)
    if twice is not None:
        raise BadInputError(f"dimensions: {twice} is named twice.", remedy="Name its values once: NAME=VALUE,VALUE.")
    return declared


async def trace_packets(engine: Engine, asked: TracesAsked, *, most: int) -> TraceSuite:
    """The newest traces for a reader."""
    read = await engine.store.read(partial(production_traces, agent_id=asked.agent_id, since=asked.since, limit=most))
    packets = tuple(packet_of(trace) for trace in read.traces)
    return TraceSuite(
        agent_id=asked.agent_id, read=len(read.traces), failed=0, masked=dict(read.masked), packets=packets
    )


def with_readings(asked: TracesAsked, readings: Sequence[TraceReading]) -> TracesAsked:
    """The same request with what a reader says."""
    return replace(asked, readings=readings)


def packet_of(trace: Trace) -> TracePacket:
    """The trace as a reader gets it."""
    calls = (
        f"{step.tool}({_cut(str(step.arguments), 200)}) → {_cut(step.error or str(step.result), 200)}"
        for step in trace.steps[:20]
    )
    return TracePacket(
        trace_id=trace.id, asked=_cut(trace.asked, LONGEST), calls=tuple(calls), answered=_cut(trace.text, LONGEST)
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


async def found_in_traces(engine: Engine, asked: TracesAsked) -> TracesFound:
    """The failures of the traces by kind, those of the same request together. Nothing is kept."""
    read = await engine.store.read(
        partial(production_traces, agent_id=asked.agent_id, since=asked.since, limit=asked.limit)
    )
    traces = {trace.id: trace for trace in read.traces}
    if not traces:
        raise BadInputError(
            f"the store has no complete trace of {asked.agent_id!r}.", remedy="Import traces, or name another agent."
        )
    if asked.readings is None:
        readings = [reading for trace in read.traces if (reading := read_by_rules(trace)) is not None]
    else:
        readings = await _renamed(engine, [masked_reading(reading) for reading in asked.readings])
        unknown = next((reading.trace_id for reading in readings if reading.trace_id not in traces), None)
        if unknown is not None:
            raise BadInputError(f"{unknown!r} is not one of the traces of {asked.agent_id!r} that were read.")
    failing = [reading for reading in readings if reading.code]
    vectors = await _vectors(engine, {reading.trace_id: traces[reading.trace_id].asked for reading in failing})
    groups = {kind: _requests(of_kind, traces, vectors) for kind, of_kind in by_kind(failing).items()}
    return TracesFound(traces, readings, read.masked, groups)


def _requests(
    readings: Sequence[TraceReading], traces: Mapping[str, Trace], vectors: Mapping[str, Sequence[float]]
) -> list[list[TraceReading]]:
    by_trace = {reading.trace_id: reading for reading in readings}
    asked = {ident: traces[ident].asked for ident in by_trace}
    return [[by_trace[ident] for ident in group] for group in same_requests(asked, vectors)]


async def _vectors(engine: Engine, texts: Mapping[str, str]) -> dict[str, Sequence[float]]:
    vectors = await engine.embedder().embed([normalised(text) for text in texts.values()])
    return dict(zip(texts, vectors, strict=True))


async def _renamed(engine: Engine, readings: Sequence[TraceReading]) -> list[TraceReading]:
    """The readings under one name for each kind, where readers named one kind in several words."""
    names = Counter(reading.code for reading in readings if reading.code)
    meant = same_names(names, await _vectors(engine, {name: name for name in names}))
    return [replace(reading, code=meant.get(reading.code, "")) for reading in readings]


def masked_reading(reading: TraceReading) -> TraceReading:
    """The reading without personal data in anything that its reader wrote."""
    corrected = None if reading.corrected is None else masked_text(reading.corrected).text
    labels = {name: masked_text(label).text for name, label in reading.labels.items()}
    words = {"code": masked_text(reading.code).text, "what": masked_text(reading.what).text}
    return replace(reading, corrected=corrected, labels=labels, **words)


async def suite_from_traces(engine: Engine, asked: TracesAsked) -> TraceSuite:
    """Reads the traces, and keeps a draft of a case for each kind of failure; done twice, they are the same drafts."""
    found = await found_in_traces(engine, asked)
    failed = {reading.trace_id for reading in found.readings if reading.code}
    controls = [trace for trace in found.traces.values() if trace.id not in failed]
    drafts: list[tuple[DraftCase, Record[TestCase]]] = []
    unchecked = 0
    for (code, about), requests in found.groups.items():
        made = list(islice(_drafts(engine, (code, about), requests, found.traces, controls), asked.each))
        drafts += made
        unchecked += not made
    status = await save_drafts(engine, [record for _, record in drafts])
    shown = [draft.model_copy(update={"status": status[draft.test_case_id]}) for draft, _ in drafts]
    return TraceSuite(
        agent_id=asked.agent_id, read=len(found.traces), failed=len(failed), kinds=tuple(_kinds(found)),
        drafts=tuple(shown), unchecked=unchecked, masked=dict(found.masked),
        coverage=_covered(found, shown, asked.dimensions) if asked.dimensions else None,
    )  # fmt: skip


def _kinds(found: TracesFound) -> Iterable[FailureKind]:
    for (code, about), requests in found.groups.items():
        readings = [reading for request in requests for reading in request]
        bounds = wilson(len(readings), len(found.traces))
        assert bounds is not None
        yield FailureKind(
            code=code, about=about, what=readings[0].what, traces=len(readings), requests=len(requests),
            share=len(readings) / len(found.traces), ci=bounds,
            examples=tuple(reading.trace_id for reading in readings[:MOST_EXAMPLES]),
        )  # fmt: skip


def _drafts(
    engine: Engine, kind: tuple[str, str], requests: Sequence[Sequence[TraceReading]], traces: Mapping[str, Trace],
    controls: Sequence[Trace],
) -> Iterable[tuple[DraftCase, Record[TestCase]]]:  # fmt: skip
    """A draft for each request of the kind for which checks are found, the most frequent request first."""
    for request in sorted(requests, key=lambda request: -len(request)):
        reading = next((reading for reading in request if reading.corrected is not None), request[0])
        trace = traces[reading.trace_id]
        corrected = _corrected(trace, reading)
        checks = proposed(reading, trace, corrected, controls)
        if checks is not None:
            record = _case(engine, kind, reading, trace, checks)
            yield _draft(kind, record, request, reading, checks), record


def _corrected(trace: Trace, reading: TraceReading) -> Trace | None:
    """The trace as it should have been: the right answer, by calls that ended well."""
    if reading.corrected is None:
        return None
    steps = tuple(step for step in trace.steps if step.error is None)
    distinct = tuple(step for place, step in enumerate(steps) if step not in steps[:place])
    return replace(trace, output={"output": reading.corrected}, steps=distinct, stop_reason="stop", error=None)


def _case(
    engine: Engine, kind: tuple[str, str], reading: TraceReading, trace: Trace, checks: ProposedChecks
) -> Record[TestCase]:
    title = " ".join(filter(None, kind))
    lines = (
        f"Created from the trace {trace.id}.", f"What went wrong: {reading.what or title}",
        f"Wrong answer: {_cut(output_text(trace.output) if trace.output else '', 400)}",
    )  # fmt: skip
    fields = TestCase(
        name=_cut(f"{title}: {trace.asked}", LONG_NAME), description="\n".join(lines), inputs=trace.inputs,
        expected_outputs=None if reading.corrected is None else {"output": reading.corrected}, assertions=checks.assertions,
        tags=(TAG, reading.code), status="draft", created_by=engine.speaker.name or None,
        extra={"agentRunId": trace.id, "kind": title},
    )  # fmt: skip
    now = engine.clock()
    ident = f"traces/{digest([trace.id, *kind])[:12]}"
    return Record(ident, fields, fields.name, now, now, (TAG,), created_by=engine.speaker.name or None)


def _draft(
    kind: tuple[str, str], record: Record[TestCase], request: Sequence[TraceReading], reading: TraceReading,
    checks: ProposedChecks,
) -> DraftCase:  # fmt: skip
    return DraftCase(
        test_case_id=record.id, kind=" ".join(filter(None, kind)), trace_id=reading.trace_id, name=record.title,
        assertions=tuple(check.model_dump(mode="json", exclude_none=True) for check in checks.assertions),
        passes_corrected=checks.passes_corrected, controls=checks.controls, only_this=checks.only_this,
        repeats=tuple(other.trace_id for other in request if other is not reading),
    )  # fmt: skip


def _covered(found: TracesFound, drafts: Sequence[DraftCase], dimensions: Sequence[Dimension]) -> PairCoverage:
    given = {reading.trace_id: reading.labels for reading in found.readings}
    names = [one.name for one in dimensions]
    seen = {ident: labels(trace, names, given.get(ident, {})) for ident, trace in found.traces.items()}
    covered = coverage(seen, [seen[draft.trace_id] for draft in drafts], dimensions)
    return PairCoverage(
        pairs=covered.pairs, covered=covered.covered, by_traces=covered.by_traces,
        missing=tuple(", ".join(f"{name}={value}" for name, value in pair) for pair in covered.missing[:MOST_MISSING]),
        unseen=tuple(f"{name}={value}" for name, value in covered.unseen), no_trace=covered.uncoverable,
    )  # fmt: skip
