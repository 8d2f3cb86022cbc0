"""The result of a lift: whether the subject helps, what it costs, and whether it is taken up where it should be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Literal, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import tool_calls_of
from minions_evals_mcp.domain.values import Count, Value
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary
from minions_evals_mcp.scoring.skill_use import uses_skill
from minions_evals_mcp.stats.intervals import grouped_pass_rate
from minions_evals_mcp.stats.lift import Lift
from minions_evals_mcp.stats.paired_means import paired_means, paired_ratio
from minions_evals_mcp.stats.skewed.quantiles import quantile_interval
from minions_evals_mcp.store.queries.arm_units import ArmUnit

NAMED = 20
LiftVerdict = Literal["helps", "no difference", "harmful", "undecided"]
VERDICTS: Mapping[str, LiftVerdict] = {
    "improved": "helps",
    "regressed": "harmful",
    "equivalent": "no difference",
    "inconclusive": "undecided",
}
"""What the verdict of the comparison means for the subject of a lift."""


class CostChange(Value):
    """A cost without and with the subject, in `unit`, over the cases of which both are known.

    `delta` is the difference of the means, which says what it adds up to; `ratio` is the geometric mean of the cases' ratios,
    which says how much dearer or slower a case is, None where a case costs nothing. Intervals are at 95 %.
    """

    unit: str
    without_subject: float
    with_subject: float
    delta: float
    interval: tuple[float, float] | None
    cases: Count
    ratio: float | None = None
    ratio_interval: tuple[float, float] | None = None
    median_without: float | None = None
    median_with: float | None = None
    p95_without: float | None = None
    p95_with: float | None = None


class ShareFound(Value):
    """`found` of `of` cases, as a share with its 95 % interval (Wilson); None of none."""

    found: Count
    of: Count
    share: float | None
    interval: tuple[float, float] | None


class TriggerFigures(Value):
    """The figures of a skill's use where it should be, over the cases whose tool log was captured.

    `precision`: of the outputs in which it was taken up, those of cases that should. `recall`: of the outputs of cases that
    should, those in which it was. `missed` and `wrong` name cases, at most twenty each. `crashed` counts the trials that
    failed or ran out of time, which say nothing either way; `crashed_in` names their cases, and `recall_bounds` is what the
    recall would be had none of them, or each, taken the skill up.
    """

    precision: ShareFound
    recall: ShareFound
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    not_captured: Count
    crashed: Count = 0
    crashed_in: tuple[str, ...] = ()
    recall_bounds: tuple[float, float] | None = None


class ComponentLift(Value):
    """The lift of a plugin's `components` over the plugin without them; several are named where they were tried together only.

    `delta` is the score of the whole plugin minus that without them (0 to 1), `interval` its 95 % interval. `p_value` is
    adjusted for all components that were tried (Holm), and the verdict needs it at 5 %. `run` is the one without them.
    """

    components: tuple[str, ...]
    verdict: LiftVerdict
    delta: float
    interval: tuple[float, float]
    p_value: float
    cases: Count
    run: str


class LiftResult(Value):
    """The result of a lift. `delta`, `interval` and `pValue` are of the difference of scores (0 to 1), with the subject minus
    without, at 5 % for this lift alone; `comparison` holds the same runs as an attempt that an approval may rest on. They and
    the verdict are None where the cases only ask whether the skill is taken up, in `triggerRun`. `leftOut` names the evals that
    say neither what their output should be nor whether the skill should be taken up, `notes` say what else of the cases is not
    carried out. `components` are those of a plugin, where they were tried one by one.
    """

    name: str
    verdict: LiftVerdict | None = None
    in_words: str
    delta: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    comparison: ComparisonSummary | None = None
    costs: tuple[CostChange, ...] = ()
    triggers: TriggerFigures | None
    trigger_run: str | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    components: tuple[ComponentLift, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it rests on."""
        compared = () if self.comparison is None else (self.comparison.run_a, self.comparison.run_b)
        asked = () if self.trigger_run is None else (self.trigger_run,)
        return tuple(dict.fromkeys((*compared, *asked, *(component.run for component in self.components))))


def cost_changes(without: Sequence[ArmUnit], with_: Sequence[ArmUnit]) -> tuple[CostChange, ...]:
    """The change of tokens, seconds and US dollars, of those that are known of both arms."""
    measures: tuple[tuple[str, Callable[[ArmUnit], float | None]], ...] = (
        ("tokens", lambda unit: unit.tokens),
        ("seconds", lambda unit: None if unit.latency_ms is None else unit.latency_ms / 1000),
        ("US dollars", lambda unit: unit.cost_usd),
    )
    changes = (_change(unit, _by_case(without, read), _by_case(with_, read)) for unit, read in measures)
    return tuple(change for change in changes if change is not None)


def _by_case(units: Sequence[ArmUnit], read: Callable[[ArmUnit], float | None]) -> dict[str, float]:
    """The mean over the trials of each case of which it is known."""
    values = defaultdict[str, list[float]](list)
    for unit in units:
        if (value := read(unit)) is not None:
            values[unit.case_id].append(value)
    return {case_id: fmean(held) for case_id, held in values.items()}


