"""The audit of a benchmark's checks as they are now: one word, one sentence, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from minions_evals_mcp.domain.audits import Audit
from minions_evals_mcp.domain.definitions import Benchmark, Json
from minions_evals_mcp.domain.digests import combined, digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.yardstick import measures
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries.audits import audit_of, was_audited
from minions_evals_mcp.store.rows import insert

AuditState = Literal["audited", "changed", "never"]


class AuditStanding(Value):
    """The knowledge of a benchmark's checks. `audited`: exactly these; `changed`: others, before; `never`: none."""

    state: AuditState
    in_words: str
    next: str = ""
    audit_id: str | None = None
    cheat_pass_rate: float | None = None
    mutation_score: float | None = None

    @property
    def sentence(self) -> str:
        """The sentence, with what to do next."""
        return f"{self.in_words} Next: {self.next}." if self.next else self.in_words

    def brief(self) -> Json:
        """State, sentence and figures."""
        figures: Json = {"cheatPassRate": self.cheat_pass_rate, "mutationScore": self.mutation_score}
        return {"state": self.state, "inWords": self.sentence, **({} if self.audit_id is None else figures)}


def benchmark_digest(db: Db, benchmark_id: str) -> str | None:
    """The digest of a benchmark's active cases and their rubrics as they are now; None where there is no such benchmark."""
    benchmark = records.minion(db, benchmark_id)
    if benchmark is None or not isinstance(benchmark.fields, Benchmark):
        return None
    rubrics: dict[str, RubricInUse] = {}
    there = measures(db, benchmark.fields.test_case_ids, rubrics)
    active = [
        measure for measure in there if measure.case.deleted_at is None and measure.case.fields.status == "active"
    ]
    return suite_digest([measure.case_digest() for measure in active], [measure.rubric_digest() for measure in active])


def audit_standing(db: Db, benchmark_id: str, suite: str | None) -> AuditStanding:
    """Returns whether a suite of that digest was audited; nothing is written."""
    figures = None if suite is None else audit_of(db, benchmark_id, suite)
    if figures is not None:
        rate, score = figures.cheat_pass_rate or 0.0, figures.mutation_score
        mutants = "" if score is None else f", {100 * score:.0f} % of mutants fail"
        return AuditStanding(
            state="audited",
            in_words=f"Its checks were audited: cheats pass {100 * rate:.0f} % of cases{mutants}.",
            audit_id=figures.id,
            cheat_pass_rate=figures.cheat_pass_rate,
            mutation_score=score,
        )
    following = str(Next("audit", {"benchmark_id": benchmark_id}, "tests its checks"))
    if was_audited(db, benchmark_id):
        reason = "Its cases or rubrics have changed since its checks were audited."
        return AuditStanding(state="changed", in_words=reason, next=following)
    return AuditStanding(
        state="never", in_words="Its checks were never audited: a wrong answer may pass them.", next=following
    )


async def standing_now(engine: Engine, benchmark_id: str) -> AuditStanding:
    """Returns whether a benchmark was audited as it is now, a sealed one too: the digests of its cases are taken of all that they say."""
    return await engine.store.read_whole(
        lambda db: audit_standing(db, benchmark_id, benchmark_digest(db, benchmark_id))
    )


def vet_audited(db: Db, benchmark_id: str) -> None:
    """Refuses a benchmark whose checks were not audited as they are now: `BadInputError` with the next command."""
    standing = audit_standing(db, benchmark_id, benchmark_digest(db, benchmark_id))
    if standing.state != "audited":
        raise BadInputError(f"requireAudit is set. {benchmark_id}: {standing.in_words}", remedy=f"{standing.next}.")


def carry_audit(db: Db, audit_id: str, parts: Sequence[str], *, to: str, at: datetime) -> None:
    """Keeps that an audit of a benchmark holds for the `parts` that its cases went to, whose contents are what they were.

    An audit is never changed: this is one of its own, about `to`, without the cases of the other.
    """
    whole = records.require(db, audit_id, Audit)
    covers = {part: part_digest for part in parts if (part_digest := benchmark_digest(db, part)) is not None}
    fields = whole.fields.model_copy(
        update={"subject": to, "kind": "benchmark", "digest": covers[to], "covers": covers, "cases": ()}
    )
    insert(db, Record(f"{to}:a", fields, whole.title, at, at))
    append(db, Event("audit-carried", Audit.slug, f"{to}:a", {"from": audit_id}), at=at)


def suite_digest(cases: Sequence[str], rubrics: Sequence[str | None]) -> str:
    """The digest of a suite: of its active cases and the rubrics that they are judged by."""
    return digests_digest(combined(cases), combined(rubrics))


def digests_digest(cases: str | None, rubrics: str | None) -> str:
    """The same from the digests of all cases and of all rubrics, as a run keeps them."""
    return digest([cases, rubrics])
