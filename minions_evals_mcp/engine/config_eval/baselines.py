"""A config's columns beside those of an earlier evaluation: the last one, that of a branch, or one that is named by a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from minions_evals_mcp.engine.answers.run_diff import RunDiff, run_diff
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.jobs import find_job
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.stats.regression import Gate, fall_gate, pass_rate_dropped
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.config_labels import EVALUATED


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An earlier evaluation: the run and the label of each column."""

    columns: tuple[tuple[str, str], ...]

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs of its columns."""
        return tuple(run_id for run_id, _ in self.columns)


@dataclass(frozen=True, slots=True)
class ColumnGate:
    """A column beside its baseline: what changed on the tests that both have, and what the gate makes of it.

    `diff` is None where nothing could be compared: the gate is undecided then, or passes for a column that is new.
    """

    column: int
    before: str
    diff: RunDiff | None
    gate: Gate


def baseline_of(db: Db, matrix: Matrix, named: str | None) -> Evaluated | None:
    """The evaluation to compare with: of a branch or run that is named, else the last one of this config; None where there is none.

    Raises `BadInputError` where nothing of that name was evaluated.
    """
    own = {column.run_id for column in matrix.columns}
    events = _evaluations(db, matrix.title)
    if named is None:
        return next((evaluated for evaluated, _ in events if {*evaluated.run_ids} != own), None)
    of_branch = [evaluated for evaluated, branch in events if branch == named]
    if of_branch:
        return next((evaluated for evaluated in of_branch if {*evaluated.run_ids} != own), of_branch[0])
    job = find_job(db, named)
    if job is None:
        raise BadInputError(
            f"no evaluation on a branch, or of a run, named {named!r}.",
            remedy=f"{Next('runs', reason='lists runs')}. Without {argument('baseline')} the last evaluation is the baseline.",
        )
    return next((evaluated for evaluated, _ in events if job.id in evaluated.run_ids), Evaluated(((job.id, ""),)))


def _evaluations(db: Db, title: str) -> list[tuple[Evaluated, str | None]]:
    """The evaluations of configs of that title, the newest first, each with the branch that it was of."""
    rows = db.execute(
        "SELECT e.detail FROM event e JOIN minion m ON m.id = e.subject_id WHERE e.type = ? AND m.title = ? ORDER BY e.seq DESC",
        (EVALUATED, title),
    )
    found: list[tuple[Evaluated, str | None]] = []
    for (stored,) in rows:
        detail = json.loads(stored)
        labels = cast("list[list[str]]", detail.get("labels") or [[ident, ""] for ident in detail["runIds"]])
        found.append((Evaluated(tuple((run_id, label) for run_id, label in labels)), detail.get("branch")))
    return found


def gates_against(db: Db, matrix: Matrix, named: str | None) -> list[ColumnGate] | None:
    """The columns beside the baseline; None where there is no earlier evaluation."""
    baseline = baseline_of(db, matrix, named)
    return None if baseline is None else column_gates(db, matrix, baseline)


def column_gates(db: Db, matrix: Matrix, baseline: Evaluated) -> list[ColumnGate]:
    """Each column beside the one that it stands for; a column that is that run itself is in none.

    One that has no counterpart is new and passes, unless no column has one.
    """
    pairs = dict(_paired(db, matrix, baseline))
    gates: list[ColumnGate] = []
    for number, column in enumerate(matrix.columns):
        before, after = pairs.get(number), column.run_id
        if before is None:
            gates.append(ColumnGate(number, "", None, "held" if pairs else "undecided"))
        elif after is not None and before != after and runs.benchmark_run(db, after) is not None:
            diff = _diff(db, before, after)
            gates.append(ColumnGate(number, before, diff, "undecided" if diff is None else _gate(diff)))
    return gates


def _diff(db: Db, before: str, after: str) -> RunDiff | None:
    """What changed between the two; None if they share no comparable test."""
    try:
        diff = run_diff(db, before, after)
    except (BadInputError, NotFoundError):
        return None
    return diff if diff.alike else None


def _paired(db: Db, matrix: Matrix, baseline: Evaluated) -> list[tuple[int, str]]:
    """The column of the baseline that each stands for: of the same prompt and provider, else in order."""
    versions = {run_id: _version(db, run_id) for run_id in baseline.run_ids}
    left = dict.fromkeys(baseline.columns)
    pairs: dict[int, str] = {}
    for number, column in enumerate(matrix.columns):
        same = [
            pair for pair in left if pair[1] in {column.provider, ""} and versions[pair[0]] == column.prompt_version_ref
        ]
        if same:
            pairs[number] = same[0][0]
            del left[same[0]]
    open_columns = [number for number in range(len(matrix.columns)) if number not in pairs]
    for number in open_columns:
        provider = matrix.columns[number].provider
        beside = [other for other in open_columns if matrix.columns[other].provider == provider]
        candidates = [pair for pair in left if pair[1] == provider]
        if len(beside) == len(candidates):
            pairs[number] = candidates[beside.index(number)][0]
    if not pairs and len(baseline.columns) == len(matrix.columns):
        pairs = dict(enumerate(baseline.run_ids))
    return sorted(pairs.items())


def _version(db: Db, run_id: str) -> str | None:
    job = jobs.job(db, run_id)
    request = None if job is None else job.spec.get("request")
    return str(request.get("promptVersionRef")) if isinstance(request, dict) else None


def _gate(diff: RunDiff) -> Gate:
    """Failed for a fall of passes that is more than chance, undecided for a large one that too few tests decide."""
    counts = diff.counts
    fell, rose = counts.get("newly-failing", 0), counts.get("newly-passing", 0)
    if fell > rose and diff.evidence == "supported":
        return "failed"
    dropped = pass_rate_dropped(diff.before.passed, diff.before.trials, diff.after.passed, diff.after.trials)
    return fall_gate(diff.evidence, better=rose) if dropped else "held"


def worst(gates: Sequence[ColumnGate]) -> Gate:
    """What all columns come to together."""
    verdicts = {column.gate for column in gates}
    return "failed" if "failed" in verdicts else "undecided" if "undecided" in verdicts else "held"
