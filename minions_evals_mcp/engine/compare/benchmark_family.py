"""The benchmarks on which a version was compared with the current one: one family, decided once, by Holm's method, at approval."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import ApprovalFamily, FamilyBenchmark, PromptComparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import looked_at
from minions_evals_mcp.engine.conclude.decided_figures import decided_figures
from minions_evals_mcp.engine.conclude.looks import smallest_level
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.attempts import attempt_level
from minions_evals_mcp.stats.comparison import holm
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.seals import is_sealed


@frozen_type
class FamilyMember:
    """A benchmark's comparison with the strongest gain, how likely that is by chance, and that p-value adjusted by Holm."""

    comparison: Record[PromptComparison]
    p_value: float
    adjusted: float
    sealed: bool


@frozen_type
class BenchmarkFamily:
    """The benchmarks of one candidate, strongest gain first, and the attempt at whose level Holm's method decides over them."""

    members: tuple[FamilyMember, ...]
    attempt: int

    @property
    def level(self) -> float:
        """The error of the whole family."""
        return attempt_level(self.attempt)

    def member(self, benchmark_id: str) -> FamilyMember | None:
        """The member on that benchmark; None where the version was not compared there."""
        named = (member for member in self.members if member.comparison.fields.benchmark_id == benchmark_id)
        return next(named, None)

    def share(self, member: FamilyMember) -> int:
        """The member is decided at the level divided by this: by Holm, the number of members that are not stronger."""
        return len(self.members) - self.members.index(member)

    def holds(self, member: FamilyMember) -> bool:
        """Whether the gain on that benchmark is one, together with all others."""
        return member.adjusted <= self.level

    def recorded(self) -> ApprovalFamily:
        """The family as an approval keeps it; of sealed benchmarks without figures."""
        return ApprovalFamily(
            attempt=self.attempt,
            level=self.level,
            benchmarks=tuple(
                FamilyBenchmark(
                    benchmark_id=member.comparison.fields.benchmark_id,
                    comparison_id=member.comparison.id,
                    p_value=None if member.sealed else member.p_value,
                    adjusted_p=None if member.sealed else member.adjusted,
                )
                for member in self.members
            ),
        )


def family_of(db: Db, versions: tuple[str, str], evidence: Record[PromptComparison] | None = None) -> BenchmarkFamily:
    """The family of the benchmarks on which the second version was compared with the first, as far as it was.

    Of several comparisons on one benchmark the `evidence` is its member, else the one with the strongest gain. The order
    in which they were made does not matter.
    """
    best: dict[str, tuple[float, str, Record[PromptComparison]]] = {}
    for comparison in _against(db, versions):
        benchmark, found = comparison.fields.benchmark_id, (_gain_p(db, comparison), comparison.id, comparison)
        if evidence is not None and benchmark == evidence.fields.benchmark_id and comparison.id != evidence.id:
            continue
        best[benchmark] = min(best.get(benchmark, found), found, key=lambda one: one[:2])
    ordered = sorted(best.values(), key=lambda one: (one[0], one[2].fields.benchmark_id))
    adjusted = holm([p_value for p_value, _, _ in ordered])
    members = [
        FamilyMember(comparison, p_value, together, is_sealed(db, comparison.fields.benchmark_id))
        for (p_value, _, comparison), together in zip(ordered, adjusted, strict=True)
    ]
    return BenchmarkFamily(
        tuple(members), max((member.comparison.fields.attempt or 1 for member in members), default=1)
    )


def strongest(family: BenchmarkFamily) -> Record[PromptComparison] | None:
    """The comparison that an approval rests on where none is named: a sealed one that was won, else the strongest gain."""
    won = [member for member in family.members if member.comparison.fields.verdict == "improved"]
    sealed: Sequence[FamilyMember] = [member for member in won if member.sealed]
    first = next(iter([*sealed, *won, *family.members]), None)
    return None if first is None else first.comparison


def together_words(family: BenchmarkFamily, evidence: Record[PromptComparison]) -> str:
    """The decision over several benchmarks, for the reason of an approval; empty where there is one, or it is sealed."""
    member = family.member(evidence.fields.benchmark_id)
    if member is None or member.sealed or len(family.members) == 1:
        return ""
    benchmarks = f"{len(family.members)} benchmarks"
    if not family.holds(member):
        return f", not significant over {benchmarks} together"
    return (
        f", significant over {benchmarks} together (Holm, adjusted p = {member.adjusted:.2g}, level {family.level:.3g})"
    )


def _against(db: Db, versions: tuple[str, str]) -> list[Record[PromptComparison]]:
    """All comparisons of the pair that decide something."""
    current, version = versions
    return [
        comparison
        for comparison in run_pairs.comparisons_of(db, version, limit=-1)
        if comparison.fields.prompt_version_a == current and not comparison.fields.open_part
    ]


def _gain_p(db: Db, comparison: Record[PromptComparison]) -> float:
    """How likely so large a gain is by chance: 1 where the comparison shows none."""
    fields = decided_figures(db, comparison)
    gain = fields.decided_on.delta
    if fields.verdict != "improved" and (fields.verdict != "inconclusive" or gain <= 0 or fields.missing_outputs):
        return 1.0
    run_a, run_b = fields.benchmark_run_id_a, fields.benchmark_run_id_b
    if fields.corrected_delta is None and looked_at(db, run_a):
        return smallest_level(db, run_a, run_b, p_value=fields.p_value)
    return 1.0 if fields.p_value is None else fields.p_value
