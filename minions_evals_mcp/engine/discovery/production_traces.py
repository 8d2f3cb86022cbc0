"""The traces of an agent without their personal data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import AgentRun, ToolCall
from minions_evals_mcp.domain.outputs import is_erased
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.scoring.conversations.languages import language_of
from minions_evals_mcp.scoring.discovery.personal_data import masked_text, masked_value
from minions_evals_mcp.scoring.discovery.readings import Trace
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.traces_judged import failed_verdicts, runs_of_agent

LANGUAGE, TOOL = "language", "tool"
"""The dimensions that every trace has by itself; any other one is a key of its inputs, or a label that a reader gave."""


@dataclass(frozen=True, slots=True)
class ReadTraces:
    """The traces, newest first, and how often each kind of personal data was masked in them."""

    traces: tuple[Trace, ...]
    masked: Counter[str]


def production_traces(db: Db, agent_id: str, *, since: datetime | None, limit: int) -> ReadTraces:
    """The newest complete runs of the agent; those that a seal hides and those that were erased are left out."""
    idents = runs_of_agent(db, agent_id, since=since, limit=limit)
    runs = records.get_all(db, idents, AgentRun)
    verdicts = failed_verdicts(db, idents)
    found: list[str] = []
    traces = [
        _trace(runs[ident], verdicts.get(ident, ""), found)
        for ident in idents
        if ident in runs
        and runs[ident].fields.status not in ("running", "pending-approval")
        and not is_erased(runs[ident].fields.inputs)
    ]
    return ReadTraces(tuple(traces), Counter(found))


def _trace(record: Record[AgentRun], verdict: str, found: list[str]) -> Trace:
    run = record.fields

    def masked(value: JsonValue) -> JsonValue:
        return masked_value(value, found)

    def text(value: str | None) -> str | None:
        return None if value is None else str(masked(value))

    return Trace(
        record.id, obj(masked(run.inputs)), obj(masked(run.outputs)),
        steps=tuple(_step(call, found) for call in run.tool_calls_log or ()), has_log=run.tool_calls_log is not None,
        error=text(run.error_message or ("failed" if run.status == "failed" else None)), stop_reason=run.stop_reason,
        corrections=tuple(_corrections(run, found)), verdict=masked_text(verdict).text,
    )  # fmt: skip


def _step(call: ToolCall, found: list[str]) -> ToolCall:
    wire = obj(masked_value(call.model_dump(mode="json", by_alias=True, exclude_none=True), found))
    return ToolCall.model_validate(wire)


def _corrections(run: AgentRun, found: list[str]) -> Iterable[str]:
    for turn in listed_values(run.extra.get("userTurns")):
        said = obj(turn)
        if said.get("correction") is True:
            yield str(masked_value(said.get("text"), found))


def labels(trace: Trace, dimensions: Iterable[str], given: dict[str, str]) -> dict[str, str]:
    """The values of the trace in those dimensions: as a reader labelled it, by rule, or by a key of its inputs."""
    own = {LANGUAGE: language_of(trace.asked) or "", TOOL: trace.steps[0].tool if trace.steps else "none"}
    return {name: given.get(name) or own.get(name) or _input(trace.inputs, name) for name in dimensions}


def _input(inputs: JsonValue, name: str) -> str:
    """The value under a key of the inputs, at any depth by its path (`customer.tier`)."""
    value = inputs
    for key in name.split("."):
        value = obj(value).get(key)
    return str(value)[:80] if isinstance(value, str | int | bool) else ""
