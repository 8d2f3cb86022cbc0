"""The prompt of a matrix that is best over all providers: each test counts once, with its mean over the same providers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from minions_evals_mcp.engine.config_eval.matrix import JUDGED, Cell, ColumnBefore, Matrix
from minions_evals_mcp.report.plain import shortened
from minions_evals_mcp.scoring.failures.texts import told_apart
from minions_evals_mcp.stats.case_pairs import CasePair
from minions_evals_mcp.stats.comparison import ERROR, Difference, compare, why_undecided

MOST = 3
"""The best is put beside so many others, the nearest first; the error is shared by all."""
NAMED = 40
EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt over the providers: of each test the mean score, and whether it passed at all of them."""

    name: str
    scores: dict[str, float]
    passed: dict[str, bool]


def prompts_over_providers(matrix: Matrix) -> list[str]:
    """The best prompt beside the others; empty where there are no two prompts that were asked at the same two providers."""
    cells_by_provider: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for number, column in enumerate(matrix.columns):
        cells_by_provider[column.prompt_version_ref][column.provider_id, column.provider] = number
    known = {column: None for columns in cells_by_provider.values() for column in columns}
    providers = [provider for provider in known if all(provider in columns for columns in cells_by_provider.values())]
    if min(len(cells_by_provider), len(providers)) < 2:
        return []
    prompts = [_prompt(matrix, [columns[provider] for provider in providers]) for columns in cells_by_provider.values()]
    cases = [case for case in prompts[0].scores if all(case in prompt.scores for prompt in prompts)]
    groups = {row.case_id: row.group for row in matrix.rows}
    return _ranked(prompts, cases, f"Over the {len(providers)} providers", groups) if cases else []


def _ranked(
    prompts: Sequence[_Prompt], cases: Sequence[str], where: str, groups: Mapping[str, str]
) -> list[str]:  # fmt: skip
    def score(prompt: _Prompt) -> float:
        return fmean(prompt.scores[case] for case in cases)

    heads = told_apart([prompt.name for prompt in prompts], NAMED)
    prompts = [replace(prompt, name=shortened(head, NAMED)) for prompt, head in zip(prompts, heads, strict=True)]
    best, *others = sorted(prompts, key=score, reverse=True)
    level = 1 - ERROR / len(others)
    lines: list[str] = []
    for other in others[:MOST]:
        higher = score(best) - score(other)
        pairs = [_pair(case, other, best, groups[case]) for case in cases]
        sentence = (
            f"{higher:.3f} higher than “{other.name}”, {how_sure(compare(pairs, level=level), level, len(pairs))}"
        )
        lines.append(f"{where} “{best.name}” scores {sentence if higher > EQUAL else f'as high as “{other.name}”'}.")
    return lines


def _pair(case: str, a: _Prompt, b: _Prompt, group: str) -> CasePair:
    return CasePair(case, (a.scores[case],), (b.scores[case],), (a.passed[case],), (b.passed[case],), group=group)


def _prompt(matrix: Matrix, columns: Sequence[int]) -> _Prompt:
    """Returns what those columns, which are of one prompt, come to, over the tests that were judged in all of them."""
    cells: dict[str, list[Cell]] = defaultdict(list)
    for row in matrix.rows:
        cells[row.case_id] += [row.cells[number] for number in columns]
    scores = {
        case: [cell.counted for cell in of if cell.counted is not None and cell.verdict in JUDGED]
        for case, of in cells.items()
    }
    judged = {case: of for case, of in cells.items() if len(scores[case]) == len(of)}
    return _Prompt(
        matrix.columns[columns[0]].prompt,
        {case: fmean(scores[case]) for case in judged},
        {case: all(cell.success for cell in of) for case, of in judged.items()},
    )


def how_sure(difference: Difference | ColumnBefore, level: float, cases: int) -> str:
    """Returns whether chance explains the difference, with its interval at that level and its p."""
    tests = "1 test" if cases == 1 else f"{cases} tests"
    needed = "" if level == 1 - ERROR else f", significant at {1 - level:.2g} or less"
    is_sure = difference.verdict in {"improved", "regressed"}
    doubt = f"not significant{why_undecided(difference.interval, difference.p_value, 1 - level)}"
    sure = "statistically significant" if is_sure else doubt
    low, high = difference.interval
    return f"{sure} ({100 * level:.4g} % CI {low:+.3f} to {high:+.3f}, p = {difference.p_value:.2g}{needed}; {tests})"
