"""Addresses of resources, known beforehand: what an event touches is told under exactly these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from minions_evals_mcp.store.agent.event_feed import Happened
    from minions_evals_mcp.store.queries.changes import Changes

INDEX = "evals://index"
GUIDE = "evals://guide"
OUTBOX = "evals://outbox"
PRODUCTION = "evals://production{?hours,agent,rubric,tag,version,model}"
SCHEMA = "evals://schemas/{type}"
SKILL = "evals://skills/{name}"
RESULTS = "evals://runs/{id}/results{?status,limit,cursor}"
TREND = "evals://benchmarks/{id}/trend"
HISTORY = "evals://test-cases/{id}/history"
RECORD = "evals://{type}/{id}"


def record_address(kind: str, ident: str) -> str:
    """Returns where a record of any type, or a run, is read; an id's `/` and `:` are percent-encoded."""
    return f"evals://{kind}/{quote(ident, safe='')}"


def results_address(run_id: str) -> str:
    """Returns where a run's results are read."""
    return f"evals://runs/{quote(run_id, safe='')}/results"


def trend_address(benchmark_id: str) -> str:
    """Returns where a benchmark's trend is read."""
    return f"evals://benchmarks/{quote(benchmark_id, safe='')}/trend"


def history_address(test_case_id: str) -> str:
    """Returns where a test case's history is read."""
    return f"evals://test-cases/{quote(test_case_id, safe='')}/history"


def touched(changes: Changes) -> list[str]:
    """The addresses whose content may have changed, each once."""
    addresses = [address for event in changes.events for address in _of_event(event)]
    addresses += [address for run_id in changes.run_ids for address in _of_run(run_id)]
    if addresses:
        addresses.append(INDEX)
    if changes.outbox:
        addresses.append(OUTBOX)
    return list(dict.fromkeys(addresses))


def _of_event(event: Happened) -> Iterator[str]:
    yield record_address(event.subject_type, event.subject_id)
    match event.type:
        case "test-run-recorded":
            yield from _of_run(event.subject_id.rpartition(":")[0])
            yield history_address(str(event.detail["testCaseId"]))
        case "benchmark-run-recorded":
            yield from _of_run(event.subject_id)
            yield trend_address(str(event.detail["benchmarkId"]))
        case "prompt-comparison-recorded":
            yield from _of_run(event.subject_id)
        case _:
            return


def _of_run(run_id: str) -> Iterator[str]:
    yield record_address("run", run_id)
    yield results_address(run_id)
