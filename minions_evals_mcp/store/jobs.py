"""Runs as jobs: what was asked, how far each unit is, and the verdicts that were paid for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import NotJudgeable, Observed, UnitKey, Verdict
from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import AT_MOST, Db, insert_rows

_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
"""A run's id, or its first eight characters and more."""
JobKind = Literal["test-case", "benchmark", "comparison", "ab-test", "trial"]
JobState = Literal["running", "awaiting-judgments", "stopped", "completed", "failed", "cancelled"]


@frozen_type
class Job:
    """A run as it was asked for. `spec` is frozen; `spent` adds up calls, tokens and dollars over every start of it."""

    id: str
    key: str
    kind: JobKind
    subject_id: str
    spec: Json
    state: JobState
    reason: str
    spent: dict[str, float]
    total: int
    created_at: datetime
    updated_at: datetime


class UnitRow(NamedTuple):
    """The stored part of a unit so far."""

    key: UnitKey
    case_id: str
    outcome: Outcome | None = None
    reason: str = ""
    observed: Observed | None = None
    packet: str | None = None
    test_run_id: str | None = None


OF_TRACES = (
    "j.kind = 'test-case' AND j.key >= 'message:' AND j.key < 'message;'"
    " AND substr(j.key, -length(j.subject_id) - 1) = ':' || j.subject_id"
)
"""The runs that judge what an agent reported it had done: their key names the message and the case."""
_JOB = "id, key, kind, subject_id, spec, state, reason, spent, total, created_at, updated_at"
_UNIT = "job_id, position, trial, case_id, outcome, reason, output, packet, test_run_id"


def _job(row: tuple[object, ...] | None) -> Job | None:
    if row is None:
        return None
    ident, key, kind, subject_id, spec, state, reason, spent, total, created_at, updated_at = row
    return Job(
        ident, key, kind, subject_id, json.loads(spec), state, reason, json.loads(spent), total,  # pyright: ignore[reportArgumentType]  a row's columns, typed by the schema
        from_millis(created_at), from_millis(updated_at),  # pyright: ignore[reportArgumentType]  as above
    )  # fmt: skip


def job(db: Db, ident: str) -> Job | None:
    """The job under that id."""
    return _job(db.execute(f"SELECT {_JOB} FROM job WHERE id = ?", (ident,)).fetchone())


def job_by_key(db: Db, key: str) -> Job | None:
    """The job under that idempotency key; a run's id, or as much of it as `runs` shows, means that run where no other has the key."""
    known_job = _job(db.execute(f"SELECT {_JOB} FROM job WHERE key = ?", (key,)).fetchone())
    if known_job is not None or _ID.fullmatch(key) is None:
        return known_job
    rows = db.execute(f"SELECT {_JOB} FROM job WHERE id >= ?1 AND id < ?1 || 'g' {AT_MOST}", (key, 2)).fetchall()
    return _job(rows[0]) if len(rows) == 1 else None


def jobs(db: Db, *, limit: int = 20, skip: int = 0, with_traces: bool = True) -> list[Job]:
    """The newest jobs first, after so many of these; those that judge production traces only `with_traces`."""
    chosen = "" if with_traces else f"WHERE NOT ({OF_TRACES})"
    rows = db.execute(
        f"SELECT {_JOB} FROM job j {chosen} ORDER BY created_at DESC, id {AT_MOST} OFFSET ? + 0", (limit, skip)
    )
    return [read_job for row in rows if (read_job := _job(row)) is not None]


def newest_of(db: Db, *, kind: JobKind, subject_id: str) -> Job | None:
    """The newest job of that kind and subject."""
    query = f"SELECT {_JOB} FROM job WHERE kind = ? AND subject_id = ? ORDER BY created_at DESC, id LIMIT 1"
    row = db.execute(query, (kind, subject_id)).fetchone()
    return None if row is None else _job(row)


def count(db: Db) -> int:
    """Returns how many runs there are."""
    return db.execute("SELECT count(*) FROM job").fetchone()[0]


