"""The demands on the evidence of an approval besides that the version wins: seal, audit, a judge to be trusted."""

from __future__ import annotations

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Approval, PromptComparison
from minions_evals_mcp.engine.audit_standing.standing import AuditStanding, audit_standing, benchmark_digest
from minions_evals_mcp.engine.compare.whose_evidence import Decider
from minions_evals_mcp.engine.licences.licence import FEWEST_LABELS
from minions_evals_mcp.engine.licences.standing import (
    IMPLICIT,
    CriterionStanding,
    JudgeStanding,
    judge_standing,
    keep_licences,
)
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.skills import Skills
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.seals import is_sealed

ALONE = (
    "It is the only version of its prompt, like every prompt of a config. To choose between the prompts of a config:"
    f" {Next('prompt-take', {'prompt_id': 'PROMPT', 'benchmark_id': 'CONFIG'}, 'turns them into versions of one prompt')}."
    f" {Next('compare', {'benchmark_id': 'CONFIG', 'version_a': 'IN-USE', 'version_b': 'CANDIDATE'}, 'compares two of them')}."
    f" {Next('approve', {'prompt_version_ref': 'CANDIDATE'}, 'approves the winner')}."
)
"""What to do where there is no version to be better than."""


def missing(what: str, remedy: str) -> RuleError:
    """Returns why a version is not approved, and what to do about it."""
    return RuleError("HR2", what, remedy=remedy)


class UntestedJudgeError(RuleError):
    """A model judged, an agent decides, and neither labels nor probes speak for the judge; `run_id` is the run to probe."""

    def __init__(self, evidence: Record[PromptComparison], untested: CriterionStanding, price: str = "") -> None:
        self.evidence, self.untested = evidence, untested
        self.run_id = (
            evidence.fields.benchmark_run_id_a
        )  # where the candidate is better outputs failed, which may be padded
        probe = Next("judge-check", {"run_id": self.run_id}, f"probes the judge without labels{price}")
        label = Next("label", {"run_id": self.run_id, "draw": FEWEST_LABELS}, "draws outputs for people to judge")
        version = evidence.fields.prompt_version_b
        person = Next("approve-as-person", {"prompt_version_ref": version, "by": "NAME"}, "records a person's decision")
        probes = f"{probe}. Or: " if untested.criterion_id != IMPLICIT else ""
        super().__init__(
            "HR2",
            f"{untested.judged_by} judged {untested.title} in {evidence.id}, but there is no evidence that it can be trusted"
            " there:"
            f" {untested.reason}, and {untested.unprobed}. An agent's approval needs a qualified judge or passed probes.",
            remedy=f"{probes}{label}. Or: {person}.",
        )

    def priced(self, price: str) -> UntestedJudgeError:
        """The same refusal with the price of the probes."""
        return UntestedJudgeError(self.evidence, self.untested, price)


def vet_demands(db: Db, evidence: Record[PromptComparison], decider: Decider, skills: Skills) -> None:
    """Raises `RuleError` (HR2) for the first demand of the skills that the evidence does not meet.

    That no run of it passed a canary is the store's own rule.
    """
    rules = skills.compare_prompt_versions.parameters
    if rules.require_sealed:
        _vet_sealed(db, evidence)
    if rules.require_audit or skills.run_benchmark.parameters.require_audit:
        _vet_audit(db, evidence)
    _vet_judges(db, decider, evidence, needs_licence=rules.require_qualified_judge)


def keep_licences_of(db: Db, approved: Approval) -> None:
    """Writes down what was known of the judges on whom the approval rests."""
    evidence = _evidence_of(db, approved)
    keep_licences(db, _sides(evidence), at=approved.decided_at)


def _evidence_of(db: Db, approved: Approval) -> Record[PromptComparison]:
    assert approved.comparison_id is not None, "an approval needs a comparison"
    evidence = run_pairs.comparison(db, approved.comparison_id)
    assert evidence is not None
    return evidence


def _sides(evidence: Record[PromptComparison]) -> tuple[str, str]:
    return evidence.fields.benchmark_run_id_a, evidence.fields.benchmark_run_id_b


def audited(db: Db, evidence: Record[PromptComparison]) -> AuditStanding:
    """Returns whether the checks were audited that the comparison rests on."""
    benchmark_id = evidence.fields.benchmark_id
    return audit_standing(db, benchmark_id, benchmark_digest(db, benchmark_id))


def _vet_sealed(db: Db, evidence: Record[PromptComparison]) -> None:
    """Refuses evidence that everybody could see: `requireSealed` has the sealed cases decide."""
    if not is_sealed(db, evidence.fields.benchmark_id):
        raise missing(
            f"requireSealed is set, but {evidence.id} used {evidence.fields.benchmark_id}, which is not sealed.",
            f"Compare on a sealed benchmark. {Next('seal', {'benchmark_id': 'BENCHMARK', 'share': 0.3}, 'makes one')}.",
        )


def _vet_audit(db: Db, evidence: Record[PromptComparison]) -> None:
    """Refuses evidence on checks that were not audited as they are now."""
    standing = audited(db, evidence)
    if standing.state != "audited":
        raise missing(f"requireAudit is set. {standing.in_words}", f"{standing.next}.")


def _vet_judges(db: Db, decider: Decider, evidence: Record[PromptComparison], *, needs_licence: bool) -> None:
    """Refuses evidence of a judge that people contradict, or that fails a probe: a person may let it pass, with a reason."""
    standing = judge_standing(db, _sides(evidence), at=decider.at)
    if decider.kind == "agent" and standing.state == "unknown" and (untested := standing.untested):
        raise UntestedJudgeError(evidence, untested)
    if needs_licence and standing.state in {"unknown", "unqualified"}:
        raise missing(f"requireQualifiedJudge is set. {standing.in_words}", _how_judged(standing))
    if standing.state == "unqualified" and (decider.kind == "agent" or decider.override is None):
        person = "" if decider.kind == "human" else "Only a person can override this, with a reason. "
        reason = "An override reason allows it. " if decider.kind == "human" else ""
        raise missing(f"{evidence.id}: {standing.in_words}", f"{person}{reason}{_how_judged(standing)}")


def _how_judged(standing: JudgeStanding) -> str:
    return f"{standing.next}. A comparison judged by another judge or by people also counts."
