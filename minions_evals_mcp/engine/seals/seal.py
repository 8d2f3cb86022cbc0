"""Sealing a benchmark, or a share of its cases, and ending the seal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.definitions import Benchmark, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.request_fields import More
from minions_evals_mcp.domain.results import JudgeType
from minions_evals_mcp.domain.seals import drawn
from minions_evals_mcp.domain.speaker import AGENTS
from minions_evals_mcp.domain.values import Id, Value, Visible, first_named
from minions_evals_mcp.engine.audit_standing.standing import audit_standing, benchmark_digest, carry_audit
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.yardstick import ByNothing, Measure, measures
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.stats.attempts import attempt_level
from minions_evals_mcp.stats.paired import fewest_changed
from minions_evals_mcp.store import records, sealed_content, seals, speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.seals import Seal, SealedCase

FEWEST = 2
NAMED = 5
A_PERSON: JudgeType = "human"


class SealAsked(Value):
    """A benchmark to be sealed: whole, or a `share` of its cases, which `seed` draws."""

    benchmark_id: Annotated[
        Id,
        Field(description="The benchmark"),
        More("The benchmark. To end a seal, you can also name the benchmark it was split from."),
    ]
    share: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        Field(description="The share of its cases"),
        More("Seal a share of the cases (0 to 1) in a separate benchmark. The rest stays open for learning."),
    ] = None
    seed: Annotated[int, Field(description="Draws the cases of a share")] = 0


class SealMade(Value):
    """The result of a seal: `openBenchmarkId` keeps the rest where a share was sealed, `seenBefore` test-runs came earlier.

    `openCopies`: open cases with the inputs of sealed ones.
    """

    benchmark_id: str
    open_benchmark_id: str | None
    cases: int
    open_cases: int
    seen_before: int
    open_copies: list[str]
    in_words: str


class SealEnded(Value):
    """The parts that are open again, and where it stands."""

    benchmark_id: str
    cases: int
    reason: str


async def seal_benchmark(engine: Engine, request: SealAsked, *, by: str) -> SealMade:
    """Seals the benchmark's cases, or a share of them in a benchmark of their own.

    Raises `NotFoundError`, `ConflictError` where it is sealed already, `BadInputError` where another benchmark would show
    its cases or a person would have to judge them.
    """
    now = engine.clock()
    return await engine.store.write(lambda db: seal_within(db, request, by=by, at=now))


def seal_within(db: Db, request: SealAsked, *, by: str, at: datetime, arriving: bool = False) -> SealMade:
    """As `seal_benchmark`, within a transaction; `arriving`: within the one that takes the benchmark in."""
    benchmark = records.require(db, request.benchmark_id, Benchmark, hidden=False)
    if seals.seal_of(db, benchmark.id) is not None:
        raise ConflictError(
            f"the benchmark {benchmark.id} is already sealed.", remedy=f"{Next('seals', reason='lists every seal')}."
        )
    chosen = _chosen(benchmark, request)
    _vet_elsewhere(db, benchmark, chosen)
    judged = measures(db, chosen, {})
    for measure in judged:
        _vet_canary(benchmark.id, measure)
        _vet_judge(measure)
    audited = audit_standing(db, benchmark.id, benchmark_digest(db, benchmark.id)).audit_id
    sealed_id = benchmark.id if request.share is None else _part_off(db, benchmark, chosen, at)
    if audited is not None and sealed_id != benchmark.id:
        carry_audit(db, audited, (sealed_id, benchmark.id), to=sealed_id, at=at)
    if request.share is None and not benchmark.fields.sealed:
        _save(db, benchmark, at, sealed=True)
    share, seed = (request.share, request.seed) if request.share is not None else (None, None)
    opened = None if request.share is None else benchmark.id
    seen, copies = seals.runs_of_cases(db, chosen), seals.open_copies(db, chosen)
    if sealed_content.has_key():
        sealed_content.encrypt(db, chosen)
    seals.put(
        db, Seal(0, sealed_id, opened, share, seed, by, at), [_sealed(measure) for measure in judged], arriving=arriving
    )
    detail = {"cases": len(chosen), "openBenchmarkId": opened, "share": share, "by": by}
    append(db, Event("sealed", "benchmark", sealed_id, {**detail}), at=at)
    left = 0 if opened is None else len(benchmark.fields.test_case_ids) - len(chosen)
    return SealMade(
        benchmark_id=sealed_id, open_benchmark_id=opened, cases=len(chosen), open_cases=left, seen_before=seen,
        open_copies=copies, in_words=_in_words(sealed_id, opened, len(chosen), left, seen) + _copied(copies) + _derived(chosen),
    )  # fmt: skip


def _in_words(sealed_id: str, opened: str | None, cases: int, left: int, seen: int) -> str:
    sentence = f"{cases} {'case' if cases == 1 else 'cases'} sealed in {sealed_id}"
    if opened is not None:
        sentence += f"; {left} stay open in {opened}"
    if cases < (fewest := fewest_changed(1 - attempt_level(1))):
        sentence += f"; too few to decide any comparison (at least {fewest} are needed)"
    if seen:
        sentence += f"; {seen} of their test-runs were visible until now"
    return f"{sentence}."


def _copied(copies: list[str]) -> str:
    """The open cases that show what sealed ones ask."""
    if not copies:
        return ""
    return f" Open cases have the same inputs and reveal them: {first_named(copies, NAMED)}. Delete those cases."


_DERIVED = re.compile(r"test-case:[0-9a-f]{32}(:\d+)?|log:.*[0-9a-f]{12,20}|eval/test/[0-9a-f]{16}(-\d+)?")
"""The ids that importers make of what a case asks and expects."""


def _derived(chosen: tuple[str, ...]) -> str:
    """The number of ids that tell whoever guesses a case that the guess is right."""
    number = sum(_DERIVED.fullmatch(ident) is not None for ident in chosen)
    if not number:
        return ""
    return (
        f" {number} of their ids are derived from the case content, so a guess of the content can be confirmed."
        " Use explicit ids to avoid that."
    )


async def unseal(engine: Engine, benchmark_id: str, reason: Visible, *, by: str) -> SealEnded:
    """Ends the seal on the benchmark, or on its sealed part, for good; the cases go back to where they came from."""
    now = engine.clock()

    def end(db: Db) -> SealEnded:
        seal = seals.seal_of(db, benchmark_id)
        if seal is None:
            raise NotFoundError("sealed benchmark", benchmark_id, remedy=f"{Next('seals', reason='lists every seal')}.")
        seals.end(db, seal, by=by, reason=reason, at=now)
        idents = [case.case_id for case in seals.sealed_cases(db, seal)]
        sealed_content.decrypt(db, idents)
        _give_back(db, seal, now)
        append(db, Event("unsealed", "benchmark", seal.benchmark_id, {"reason": reason, "by": by}), at=now)
        return SealEnded(benchmark_id=seal.open_benchmark_id or seal.benchmark_id, cases=len(idents), reason=reason)

    return await engine.store.write(end)


def _chosen(benchmark: Record[Benchmark], request: SealAsked) -> tuple[str, ...]:
    idents = benchmark.fields.test_case_ids
    if request.share is None:
        return idents
    if len(idents) < FEWEST:
        raise BadInputError(
            f"the benchmark {benchmark.id} has only one case, so no share would stay open.",
            remedy=f"Leave {argument('share')} out.",
        )
    return drawn(idents, share=request.share, seed=request.seed)


def _vet_elsewhere(db: Db, benchmark: Record[Benchmark], chosen: tuple[str, ...]) -> None:
    """Refuses cases that stay open elsewhere."""
    for other, case_id in seals.benchmarks_with(db, chosen, but=benchmark.id)[:1]:
        raise BadInputError(
            f"the benchmark {other} also has {case_id} and would reveal it.",
            remedy=f"Delete {other} or remove the case from it, then seal {benchmark.id}.",
        )


def _vet_canary(benchmark_id: str, measure: Measure) -> None:
    """Refuses a canary: it is part of no figure, and a sealed case is run as a part of its benchmark's only."""
    if measure.case.fields.canary:
        raise BadInputError(
            f"test-case {measure.case.id} is a canary, which cannot be sealed.",
            remedy=f"Remove it from {benchmark_id}, or move it to an open benchmark.",
        )