def start(db: Db, new: Job) -> Job:
    """The job under the new one's key: the one kept already, or the new one."""
    known_job = job_by_key(db, new.key)
    if known_job is not None:
        return known_job
    db.execute(
        f"INSERT INTO job ({_JOB}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.id, new.key, new.kind, new.subject_id, json.dumps(new.spec), new.state, new.reason, json.dumps(new.spent),
            new.total, to_millis(new.created_at), to_millis(new.updated_at),
        ),
    )  # fmt: skip
    return new


def set_state(db: Db, ident: str, state: JobState, *, reason: str = "", at: datetime) -> None:
    """Writes the job's state, and why; what has ended is not stopped any more by whoever came too late."""
    db.execute(
        "UPDATE job SET state = ?1, reason = ?2, updated_at = ?3 WHERE id = ?4"
        " AND NOT (?1 = 'stopped' AND state IN ('completed', 'failed'))",
        (state, masked(reason), to_millis(at), ident),
    )


def set_total(db: Db, ident: str, total: int) -> None:
    """Writes the number of the job's units, where that is known only once its parts are written down."""
    db.execute("UPDATE job SET total = ? WHERE id = ?", (total, ident))


def add_spent(db: Db, ident: str, spent: dict[str, float]) -> None:
    """Adds what this start of the job has spent since it last said so."""
    row = db.execute("SELECT spent FROM job WHERE id = ?", (ident,)).fetchone()
    total: dict[str, float] = json.loads(row[0])
    for name, amount in spent.items():
        total[name] = total.get(name, 0) + amount
    amounts = {name: amount for name, amount in total.items() if amount}
    db.execute("UPDATE job SET spent = ? WHERE id = ?", (json.dumps(amounts), ident))


def _unit(row: tuple[object, ...]) -> UnitRow:
    job_id, position, trial, case_id, outcome, reason, output, packet, test_run_id = row
    observed = None if output is None else Observed.model_validate_json(output)  # pyright: ignore[reportArgumentType]  a row's column, typed by the schema
    return UnitRow(UnitKey(job_id, position, trial), case_id, outcome, reason, observed, packet, test_run_id)  # pyright: ignore[reportArgumentType]  as above


def units(db: Db, job_id: str, *, first: int, last: int) -> dict[tuple[int, int], UnitRow]:
    """Returns what is kept of the units at the positions `first` to `last` (exclusive), by position and trial."""
    rows = db.execute(
        f"SELECT {_UNIT} FROM unit WHERE job_id = ? AND position >= ? AND position < ?", (job_id, first, last)
    )
    return {(unit.key.position, unit.key.trial): unit for unit in map(_unit, rows)}


def observed(db: Db, test_run_id: str) -> Observed | None:
    """Returns what was seen of the output that became that test-run, where it was made or waited for."""
    job_id = test_run_id.rpartition(":")[0]
    row = db.execute("SELECT output FROM unit WHERE job_id = ? AND test_run_id = ?", (job_id, test_run_id)).fetchone()
    return None if row is None or row[0] is None else Observed.model_validate_json(row[0])


def made_outputs(db: Db, target: str) -> dict[tuple[str, int], UnitKey]:
    """The newest unit that keeps an output of that target, by what the output was made from and its trial; failures to answer are none."""
    rows = db.execute(
        "SELECT json_extract(u.output, '$.madeFrom') AS made, u.job_id, u.position, u.trial FROM job j JOIN unit u ON u.job_id = j.id"
        " WHERE json_extract(j.spec, '$.measured.target') = ? AND made IS NOT NULL"
        " AND json_extract(u.output, '$.timedOut') IS NULL ORDER BY j.created_at, u.position",
        (target,),
    )
    return {(made, trial): UnitKey(job_id, position, trial) for made, job_id, position, trial in rows}


def output_of(db: Db, key: UnitKey) -> Observed:
    """The output that a unit keeps."""
    row = db.execute(
        "SELECT output FROM unit WHERE job_id = ? AND position = ? AND trial = ?", (key.job_id, key.position, key.trial)
    ).fetchone()
    return Observed.model_validate_json(row[0])


