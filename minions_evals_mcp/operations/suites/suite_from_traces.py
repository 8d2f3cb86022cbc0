"""A suite from production traces: what went wrong in them, by kind, and a draft of a test case for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Dollars, More, TestCaseId
from minions_evals_mcp.domain.values import Id, Text, Timestamp, Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.discovery.trace_suite import PairCoverage
    from minions_evals_mcp.engine.discovery.trace_suite import TraceSuite as Answer
    from minions_evals_mcp.operations.engine import Engine

TracesShown: TypeAlias = "Answer"
CoverageShown: TypeAlias = "PairCoverage"
MOST_PACKETS = 20


class TraceNote(Value):
    """What you read in a trace. `kind`: what went wrong, in two to five words, the same for the same fault; empty if nothing did.

    `corrected` is the answer that would have been right, `labels` values of dimensions.
    """

    trace_id: Id
    kind: Annotated[str, Field(max_length=100)] = ""
    what: Annotated[str, Field(max_length=2000)] = ""
    corrected: Annotated[str, Field(min_length=1, max_length=40_000)] | None = None
    labels: dict[str, Annotated[str, Field(max_length=80)]] = {}


class Request(Value):
    """Draft test cases from an agent's production traces: failures by kind with sizes, and checks that were tried."""

    agent_id: Annotated[Id, Field(description="The agent", examples=["support-desk"]), NAME_SAYS_IT]
    since: Annotated[
        Annotated[Timestamp, Field(strict=False)] | None,
        Field(description="ISO 8601"),
        More("Only traces since this time, such as 2026-11-01T00:00:00Z."),
    ] = None
    most_traces: Annotated[
        int,
        Field(ge=1, le=20_000, description="Number of newest traces"),
        More("Maximum number of traces to read, newest first."),
    ] = 2000
    reader: Annotated[
        Literal["rules", "caller", "model"],
        Field(description="caller: you read"),
        More("Who reads the traces: rules (no key), the caller (you send notes), or the judge model."),
    ] = "rules"
    notes: Annotated[
        tuple[TraceNote, ...], Field(strict=False, max_length=2000, description="What you read in each trace")
    ] = ()
    dimensions: Annotated[
        tuple[Text, ...],
        Field(
            strict=False,
            max_length=6,
            description="language, tool or keys of inputs; language=de,en: uncovered pairs",
        ),
        More(
            "A dimension to show coverage for: language, tool, or a key of the inputs (repeatable). Declare its values as"
            " NAME=VALUE,VALUE to list those that no trace shows."
        ),
    ] = ()
    each: Annotated[
        int,
        Field(ge=1, le=20, description="Drafts a kind"),
        More("The maximum number of drafts for each kind of failure."),
    ] = 1
    accept: Annotated[
        tuple[TestCaseId, ...],
        Field(strict=False, max_length=100, description="Drafts to make active"),
        More("Make this draft active (repeatable). Reads no traces."),
    ] = ()
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        NAME_SAYS_IT,
        More("With the model as the reader: stop before spending more than this."),
    ] = None

    @model_validator(mode="after")
    def _who_reads(self) -> Self:
        if self.notes and self.reader != "caller":
            raise ValueError("notes: only the caller sends notes; set reader to caller")
        if self.max_cost_usd is not None and self.reader != "model":
            raise ValueError("maxCostUsd: applies only with a model; set reader to model")
        return self


async def run(engine: Engine, request: Request) -> Answer:
    """The kinds of failure and the drafts; done twice, they are the same. With `accept` the drafts that are active now."""
    from minions_evals_mcp.engine.discovery import trace_suite  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.discovery.drafts import accept_drafts  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.discovery.model_reading import read_by_model  # noqa: PLC0415  as above
    from minions_evals_mcp.scoring.discovery.readings import TraceReading  # noqa: PLC0415  as above

    if request.accept:
        accepted = await accept_drafts(engine, request.accept, tag=trace_suite.TAG, made_of="a trace")
        return trace_suite.TraceSuite(agent_id=request.agent_id, read=0, failed=0, accepted=accepted)
    dimensions = trace_suite.declared_dimensions(request.dimensions)
    asked = trace_suite.TracesAsked(
        request.agent_id, request.since, request.most_traces, dimensions=dimensions, each=request.each
    )
    if request.reader == "caller" and not request.notes:
        return await trace_suite.trace_packets(engine, asked, most=min(request.most_traces, MOST_PACKETS))
    if request.reader == "caller":
        readings = [
            TraceReading(note.trace_id, note.kind, what=note.what, corrected=note.corrected, labels=note.labels)
            for note in request.notes
        ]
        return await trace_suite.suite_from_traces(engine, trace_suite.with_readings(asked, readings))
    if request.reader == "model":
        told = await read_by_model(engine, asked, max_cost_usd=request.max_cost_usd)
        suite = await trace_suite.suite_from_traces(engine, trace_suite.with_readings(asked, told.readings))
        return suite.model_copy(update={"unread": told.unread, "stopped": told.stopped})
    return await trace_suite.suite_from_traces(engine, asked)