def _change(unit: str, without: Mapping[str, float], with_: Mapping[str, float]) -> CostChange | None:
    shared = [case_id for case_id in without if case_id in with_]
    before, after = [without[key] for key in shared], [with_[key] for key in shared]
    means = paired_means(before, after)
    if means is None:
        return None
    ratio = paired_ratio(before, after)
    return CostChange(
        unit=unit,
        without_subject=means.a,
        with_subject=means.b,
        delta=means.delta,
        interval=means.interval,
        cases=means.cases,
        ratio=None if ratio is None else ratio.ratio,
        ratio_interval=None if ratio is None or means.interval is None else ratio.interval,
        median_without=quantile_interval(before, 0.5).value,
        median_with=quantile_interval(after, 0.5).value,
        p95_without=quantile_interval(before, 0.95).value,
        p95_with=quantile_interval(after, 0.95).value,
    )


def trigger_figures(
    units: Sequence[ArmUnit], should: Mapping[str, bool], skill: str | None
) -> TriggerFigures | None:  # fmt: skip
    """How well the skill is taken up in the cases that say whether it should be, in all where none says so.

    None where the subject is no skill, or no output came with a tool log.
    """
    units = [unit for unit in units if not should or unit.case_id in should]
    crashed = [unit.case_id for unit in units if unit.crashed]
    logged = [unit for unit in units if unit.tool_calls is not None and not unit.crashed]
    if skill is None or not (logged or crashed):
        return None
    used = [
        (
            unit.case_id,
            should.get(unit.case_id, True),
            uses_skill(tool_calls_of(cast("list[JsonValue]", unit.tool_calls)), skill),
        )
        for unit in logged
    ]
    recalled = [(case_id, taken) for case_id, wanted, taken in used if wanted]
    right, wanted_of = sum(taken for _, taken in recalled), len(recalled)
    hoped = sum(should.get(case_id, True) for case_id in crashed)
    return TriggerFigures(
        precision=_share([(case_id, wanted) for case_id, wanted, taken in used if taken]),
        recall=_share(recalled),
        missed=_names(case_id for case_id, wanted, taken in used if wanted and not taken),
        wrong=_names(case_id for case_id, wanted, taken in used if taken and not wanted),
        not_captured=len(units) - len(logged) - len(crashed),
        crashed=len(crashed),
        crashed_in=_names(crashed),
        recall_bounds=(right / (wanted_of + hoped), (right + hoped) / (wanted_of + hoped)) if hoped else None,
    )


def _share(outputs: Sequence[tuple[str, bool]]) -> ShareFound:
    """The share of outputs, each with its case: the trials of one case count together."""
    found, of = sum(is_found for _, is_found in outputs), len(outputs)
    rate = grouped_pass_rate(outputs)
    interval = None if rate is None else rate.bounds
    return ShareFound(found=found, of=of, share=found / of if of else None, interval=interval)


def _names(case_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(case_ids))[:NAMED]


def trigger_words(name: str, figures: TriggerFigures | None) -> str:
    """The answer where only that was asked, in a sentence."""
    if figures is None:
        return f"Unknown whether the agent uses {name}: no output has a tool log."
    recall = figures.recall
    return f"The agent uses {name} in {recall.found} of {recall.of} outputs where it should. The cases have no other check."


def lift_words(name: str, lift: Lift, comparison: ComparisonSummary) -> str:
    """The answer in a sentence or two."""
    passes, difference = comparison.passes, lift.difference
    low, high = difference.interval
    score_a, score_b = comparison.compared_scores
    moved = (
        f"score {score_a:.3f} without, {score_b:.3f} with (95 % of the difference: {low:+.3f} to"
        f" {high:+.3f}, p = {lift.p_value:.2g}; {difference.cases} cases, {passes.gained} gained, {passes.lost} lost)"
    )
    match VERDICTS[lift.verdict]:
        case "helps":
            sentence = f"{name} helps: {moved}."
        case "harmful":
            sentence = f"{name} is harmful: {moved}."
        case "no difference":
            sentence = f"{name} makes no difference that matters: {moved}."
        case "undecided":
            settle = f" To decide: {difference.settle}." if difference.settle else ""
            sentence = f"Undecided whether {name} helps: {moved}.{settle}"
    if comparison.attempt == 1 or VERDICTS[lift.verdict] not in {"helps", "harmful"}:
        return sentence
    return f"{sentence} This is attempt {comparison.attempt} on the same baseline, so an approval needs p <= {comparison.level:.2g}."


def component_words(found: ComponentLift) -> str:
    """Which components help or harm, in a sentence."""
    low, high = found.interval
    names, several = " and ".join(found.components), len(found.components) > 1
    moved = (
        f"{found.delta:+.3f} in score over the plugin without {'them' if several else 'it'} (95 %: {low:+.3f} to {high:+.3f},"
        f" p = {found.p_value:.2g} adjusted; {found.cases} cases)"
    )
    match found.verdict:
        case "helps":
            return f"{names} {'help' if several else 'helps'}: {moved}"
        case "harmful":
            return f"{names} {'are' if several else 'is'} harmful: {moved}"
        case "no difference":
            return f"{names} {'make' if several else 'makes'} no difference that matters: {moved}"
        case "undecided":
            return f"undecided whether {names} {'help' if several else 'helps'}: {moved}"
