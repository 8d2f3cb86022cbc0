"""How well a suite from generated traces does: modes found, purity, duplicates, checks that tell wrong from right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.engine.discovery.trace_suite import TracesAsked, TraceSuite, found_in_traces, suite_from_traces
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.scoring.discovery.proposals import passed
from minions_evals_mcp.scoring.discovery.readings import Trace
from tests.shared.production_traces import AGENT, Json, Made
from tests.workshop import START


@dataclass(frozen=True)
class SuiteFigures:
    """The figures. `told_apart`: proposals whose checks the trace fails and the corrected one passes, of `proposals`."""

    found: frozenset[str]
    purity: float
    duplicates_f1: float
    told_apart: int
    proposals: int
    suite: TraceSuite


async def figures(engine: Engine, traces: Sequence[Made], *, each: int) -> SuiteFigures:
    """The figures of a suite from these traces, read by rules."""
    arrivals = [
        Arrival(
            record_from_wire({"id": trace.ident, "type": "agent-run", "fields": trace.fields}, new_id="none", now=START)
        )
        for trace in traces
    ]
    await save_records(engine, arrivals)
    asked = TracesAsked(AGENT, limit=len(traces), each=each)
    found = await found_in_traces(engine, asked)
    truth = {trace.ident: trace for trace in traces}
    kinds = [[reading.trace_id for request in requests for reading in request] for requests in found.groups.values()]
    modes = [Counter(truth[ident].mode for ident in kind) for kind in kinds]
    planted = Counter(trace.mode for trace in traces)
    held = Counter[str]()
    for counts in modes:
        mode, most = counts.most_common(1)[0]
        held[mode] += most if mode else 0
    suite = await suite_from_traces(engine, asked)
    good = [_tells_apart(truth[draft.trace_id], draft.assertions) for draft in suite.drafts]
    return SuiteFigures(
        found=frozenset(mode for mode, number in held.items() if mode and number >= planted[mode] / 2),
        purity=sum(counts.most_common(1)[0][1] if counts.most_common(1)[0][0] else 0 for counts in modes) / sum(map(len, kinds)),
        duplicates_f1=_f1(
            _pairs([[r.trace_id for r in request] for requests in found.groups.values() for request in requests]),
            _pairs(_requests(trace for trace in traces if trace.mode)),
        ),
        told_apart=sum(good), proposals=len(good), suite=suite,
    )  # fmt: skip


def _requests(traces: Iterable[Made]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for trace in traces:
        groups.setdefault(trace.request, []).append(trace.ident)
    return list(groups.values())


def _pairs(groups: Iterable[Sequence[str]]) -> set[tuple[str, str]]:
    return {(min(pair), max(pair)) for group in groups for pair in combinations(group, 2)}


def _f1(found: set[tuple[str, str]], true: set[tuple[str, str]]) -> float:
    return 2 * len(found & true) / (len(found) + len(true))


def _tells_apart(made: Made, assertions: Iterable[object]) -> bool:
    checks = [Assertion.model_validate(one) for one in assertions]
    return (
        passed(checks, _as_trace(made, made.fields)) is False
        and passed(checks, _as_trace(made, made.corrected)) is True
    )


def _as_trace(made: Made, fields: Json) -> Trace:
    run = record_from_wire({"id": made.ident, "type": "agent-run", "fields": fields}, new_id="none", now=START).fields
    assert isinstance(run, AgentRun)
    return Trace(
        run.agent_id, run.inputs, run.outputs, run.tool_calls_log or (), has_log=True, stop_reason=run.stop_reason
    )