def _vet_judge(measure: Measure) -> None:
    """Refuses a case that only a person could judge: nobody is shown what is sealed."""
    rubric = measure.yardstick
    by_person = isinstance(rubric, RubricInUse) and any(fields.judge_type == A_PERSON for _, fields in rubric.criteria)
    if by_person or isinstance(rubric, ByNothing):
        raise BadInputError(
            f"test-case {measure.case.id} is judged by a person, but nobody may see sealed cases.",
            remedy="Give it assertions, an expected output or criteria that a rule or a model judges.",
        )


def _sealed(measure: Measure) -> SealedCase:
    case = measure.case
    return SealedCase(case.id, content_digest(case.fields), digest(case.fields.inputs), case.fields.rubric_id)


def content_digest(case: TestCase) -> str:
    """The digest of what a case asks and expects, whatever it is called and wherever it stands."""
    included = {"inputs", "expected_outputs", "assertions", "scoring"}
    return digest(case.model_dump(mode="json", include=included))


def _part_off(db: Db, benchmark: Record[Benchmark], chosen: tuple[str, ...], at: datetime) -> str:
    """Moves the chosen cases into a benchmark of their own, and says its id."""
    ident = _free_id(db, f"{benchmark.id}.sealed")
    fields = benchmark.fields.model_copy(
        update={
            "test_case_ids": chosen, "sealed": True, "name": f"{benchmark.fields.name} (sealed)", "schedule": None,
            "last_run_at": None, "last_score": None, "last_judged_by": (),
        }
    )  # fmt: skip
    parted = Record(
        ident, fields, f"{benchmark.title} (sealed)", at, at, benchmark.tags, created_by=benchmark.created_by
    )
    records.add_all(db, [parted])
    append(db, Event("record-saved", "benchmark", ident, {"new": True, **_still_by(db, benchmark.id)}), at=at)
    rest = tuple(ident for ident in benchmark.fields.test_case_ids if ident not in set(chosen))
    _save(db, benchmark, at, test_case_ids=rest, last_run_at=None, last_score=None, last_judged_by=())
    return ident