class OutputOrigins(NamedTuple):
    """Number of a run's outputs by where they came from, those that still wait for a verdict or could have none among them."""

    recorded: int
    cached: int
    """Made by the same target for an earlier run."""
    made: int


def count_origins(db: Db, job_id: str) -> OutputOrigins:
    """Origins of the job's outputs. A recorded one is counted once it is judged: until then its unit keeps no copy."""
    recorded, cached, outputs = db.execute(
        "SELECT count(r.agent_run_id), count(json_extract(u.output, '$.reusedFrom')), count(*)"
        " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id = ? AND (r.id IS NOT NULL"
        " OR u.output IS NOT NULL AND u.outcome IN ('awaiting-judgments', 'judge-error', 'not-judgeable', 'user-error'))",
        (job_id,),
    ).fetchone()
    return OutputOrigins(recorded, cached, outputs - recorded - cached)


@frozen_type
class StoredOutput:
    """An output that was judged: what was seen of it where it was made, else the recorded agent-run that it is of."""

    observed: Observed | None
    agent_run_id: str | None


def outputs_of(db: Db, job_id: str, case_ids: Sequence[str]) -> dict[tuple[str, int], StoredOutput]:
    """The outputs of a job for those cases that were judged or that their user spoiled, by case and trial."""
    rows = db.execute(
        "SELECT u.case_id, u.trial, u.output, r.agent_run_id FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ? AND (r.id IS NOT NULL OR u.outcome = 'user-error')"
        " AND u.case_id IN (SELECT value FROM json_each(?))",
        (job_id, json.dumps(list(case_ids))),
    )
    return {
        (case_id, trial): StoredOutput(None if output is None else Observed.model_validate_json(output), agent_run_id)
        for case_id, trial, output, agent_run_id in rows
    }


def unit_of_packet(db: Db, job_id: str, packet: str) -> UnitRow | None:
    """The unit that handed out the packet with that digest."""
    row = db.execute(f"SELECT {_UNIT} FROM unit WHERE packet = ? AND job_id = ?", (packet, job_id)).fetchone()
    return None if row is None else _unit(row)


def units_with(db: Db, job_id: str, outcomes: tuple[Outcome, ...], *, limit: int) -> list[UnitRow]:
    """The units that ended so, in order."""
    rows = db.execute(
        f"SELECT {_UNIT} FROM unit WHERE job_id = ? AND outcome IN (SELECT value FROM json_each(?))"
        f" ORDER BY position, trial {AT_MOST}",
        (job_id, json.dumps(outcomes), limit),
    )
    return [_unit(row) for row in rows]


def cases_with(db: Db, job_id: str, outcomes: Iterable[Outcome]) -> set[str]:
    """The cases of a job of which a unit ended so."""
    rows = db.execute(
        "SELECT case_id FROM unit WHERE job_id = ? AND outcome IN (SELECT value FROM json_each(?))",
        (job_id, json.dumps(list(outcomes))),
    )
    return {row[0] for row in rows}


def unit_counts(db: Db, job_id: str) -> dict[Outcome, int]:
    """Returns how many units ended how."""
    row = db.execute(f"SELECT {_COUNTED} FROM unit WHERE job_id = ?", (job_id,)).fetchone()
    return {outcome: count for outcome, count in zip(_OUTCOMES, row, strict=True) if count}


_OUTCOMES: tuple[Outcome, ...] = tuple(sorted(get_args(Outcome)))
_COUNTED = ", ".join(f"count(*) FILTER (WHERE outcome = '{outcome}')" for outcome in _OUTCOMES)
"""One pass that holds nothing: grouped, SQLite would sort the units of the job in memory."""


UnitValues = tuple[str, int, int, str, Outcome | None, str, str | None, str | None, str | None]
"""A unit's columns, in the order of `_UNIT`."""


def unit_values(  # noqa: PLR0913, PLR0917  a row's columns
    key: UnitKey, case_id: str, outcome: Outcome | None, reason: str, observed: Observed | None, packet: str | None,
    test_run_id: str | None,
) -> UnitValues:  # fmt: skip
    """The row that a unit becomes, without any secret that this process knows."""
    output = None if observed is None else masked(observed.model_dump_json(exclude_defaults=True))
    return key.job_id, key.position, key.trial, case_id, outcome, masked(reason), output, packet, test_run_id


