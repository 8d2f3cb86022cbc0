"""Approval of a prompt version: only on a comparison that it wins for sure, measured on what still stands (HR2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal

from minions_evals_mcp.domain.definitions import Benchmark, Ids
from minions_evals_mcp.domain.digests import combined
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Approval, PromptComparison
from minions_evals_mcp.domain.values import Id, Value, Visible, first_named, is_blank
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.compare.benchmark_family import (
    BenchmarkFamily,
    family_of,
    strongest,
    together_words,
)
from minions_evals_mcp.engine.compare.compare_prompt_versions import looked_at
from minions_evals_mcp.engine.compare.demands import (
    ALONE,
    UntestedJudgeError,
    audited,
    keep_licences_of,
    missing,
)
from minions_evals_mcp.engine.compare.may_approve import may_approve
from minions_evals_mcp.engine.compare.more_evidence import compare_more
from minions_evals_mcp.engine.compare.whose_evidence import Decider
from minions_evals_mcp.engine.conclude.attempts import Attempt, recorded_attempt
from minions_evals_mcp.engine.conclude.comparison import NAMED, Pairing, decision_of, pairing
from minions_evals_mcp.engine.conclude.decided_figures import decided_figures
from minions_evals_mcp.engine.conclude.decision import MARGIN
from minions_evals_mcp.engine.conclude.judge_evidence import judge_evidence_at
from minions_evals_mcp.engine.conclude.looks import concluded
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.yardstick import measures
from minions_evals_mcp.engine.licences.standing import JudgeStanding, judge_standing
from minions_evals_mcp.engine.outbox import message, queue
from minions_evals_mcp.engine.people.judge_check import CheckRequest, estimate_check
from minions_evals_mcp.engine.run.planning import digests_of
from minions_evals_mcp.engine.version_chain import versions_ever
from minions_evals_mcp.errors import EvalsError, RuleError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.skills import Skills
from minions_evals_mcp.stats.comparison import ComparisonVerdict
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.rows import insert
from minions_evals_mcp.store.seals import is_sealed, seal_of


class ApprovalAsked(Value):
    """A decision on a prompt version. `comparison_id`: the evidence, else the newest comparison that the version is in.

    `benchmark_ids`: the benchmarks on which the version must have won; none: one of all on which it was compared. All on
    which it was compared are decided together. `override_reason` lets a person, never an agent, approve on an inconclusive
    comparison that the version wins.
    """

    prompt_version_ref: Id
    comparison_id: Id | None = None
    benchmark_ids: Ids = ()
    decision: Literal["approved", "refused"] = "approved"
    reason: Visible | None = None
    decided_by: Visible
    decided_by_type: Literal["human", "agent"]
    override_reason: Visible | None = None


async def approve_prompt_version(engine: Engine, request: ApprovalAsked) -> Record[Approval]:
    """The decision, written down; a refusal needs no evidence.

    Raises `RuleError` (HR2) saying what is missing and what to do next, `NotFoundError` for an unknown version.
    """
    decide = partial(_decide, request=request, ident=engine.new_id(), at=engine.clock())
    skills = engine.skills

    def vetted(db: Db) -> Record[Approval]:
        record = decide(db, skills=skills)
        if record.fields.decision == "approved":
            keep_licences_of(db, record.fields)
        return record

    try:
        return await engine.store.write(vetted)
    except UntestedJudgeError as error:
        raise await _priced(engine, error) from None


async def _priced(engine: Engine, error: UntestedJudgeError) -> UntestedJudgeError:
    """The refusal with what the probes cost at most; without it where they cannot be planned."""
    try:
        estimate = await estimate_check(engine, CheckRequest(ident=error.run_id))
    except EvalsError:
        return error
    cost = "price unknown" if estimate.cost_usd is None else f"at most ${estimate.cost_usd:g}"
    return error.priced(f" ({estimate.calls} calls, {cost})")


async def barred_for_agents(engine: Engine, version: str, comparison_id: str) -> EvalsError | None:
    """Returns why an agent may not approve the version on that comparison, though it improved; None where one may."""
    approval = ApprovalAsked(
        prompt_version_ref=version, comparison_id=comparison_id, decided_by="an agent", decided_by_type="agent"
    )
    at, skills = engine.clock(), engine.skills

    def barred(db: Db) -> EvalsError | None:
        try:
            _evidence(db, approval, at, skills)
        except EvalsError as error:
            return error
        return None

    found = await engine.store.read(barred)
    return await _priced(engine, found) if isinstance(found, UntestedJudgeError) else found


async def evidence_judges(engine: Engine, decided: Approval) -> JudgeStanding:
    """The trust in the judges on which the decision rests; state `none` where rules or people judged, or it needed none."""

    def standing(db: Db) -> JudgeStanding:
        comparison = None if decided.comparison_id is None else run_pairs.comparison(db, decided.comparison_id)
        if comparison is None:
            return JudgeStanding()
        runs = (comparison.fields.benchmark_run_id_a, comparison.fields.benchmark_run_id_b)
        return judge_standing(db, runs, at=decided.decided_at)

    return await engine.store.read(standing)


def _decide(db: Db, *, request: ApprovalAsked, ident: str, at: datetime, skills: Skills) -> Record[Approval]:
    records.require(db, request.prompt_version_ref, PromptVersion, hidden=False)
    evidence = _evidence(db, request, at, skills) if request.decision == "approved" else None
    fields = _fields(db, request, evidence, at)
    record = Record(ident, fields, f"{request.prompt_version_ref}: {request.decision}", at, at)
    insert(db, record)
    detail = {"promptVersionRef": request.prompt_version_ref, "decision": request.decision}
    append(db, Event("approval-recorded", "approval", ident, {**detail}), at=at)
    decided = message("prompt-version-decided", {**detail, "approvalId": ident, "decidedBy": request.decided_by}, at=at)
    queue(db, f"{ident}:told", decided, key=f"prompt-version-decided:{ident}", at=at)
    return record


def _fields(db: Db, request: ApprovalAsked, evidence: Record[PromptComparison] | None, at: datetime) -> Approval:
    family = None if evidence is None else _family(db, evidence)
    return Approval(
        prompt_version_ref=request.prompt_version_ref,
        comparison_id=evidence.id if evidence else request.comparison_id,
        decision=request.decision,
        family=None if family is None else family.recorded(),
        reason=request.reason
        or (
            _reason(db, evidence) + together_words(family, evidence) + _not_audited(db, evidence)
            if evidence and family
            else "refused"
        ),
        decided_by=request.decided_by,
        decided_by_type=request.decided_by_type,
        override_reason=request.override_reason,
        decided_at=at,
    )


def _not_audited(db: Db, evidence: Record[PromptComparison]) -> str:
    """Returns what the reason says besides where nobody knows what the checks let pass."""
    standing = audited(db, evidence)
    return "" if standing.state == "audited" else f". {standing.in_words}"


def _reason(db: Db, evidence: Record[PromptComparison]) -> str:
    fields = decided_figures(db, evidence)
    if is_sealed(db, fields.benchmark_id):
        return f"{fields.verdict} on the sealed cases of {fields.benchmark_id} (attempt {fields.attempt})"
    decided = fields.decided_on
    between = "" if decided.interval is None else f" ({decided.interval[0]:+.3f} to {decided.interval[1]:+.3f})"
    of = "" if decided.of == "score" else f" in {decided.of},"
    return f"{fields.verdict}: {decided.delta:+.3f}{between}{of} on {fields.sample_size} cases"


def _evidence(db: Db, request: ApprovalAsked, at: datetime, skills: Skills) -> Record[PromptComparison]:
    """The comparison that the approval rests on; raises `RuleError` with the first thing that is missing."""
    version = request.prompt_version_ref
    current = current_version(db, version)
    if current == version:
        alone = len(versions_ever(db, version)) == 1
        raise missing(
            f"{version} is already the current version of its prompt.",
            ALONE if alone else "Nothing needs to be approved.",
        )
    comparisons = _comparisons(db, request, current, _compare(current, version))
    for comparison in comparisons:
        _vet_won(db, request, comparison, current, skills, at)
    for comparison in comparisons:
        _vet_together(db, request, comparison)
    return comparisons[0]


def _vet_won(
    db: Db, request: ApprovalAsked, comparison: Record[PromptComparison], current: str, skills: Skills, at: datetime
) -> None:
    """Refuses a comparison that the version did not win, that does not hold any more, or that this decider may not rest on."""
    version, fields = request.prompt_version_ref, comparison.fields
    decider = _decider(request, at)
    compare = _compare(current, version, fields.benchmark_id)
    if fields.prompt_version_b != version or fields.prompt_version_a != current:
        raise missing(
            f"{comparison.id} compares {fields.prompt_version_b} with {fields.prompt_version_a}; the current version is"
            f" {current}.",
            compare,
        )
    if fields.open_part:
        raise missing(
            f"{comparison.id} used the open part of a partly sealed benchmark. The open part is for learning, not for approval.",
            f"Compare on {_sealed_part(db, fields.benchmark_id)}: only its sealed cases decide.",
        )
    if is_sealed(db, fields.benchmark_id):
        _vet_sealed_standing(db, comparison, compare)
        may_approve(db, comparison, decider, skills)
        return
    if fields.winner != version:
        raise missing(
            f"{version} does not score higher than {current} in {comparison.id} (verdict: {fields.verdict}).",
            "Improve it first.",
        )
    if fields.verdict != "improved" and not _overridden(request, fields):
        more = _how_on(db, request, fields)
        raise missing(
            f"the verdict of {comparison.id} is {fields.verdict}, not improved.",
            f"{more} {_whose(db, comparison, decider, skills)}".strip(),
        )
    _vet_standing(db, comparison, compare)
    may_approve(db, comparison, decider, skills)


def _family(db: Db, evidence: Record[PromptComparison]) -> BenchmarkFamily:
    fields = evidence.fields
    return family_of(db, (fields.prompt_version_a, fields.prompt_version_b), evidence)


def _vet_together(db: Db, request: ApprovalAsked, comparison: Record[PromptComparison]) -> None:
    """Refuses a win that could be luck among the benchmarks on which the version was compared (Holm)."""
    family = _family(db, comparison)
    member = family.member(comparison.fields.benchmark_id)
    if len(family.members) == 1 or member is None or _has_override(request):
        return
    share = family.share(member)
    if family.holds(member) and _holds_at(db, comparison, family.attempt, share):
        return
    compared = f"{comparison.fields.prompt_version_b} was compared on {len(family.members)} benchmarks"
    if member.sealed:
        raise missing(f"{compared}. Together they do not show that it is better.", "Improve the version.")
    person = " Or give an override reason." if request.decided_by_type == "human" else " Or ask a person."
    raise missing(
        f"{comparison.id} shows an improvement on its own, but {compared}. Together (Holm), it needs"
        f" p <= {family.level / share:.3g}, and its p is {member.p_value:.3g}.",
        f"{compare_more(db, comparison.fields)}{person}",
    )


def _holds_at(db: Db, comparison: Record[PromptComparison], attempt: int, share: int) -> bool:
    """Whether test, interval and missing outputs say "improved" at that part of the attempt's level, too.

    Looks after every case stopped at their own level: their p-value alone decides.
    """
    fields = comparison.fields
    if looked_at(db, fields.benchmark_run_id_a):
        return True
    stricter = replace(recorded_attempt(db, comparison), number=attempt, share=share)
    paired = pairing(db, fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    return _verdict(db, fields, paired, stricter) == "improved"


def _sealed_part(db: Db, benchmark_id: str) -> str:
    seal = seal_of(db, benchmark_id)
    return benchmark_id if seal is None else seal.benchmark_id


def _vet_sealed_standing(db: Db, comparison: Record[PromptComparison], compare: str) -> None:
    """As for any evidence, saying nothing of the sealed cases but the verdict; no reason overrides it."""
    if comparison.fields.verdict != "improved" or comparison.fields.winner != comparison.fields.prompt_version_b:
        raise missing(
            f"the verdict of {comparison.id} on sealed cases is {comparison.fields.verdict}, not improved.",
            "Improve the version, then compare again; nothing overrides a sealed verdict.",
        )
    try:
        _vet_standing(db, comparison, compare)
    except EvalsError:
        raise missing(
            f"{comparison.id} is no longer valid: cases have no verdict, were judged by their producer, or its two runs give a different"
            " result.",
            compare,
        ) from None


def _comparisons(
    db: Db, request: ApprovalAsked, current: str, compare: str
) -> Sequence[Record[PromptComparison]]:  # fmt: skip
    """The comparisons that the approval is to rest on: the named one, one for each named benchmark, else the strongest."""
    version = request.prompt_version_ref
    if request.comparison_id is not None:
        comparison = run_pairs.comparison(db, request.comparison_id)
        if comparison is None:
            raise missing(f"there is no comparison {request.comparison_id}.", compare)
        return (comparison,)
    family = family_of(db, (current, version))
    if request.benchmark_ids:
        return _on_named(family, request, current)
    found = strongest(family) or _on_open_part(db, version, current)
    if found is None:
        raise missing(f"no comparison of {version} with the current version {current}.", compare)
    return (found,)


def _on_named(family: BenchmarkFamily, request: ApprovalAsked, current: str) -> Sequence[Record[PromptComparison]]:
    """The comparisons on the named benchmarks, strongest gain first."""
    version = request.prompt_version_ref
    for benchmark_id in request.benchmark_ids:
        if family.member(benchmark_id) is None:
            raise missing(
                f"no comparison of {version} with the current version {current} on {benchmark_id}.",
                _compare(current, version, benchmark_id),
            )
    return [
        member.comparison for member in family.members if member.comparison.fields.benchmark_id in request.benchmark_ids
    ]


def _on_open_part(db: Db, version: str, current: str) -> Record[PromptComparison] | None:
    of_version = run_pairs.comparisons_of(db, version)
    return next((one for one in of_version if one.fields.prompt_version_a == current), None)


def _overridden(request: ApprovalAsked, fields: PromptComparison) -> bool:
    return fields.verdict == "inconclusive" and _has_override(request)


def _has_override(request: ApprovalAsked) -> bool:
    reason = request.override_reason
    return request.decided_by_type == "human" and reason is not None and not is_blank(reason)


def _decider(request: ApprovalAsked, at: datetime) -> Decider:
    return Decider(request.decided_by, request.decided_by_type, at, request.reason, request.override_reason)


def _whose(db: Db, comparison: Record[PromptComparison], decider: Decider, skills: Skills) -> str:
    """Returns what an agent would be refused for even then; empty where nothing is."""
    try:
        may_approve(db, comparison, replace(decider, override=None), skills)
    except RuleError as error:
        return f"Another reason would remain: {error.said}"
    return ""


def _compare(current: str, version: str, benchmark_id: str = "BENCHMARK") -> str:
    """The step that makes the evidence."""
    return f"{Next('compare', {'benchmark_id': benchmark_id, 'version_a': current, 'version_b': version}, 'compares them')}."


def _how_on(db: Db, request: ApprovalAsked, fields: PromptComparison) -> str:
    if fields.verdict != "inconclusive":
        return "Improve the version, then compare again."
    more = f"{fields.notes}. " if fields.notes else ""
    if request.decided_by_type == "agent":
        return f"{more}An agent cannot override this. {compare_more(db, fields)} Or ask a person."
    return f"{more}{compare_more(db, fields)} Or give an override reason."


def _vet_standing(db: Db, comparison: Record[PromptComparison], compare: str) -> None:
    """Refuses evidence that was judged by whoever produced it, or measured on what was edited since."""
    fields = comparison.fields
    try:
        paired = pairing(db, fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    except EvalsError as error:
        raise missing(f"{comparison.id} is no longer valid: {error.message_text}", compare) from None
    suites = {_suite(db, fields.benchmark_run_id_a), _suite(db, fields.benchmark_run_id_b)}
    if len(suites) > 1:
        raise missing(
            f"the cases of {fields.benchmark_id} were changed between the two runs of {comparison.id}.", compare
        )
    attempt = recorded_attempt(db, comparison)
    _vet_missing(db, comparison, paired, attempt)
    verdict = _verdict(db, fields, paired, attempt)
    if verdict != fields.verdict:
        raise missing(
            f"{comparison.id} has the verdict {fields.verdict}, but its two runs now give {verdict} ({attempt.in_words()}).",
            compare,
        )
    own = [case_id for case_id in paired.shared if paired.a[case_id].self_judged or paired.b[case_id].self_judged]
    if own:
        raise missing(
            f"{len(own)} cases of {comparison.id} were judged by their producer (or the judge is unknown):"
            f" {first_named(own, NAMED)}.",
            " ".join(
                f"{Next('rejudge', {'run_id': run, 'benchmark_id': fields.benchmark_id}, 'scores its outputs with another judge')}."
                for run in (fields.benchmark_run_id_a, fields.benchmark_run_id_b)
            ),
        )
    edited = _edited(db, paired)
    if edited:
        raise missing(f"edited since {comparison.id}: {first_named(edited, NAMED)}.", compare)
    if suites != {_suite_now(db, fields.benchmark_id)}:
        raise missing(f"the cases of {fields.benchmark_id} were changed since {comparison.id}.", compare)


def _verdict(db: Db, fields: PromptComparison, paired: Pairing, attempt: Attempt) -> ComparisonVerdict:
    """Returns what the two runs say at the level of their attempt: a comparison that another program wrote need not say the same."""
    run_a, run_b = fields.benchmark_run_id_a, fields.benchmark_run_id_b
    job = jobs.job(db, run_a)
    if job is not None and looked_at(db, run_a):
        raw = concluded(db, run_a, run_b, planned=job.total, level=attempt.level).verdict
    else:
        raw = decision_of(db, (run_a, run_b), paired, attempt).verdict
    evidence = judge_evidence_at(db, run_a, run_b, at=fields.compared_at, attempt=attempt)
    return evidence.verdict(raw, margin=MARGIN)


def _vet_missing(db: Db, comparison: Record[PromptComparison], paired: Pairing, attempt: Attempt) -> None:
    """Refuses a win that does not hold with the missing outputs as failures, of whoever wrote the comparison."""
    if comparison.fields.verdict != "improved":
        return
    runs_of = (comparison.fields.benchmark_run_id_a, comparison.fields.benchmark_run_id_b)
    decision = decision_of(db, runs_of, paired, attempt)
    if decision.missing:
        lacking = [case_id for case_id in paired.a if case_id not in paired.b]
        raise missing(
            f"{comparison.id}: {decision.missing}{f' ({first_named(lacking, NAMED)})' if lacking else ''}.",
            "Run the comparison again, so that every case has an output and a verdict.",
        )


def _suite(db: Db, run_id: str) -> str | None:
    """The digest of the cases that the run was planned with; those that could not be judged are among them."""
    job = jobs.job(db, run_id)
    return None if job is None else digests_of(job).test_case


def _suite_now(db: Db, benchmark_id: str) -> str | None:
    """The digest of the active cases that the benchmark has by now; None where there is no such benchmark any more."""
    benchmark = records.get(db, benchmark_id, Benchmark, hidden=False)
    if benchmark is None:
        return None
    rubrics: dict[str, RubricInUse] = {}
    there = measures(db, benchmark.fields.test_case_ids, rubrics)
    active = [
        measure for measure in there if measure.case.deleted_at is None and measure.case.fields.status == "active"
    ]
    return combined([measure.case_digest() for measure in active])


def _edited(db: Db, paired: Pairing) -> list[str]:
    """The cases that were deleted, or whose text, rubric, expectation or threshold is not what the runs were judged with."""
    rubrics: dict[str, RubricInUse] = {}
    standing = [measure for measure in measures(db, paired.shared, rubrics) if measure.case.deleted_at is None]
    now = {measure.case.id: (measure.case_digest(), measure.rubric_digest()) for measure in standing}
    return [
        case_id
        for case_id in paired.shared
        if now.get(case_id) != (paired.a[case_id].digests[0], paired.a[case_id].digests[1])
    ]