def _free_id(db: Db, wanted: str) -> str:
    """That id, or with a number where it is taken."""
    number, ident = 1, wanted[-120:]
    while records.find(db, ident) is not None:
        number += 1
        ident = f"{wanted[-120:]}-{number}"
    return ident


def _save(db: Db, benchmark: Record[Benchmark], at: datetime, **changed: object) -> None:
    fields = benchmark.fields.model_copy(update=changed)
    records.save(db, benchmark.touched(fields, at))
    append(db, Event("record-saved", "benchmark", benchmark.id, {"new": False, **_still_by(db, benchmark.id)}), at=at)


def _still_by(db: Db, ident: str) -> Mapping[str, str]:
    """What is said of the source of a benchmark that a seal changes: a seal accepts nothing that an agent made."""
    return {"by": AGENTS} if speakers.made_by_agents(db, [ident]) else {}


def _give_back(db: Db, seal: Seal, at: datetime) -> None:
    """The benchmark is sealed no more; a share goes back into the benchmark that it was taken from."""
    sealed = records.require(db, seal.benchmark_id, Benchmark)
    came_from = seal.open_benchmark_id
    opened = None if came_from is None else records.get(db, came_from, Benchmark, hidden=False)
    if opened is None:
        _save(db, sealed, at, sealed=False)
        return
    _save(db, sealed, at, sealed=False, status="retired")
    known = opened.fields.test_case_ids
    back = tuple(ident for ident in sealed.fields.test_case_ids if ident not in set(known))
    _save(db, opened, at, test_case_ids=(*known, *back))
