"""The notice of a fall that is more than chance and less than the documents' regression."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, SupportedFall
from minions_evals_mcp.engine.conclude.falls import fall_in_words
from minions_evals_mcp.engine.outbox import message, queue
from minions_evals_mcp.store.benchmarks import BenchmarkHead
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.runs import has_regressed_since


def tell_fall(
    db: Db, run: Record[BenchmarkRun], benchmark: BenchmarkHead, fall: SupportedFall, *, changed: str
) -> None:  # fmt: skip
    """Records the event and tells the orchestrator "benchmark-fall", once per run that the fall is measured from.

    A run that stays where a regression left it is no news: "benchmark-regression" has told of that fall.
    """
    append(db, Event("fall-found", "benchmark-run", run.id, {"since": fall.since, "of": fall.of}), at=run.fields.ran_at)
    if has_regressed_since(db, benchmark.id, fall.since):
        return
    sentence = f"{benchmark.title}: {fall_in_words(fall)}; {changed}."
    payload: Json = {
        "benchmarkId": benchmark.id, "benchmarkRunId": run.id, "previousRunId": fall.since, "of": fall.of,
        "delta": fall.delta, "pValue": fall.p_value, "summary": sentence,
    }  # fmt: skip
    announcement = message("benchmark-fall", payload, at=run.fields.ran_at)
    queue(db, f"{run.id}:fall", announcement, key=f"benchmark-fall:{benchmark.id}:{fall.since}", at=run.fields.ran_at)
