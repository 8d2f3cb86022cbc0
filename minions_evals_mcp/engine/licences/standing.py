"""The trust in the judges that a run or a comparison rests on: state, labels, one sentence, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import JudgeLicence
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.licences.licence import FEWEST_LABELS, keep, licence_of, unprobed
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import (
    JudgeKey,
    judges_of_runs,
    models_of_labelled,
    models_of_runs,
)
from minions_evals_mcp.store.queries.report_units import titles

StandingState = Literal["none", "unknown", "qualified", "unqualified"]
WORST: tuple[StandingState, ...] = ("unqualified", "unknown", "qualified", "none")
NAMED = 3
IMPLICIT = "implicit"
NOT_LABELLED = "assertions that a model grades"


class CriterionStanding(Value):
    """A judge on one criterion: its licence, and why it has it or has it not."""

    criterion_id: str
    title: str
    judged_by: str
    state: Literal["unknown", "qualified", "unqualified"]
    labels: int
    reason: str
    unprobed: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    """Why no probes speak for a judge that nobody labelled."""


class JudgeStanding(Value):
    """The worst of the judges that a result rests on; `none` where rules or people judged alone.

    `in_words` is empty where there is nothing to say, `next` is the command that helps.
    """

    state: StandingState = "none"
    labels: int = 0
    in_words: str = ""
    next: str = ""
    criteria: tuple[CriterionStanding, ...] = ()

    @property
    def untested(self) -> CriterionStanding | None:
        """The first judge for whom neither labels nor probes speak; None where each has either."""
        return next((criterion for criterion in self.criteria if criterion.unprobed), None)

    def brief(self) -> Json:
        """State, labels and the sentence, with what to do next."""
        sentence = f"{self.in_words} Next: {self.next}." if self.next else self.in_words
        return {"state": self.state, "labels": self.labels, "inWords": sentence}


def judge_standing(db: Db, run_ids: Sequence[str], *, at: datetime) -> JudgeStanding:
    """Returns whether the judges of those benchmark-runs hold a licence for what they judged there; nothing is written."""
    criteria = [standing for standing, _ in _criteria(db, run_ids, at=at)]
    if not criteria:
        return JudgeStanding()
    state = WORST[min(WORST.index(criterion.state) for criterion in criteria)]
    worst = [criterion for criterion in criteria if criterion.state == state]
    job = jobs.job(db, run_ids[-1])
    return JudgeStanding(
        state=state,
        labels=min(criterion.labels for criterion in criteria),
        in_words=_in_words(state, worst),
        next=_next(state, run_ids[-1], job.subject_id if job else run_ids[-1]),
        criteria=tuple(criteria),
    )


def keep_licences(db: Db, run_ids: Sequence[str], *, at: datetime) -> list[str]:
    """Writes the licences that those runs' judges have now, in the caller's transaction; their ids."""
    return [keep(db, licence).id for _, licence in _criteria(db, run_ids, at=at) if licence is not None]


def _criteria(
    db: Db, run_ids: Sequence[str], *, at: datetime
) -> list[tuple[CriterionStanding, JudgeLicence | None]]:  # fmt: skip
    judges = judges_of_runs(db, run_ids)
    named = titles(db, sorted({criterion_id for criterion_id, _ in judges}))
    standings: list[tuple[CriterionStanding, JudgeLicence | None]] = []
    for criterion_id, key in judges:
        if not criterion_id:
            standings.append((_unlabelled(key.judged_by), None))
            continue
        licence = _for_model(db, licence_of(db, criterion_id, key, at=at), key, run_ids)
        standing = CriterionStanding(
            criterion_id=criterion_id,
            title=named.get(criterion_id, criterion_id),
            judged_by=key.judged_by,
            state=licence.state,
            labels=licence.labels,
            reason=licence.reason,
            unprobed=unprobed(licence.probes) if licence.state == "unknown" else "",
        )
        standings.append((standing, licence))
    return standings


def _for_model(db: Db, licence: JudgeLicence, key: JudgeKey, run_ids: Sequence[str]) -> JudgeLicence:
    """The licence in those runs: unknown where another model answers for the judge than on the labelled outputs."""
    if licence.state == "unknown" or not licence.labels:
        return licence
    now, then = models_of_runs(db, run_ids), models_of_labelled(db, licence.criterion_id, key)
    if not now or not then or now <= then:
        return licence
    reason = f"the model answered as {', '.join(sorted(now - then))}, and as {', '.join(sorted(then))} on the labelled outputs"
    return licence.model_copy(update={"state": "unknown", "reason": reason})


def _unlabelled(judged_by: str) -> CriterionStanding:
    return CriterionStanding(
        criterion_id=IMPLICIT,
        title=NOT_LABELLED,
        judged_by=judged_by,
        state="unknown",
        labels=0,
        reason="people can label only by rubric criteria",
        unprobed="only rubric criteria can be probed",
    )


def _in_words(state: StandingState, worst: Sequence[CriterionStanding]) -> str:
    on = ", ".join(dict.fromkeys(standing.title for standing in worst[:NAMED]))
    on += f" and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    first = worst[0]
    match state:
        case "qualified":
            return f"The judge can be trusted on {on}: {first.reason}."
        case "unqualified":
            return f"The judge cannot be trusted on {on}: {first.reason}."
        case "unknown":
            return f"Whether the judge can be trusted on {on} is not known: {first.reason}."
        case "none":
            return ""


def _next(state: StandingState, run_id: str, benchmark_id: str) -> str:
    match state:
        case "unknown":
            return str(Next("label", {"run_id": run_id, "draw": FEWEST_LABELS}, "draws outputs for people to judge"))
        case "unqualified":
            return str(Next("agreement", {"benchmark_id": benchmark_id}, "shows where people and the judge differ"))
        case "qualified" | "none":
            return ""
