"""The columns of the evaluation before: what stood where a prompt or provider of the same tests was changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.readings.real_change import difference
from minions_evals_mcp.engine.config_eval.matrix import ColumnBefore, Matrix
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append, newest
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.config_labels import CHOSEN, EVALUATED


def note_columns(
    db: Db,
    *,
    benchmark_id: str,
    columns: Sequence[tuple[str, str]],
    at: datetime,
    parts: Sequence[Sequence[str]] = (),
    branch: str | None = None,
) -> Sequence[str]:
    """Notes the columns of the tests, each a run and its provider's label. Result: the runs of the columns before.

    `parts` are all runs of each column, where tests ask for something of their own; `branch` is where it was evaluated.

    The same evaluation again is noted once, so it has the same columns before it.
    """
    noted = newest(db, EVALUATED, benchmark_id) or {"runIds": [], "before": []}
    run_ids: list[JsonValue] = [*dict.fromkeys(run_id for run_id, _ in columns)]
    ours: Json = {
        "runIds": run_ids,
        "labels": [[run_id, label] for run_id, label in columns],
        "before": noted["before"] if noted["runIds"] == run_ids else noted["runIds"],
        "parts": [[*idents] for idents in parts],
    }
    if branch is not None:
        ours["branch"] = branch
    if noted != ours:
        append(db, Event(EVALUATED, "benchmark", benchmark_id, ours), at=at)
    return [str(ident) for ident in ours["before"]] if isinstance(ours["before"], list) else []


def note_choices(db: Db, *, matrix: Matrix, at: datetime) -> None:
    """Notes which output each test chose, without what was said of it."""
    chosen: list[JsonValue] = [
        [
            row.case_id,
            row.trial,
            [{"type": pick.type, "selected": pick.selected, "scores": [*pick.scores]} for pick in row.selections],
        ]
        for row in matrix.rows
        if row.selections
    ]
    detail: Json = {"runIds": [column.run_id for column in matrix.columns], "rows": chosen}
    if newest(db, CHOSEN, matrix.benchmark_id) != detail:
        append(db, Event(CHOSEN, "benchmark", matrix.benchmark_id, detail), at=at)


def columns_before(db: Db, *, run_ids: Sequence[str], before: Sequence[str]) -> tuple[ColumnBefore, ...]:
    """Returns what each new column of one run changed beside the one that it stands for; none where that cannot be told.

    At each provider the columns that went and those that came stand for each other in order, if there are as many.
    """
    pairs = list(_replaced(db, run_ids, before))
    columns: list[ColumnBefore] = []
    for number, (old, new) in pairs:
        changed = difference(db, old.id, new.id, tests=len(pairs)).found
        if changed is not None:
            is_wording = _request_value(old, "promptVersionRef") != _request_value(new, "promptVersionRef")
            columns.append(
                ColumnBefore(
                    column=number, run_id=old.id, reworded=is_wording, delta=changed.delta, interval=changed.interval,
                    p_value=changed.p_value, verdict=changed.verdict, cases=changed.cases, tests=len(pairs),
                )
            )  # fmt: skip
    return tuple(columns)


def _replaced(db: Db, run_ids: Sequence[str], before: Sequence[str]) -> Iterator[tuple[int, tuple[Job, Job]]]:
    gone = _by_provider(db, [ident for ident in before if ident not in run_ids])
    come = _by_provider(db, [ident for ident in dict.fromkeys(run_ids) if ident not in before])
    for target, new in come.items():
        old = gone.get(target, [])
        if len(old) == len(new):
            yield from ((list(run_ids).index(after.id), (job, after)) for job, after in zip(old, new, strict=True))


def _by_provider(db: Db, run_ids: Sequence[str]) -> dict[str, list[Job]]:
    by_provider: dict[str, list[Job]] = defaultdict(list)
    for ident in run_ids:
        job = jobs.job(db, ident)
        if job is not None and runs.benchmark_run(db, ident) is not None:
            by_provider[_request_value(job, "target")].append(job)
    return by_provider


def _request_value(job: Job, name: str) -> str:
    request = job.spec["request"]
    return str(request.get(name)) if isinstance(request, dict) else ""