def save_units(db: Db, page: Sequence[UnitRow]) -> None:
    """Keeps how far the units of a job are; an output that is kept already stays, and so does the packet of a judged unit."""
    write_units(db, [unit_values(*row) for row in page])


def write_units(db: Db, page: Sequence[UnitValues]) -> None:
    """The same of units that are rows already."""
    if not page:
        return
    positions = [position for _, position, *_ in page]
    begun = set(
        db.execute(  # no ON CONFLICT: the trigger that refuses to replace a unit would refuse it too
            "SELECT position, trial FROM unit WHERE job_id = ? AND position BETWEEN ? AND ?",
            (page[0][0], min(positions), max(positions)),
        )
    )
    db.executemany(
        "UPDATE unit SET outcome = ?5, reason = ?6, output = coalesce(output, ?7), packet = iif(?9 IS NULL, ?8, packet),"
        " test_run_id = ?9 WHERE job_id = ?1 AND position = ?2 AND trial = ?3",
        [row for row in page if row[1:3] in begun],
    )
    insert_rows(db, f"unit ({_UNIT})", [row for row in page if row[1:3] not in begun])


def skip_open(db: Db, job_id: str, case_ids: Sequence[str], *, reason: str) -> None:
    """Marks every unit of those cases of which nothing is kept as skipped, and why; of jobs with one trial."""
    positions = {
        row[0] for row in db.execute("SELECT position FROM unit WHERE job_id = ? AND outcome IS NOT NULL", (job_id,))
    }
    still_open = [
        UnitRow(UnitKey(job_id, position, 1), case_id, "skipped", reason)
        for position, case_id in enumerate(case_ids)
        if position not in positions
    ]
    save_units(db, still_open)


@frozen_type
class VerdictKey:
    """The subject of a verdict: the output with its case, the criterion, and the judge."""

    subject: str
    criterion: str
    judge: str


def save_verdict(db: Db, unit: UnitKey, about: VerdictKey, answer: Verdict | NotJudgeable, *, at: datetime) -> None:
    """Keeps a verdict that was paid for; the same one twice is kept once."""
    criterion_id = answer.criterion_id
    text = masked(
        answer.model_dump_json() if isinstance(answer, Verdict) else json.dumps({"notJudgeable": answer.reason})
    )
    key = (unit.job_id, unit.position, unit.trial, criterion_id, about.subject, about.criterion, about.judge)
    db.execute(
        "INSERT INTO verdict (job_id, position, trial, criterion_id, subject_digest, criterion_digest, judge_digest, said,"
        " judged_at) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM verdict WHERE job_id = ?"
        " AND position = ? AND trial = ? AND criterion_id = ? AND subject_digest = ? AND criterion_digest = ?"
        " AND judge_digest = ?)",
        (*key, text, to_millis(at), *key),
    )


def verdict(
    db: Db, about: VerdictKey, criterion_id: str, *, only: UnitKey | None = None
) -> tuple[Verdict | NotJudgeable, datetime] | None:
    """The newest verdict on the same output, criterion and judge, and when it was given; of one unit only where `only` is given."""
    sql = "SELECT said, judged_at FROM verdict WHERE subject_digest = ? AND criterion_digest = ? AND judge_digest = ?"
    values: tuple[object, ...] = (about.subject, about.criterion, about.judge)
    if only is not None:
        sql += " AND job_id = ? AND position = ? AND trial = ?"
        values += (only.job_id, only.position, only.trial)
    row = db.execute(sql + " ORDER BY seq DESC LIMIT 1", values).fetchone()
    if row is None:
        return None
    verdict_read = json.loads(row[0])
    if "notJudgeable" in verdict_read:
        return NotJudgeable(criterion_id, verdict_read["notJudgeable"]), from_millis(row[1])
    stored_verdict = Verdict.model_validate_json(row[0])
    return stored_verdict.model_copy(update={"criterion_id": criterion_id}), from_millis(row[1])
