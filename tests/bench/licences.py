"""How often the intervals of judges hold the truth, how often bad judges get a licence, and how often a promised error is broken.

    python -m tests.bench.licences [--repeats 1000] [--llmbar FOLDER]

Everything is simulated with a known truth and seeded. With `--llmbar` (a checkout of princeton-nlp/LLMBar) the promise is tried on
the decisions of five GPT-4 prompts in both orders. Ends with exit code 1 where a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.engine.licences.licence import labels_say, probe_result
from minions_evals_mcp.engine.people.judge_check import PROBED
from minions_evals_mcp.stats.agreement import agreement
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.prediction_powered import JudgedOutput, corrected_difference, corrected_rate
from minions_evals_mcp.stats.promised_error import LabelledAnswer, promised_error

SEED = 20261122
Draw = np.random.Generator
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge by its sensitivity and specificity."""

    sensitivity: float
    specificity: float

    @property
    def youden(self) -> float:
        return self.sensitivity + self.specificity - 1

    def kappa(self, prevalence: float) -> float:
        """Kappa against people, at that share of outputs that people pass."""
        alike = prevalence * self.sensitivity + (1 - prevalence) * self.specificity
        says = prevalence * self.sensitivity + (1 - prevalence) * (1 - self.specificity)
        chance = prevalence * says + (1 - prevalence) * (1 - says)
        return (alike - chance) / (1 - chance)

    def says(self, truth: Flags, luck: NDArray[np.float64]) -> Flags:
        """Its verdicts, luck being uniform from 0 to 1."""
        return np.where(truth, luck < self.sensitivity, luck >= self.specificity)


@dataclass(frozen=True, slots=True)
class Covered:
    """How often an interval held the truth, and how wide it was."""

    share: float
    width: float


def covered(repeats: int, truth: float, interval: Callable[[], Bounds]) -> Covered:
    """The share of intervals that hold the truth."""
    found = [interval() for _ in range(repeats)]
    return Covered(fmean(low <= truth <= high for low, high in found), fmean(high - low for low, high in found))


def correlated(draw: Draw, outputs: int, criteria: int, alike: float = 0.5) -> NDArray[np.float64]:
    """Uniform numbers, one for each output and criterion; those of one output are correlated."""
    shared = draw.normal(size=(outputs, 1)) * math.sqrt(alike if criteria > 1 else 0.0)
    each = draw.normal(size=(outputs, criteria)) * math.sqrt(1 - alike if criteria > 1 else 1.0)
    return np.vectorize(NormalDist().cdf)(shared + each)


def kappa_interval(draw: Draw, judge: Judge, *, outputs: int, criteria: int, prevalence: float) -> Bounds:
    """The interval of kappa after that many labelled outputs, over all criteria."""
    truth = correlated(draw, outputs, criteria) < prevalence
    said = judge.says(truth, correlated(draw, outputs, criteria))
    about = np.repeat(np.arange(outputs), criteria).tolist()
    people, model = (side.astype(float).ravel().tolist() for side in (truth, said))
    return agreement(people, model, outputs=about, weighting="quadratic").kappa_interval


def judged_outputs(
    draw: Draw, judge: Judge, truth: Flags, labelled: Sequence[int], *, first: int = 0
) -> list[JudgedOutput]:
    """Outputs with the judge's verdicts, those of them labelled that were drawn."""
    said = judge.says(truth, draw.random(len(truth)))
    chosen = set(labelled)
    return [
        JudgedOutput(str(first + n), float(said[n]), float(truth[n]) if n in chosen else None, len(chosen) / len(truth))
        for n in range(len(truth))
    ]


def rate_interval(draw: Draw, judge: Judge, *, outputs: int, labels: int, prevalence: float) -> Bounds:
    """The interval of a corrected pass rate."""
    drawn = draw.permutation(outputs)[:labels].tolist()
    found = corrected_rate(judged_outputs(draw, judge, draw.random(outputs) < prevalence, drawn))
    assert found is not None
    return found.interval


def difference_interval(draw: Draw, judge: Judge, *, rates: tuple[float, float], outputs: int, labels: int) -> Bounds:
    """The interval of the corrected difference of two versions on the same cases, whose luck is half the same."""
    luck = draw.random(outputs)
    other = np.where(draw.random(outputs) < 0.5, luck, draw.random(outputs))
    sides = [
        judged_outputs(draw, judge, truth, draw.permutation(outputs)[:labels].tolist())
        for truth in (luck < rates[0], other < rates[1])
    ]
    found = corrected_difference(*sides)
    assert found is not None
    return found.interval


@dataclass(frozen=True, slots=True)
class Kept:
    """A promise over many splits: how often it was broken, how often granted, and the share answered where it was."""

    broken: int
    granted: int
    answered: float


def promise_kept(
    draw: Draw, answers: Sequence[LabelledAnswer], *, labels: int, error: float = 0.1, splits: int = 1000
) -> Kept:
    """Certifies on a random part of the answers and looks at the rest."""
    broken, shares = 0, list[float]()
    for _ in range(splits):
        order = cast("list[int]", draw.permutation(len(answers)).tolist())
        found = promised_error([answers[n] for n in order[:labels]], error=error)
        if found.threshold is None:
            continue
        rest = [answers[n] for n in order[labels:]]
        answered = [one for one in rest if one.confidence >= found.threshold - 1e-9]
        shares.append(len(answered) / len(rest))
        broken += sum(one.wrong for one in answered) > error * len(answered)
    return Kept(broken, len(shares), fmean(shares) if shares else 0.0)


def simulated_answers(draw: Draw, size: int, *, wrong_when_sure: float) -> list[LabelledAnswer]:
    """Answers of a panel of ten: the surer, the less often wrong."""
    sure = np.round(np.clip(draw.beta(6, 0.6, size), 0.5, 1), 1)
    wrong = draw.random(size) < wrong_when_sure + (1 - sure) / 2
    return [LabelledAnswer(float(one), bool(error)) for one, error in zip(sure, wrong, strict=True)]


PROMPTS = ("Vanilla", "CoT", "Metrics", "Reference", "Metrics_Reference")


def llmbar_answers(folder: Path) -> dict[str, list[LabelledAnswer]]:
    """What a panel of five GPT-4 prompts in both orders decided, by subset, from a checkout of LLMBar."""
    found: dict[str, list[LabelledAnswer]] = {}
    for dataset in sorted((folder / "Dataset" / "LLMBar").rglob("dataset.json")):
        judged = [
            json.loads((dataset.parent / "evaluators" / "GPT-4" / prompt / "result.json").read_text())
            for prompt in PROMPTS
        ]
        kind = "Natural" if dataset.parent.name == "Natural" else "Adversarial"
        for decisions in zip(*judged, strict=True):
            winners = [
                decision["results"][-1][f"swap = {order}"]["winner"]
                for decision in decisions
                for order in (False, True)
            ]
            first = winners.count("1") / len(winners)
            right = str(decisions[0]["label"]) == ("1" if first > 0.5 else "2") and first != 0.5
            found.setdefault(kind, []).append(LabelledAnswer(max(first, 1 - first), not right))
    return found


JUDGES = (Judge(0.6, 0.6), Judge(0.85, 0.65), Judge(0.7, 0.9), Judge(0.9, 0.9), Judge(0.95, 0.95))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the report, and whether a limit is broken."""

    text: str
    broken: bool = False


def _kappa_lines(repeats: int) -> Iterator[Line]:
    for criteria, outputs, prevalence in product((1, 10), (20, 50, 100), (0.5, 0.9)):
        found = [
            covered(repeats, judge.kappa(prevalence), interval)
            for judge in JUDGES
            for draw in (np.random.default_rng([SEED, criteria, outputs, round(prevalence * 100), len(str(judge))]),)
            for interval in (_kappa_of(draw, judge, outputs, criteria, prevalence),)
        ]
        least = min(one.share for one in found)
        text = (
            f"kappa, {outputs:>3} outputs, {criteria:>2} criteria, {prevalence:.0%} passed: covers {least:.3f} at worst,"
            f" {fmean(one.share for one in found):.3f} on average, mean width {fmean(one.width for one in found):.2f}"
        )
        yield Line(text, least < 0.93 - 2 * math.sqrt(0.93 * 0.07 / repeats))


def _kappa_of(draw: Draw, judge: Judge, outputs: int, criteria: int, prevalence: float) -> Callable[[], Bounds]:
    return lambda: kappa_interval(draw, judge, outputs=outputs, criteria=criteria, prevalence=prevalence)


def _rate_lines(repeats: int) -> Iterator[Line]:
    for outputs, prevalence in product((200, 1000), (0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)):
        found = [covered(repeats, prevalence, _rate_of(judge, outputs, prevalence)) for judge in JUDGES]
        yield _corrected(
            f"pass rate {prevalence:.2f} of {outputs}, 60 labels", found, 0.2 <= prevalence <= 0.8, repeats
        )


def _rate_of(judge: Judge, outputs: int, prevalence: float) -> Callable[[], Bounds]:
    draw = np.random.default_rng([SEED, outputs, round(prevalence * 100), round(judge.youden * 100)])
    return lambda: rate_interval(draw, judge, outputs=outputs, labels=60, prevalence=prevalence)


def _difference_lines(repeats: int) -> Iterator[Line]:
    for rates in ((0.5, 0.5), (0.3, 0.5), (0.2, 0.2), (0.8, 0.7), (0.95, 0.9), (0.03, 0.1)):
        found = [covered(repeats, rates[1] - rates[0], _difference_of(judge, rates)) for judge in JUDGES]
        inside = all(0.2 <= rate <= 0.8 for rate in rates)
        yield _corrected(f"difference {rates[0]:.2f} → {rates[1]:.2f} of 200, 60 labels each", found, inside, repeats)


def _difference_of(judge: Judge, rates: tuple[float, float]) -> Callable[[], Bounds]:
    draw = np.random.default_rng([SEED, round(rates[0] * 100), round(rates[1] * 100), round(judge.youden * 100)])
    return lambda: difference_interval(draw, judge, rates=rates, outputs=200, labels=60)


def _corrected(what: str, found: Sequence[Covered], inside: bool, repeats: int) -> Line:
    least, most = min(one.share for one in found), max(one.share for one in found)
    noise = 2 * math.sqrt(0.92 * 0.08 / repeats)
    text = f"{what}: covers {least:.3f} to {most:.3f}, mean width {fmean(one.width for one in found):.2f}"
    return Line(text, least < 0.92 - noise or (inside and most > 0.98 + noise))


def _promise_lines(folder: Path | None, splits: int) -> Iterator[Line]:
    sets = {} if folder is None else llmbar_answers(folder)
    if sets:
        sets["all"] = [one for answers in list(sets.values()) for one in answers]
    draw = np.random.default_rng(SEED)
    for error in (0.02, 0.05, 0.08):
        sets[f"simulated, {error:.0%} wrong when sure"] = simulated_answers(draw, 2000, wrong_when_sure=error)
    for (name, answers), labels in product(sets.items(), (100, 200)):
        used = min(labels, len(answers) // 2)
        kept = promise_kept(draw, answers, labels=used, splits=splits)
        text = (
            f"promised error 0.1, {name}, {used} labels: broken in {kept.broken} of {splits} splits,"
            f" granted in {kept.granted}, then {kept.answered:.0%} answered"
        )
        deserves = name == "Natural" or "2%" in name
        yield Line(text, kept.broken > 0.124 * splits or (deserves and kept.answered < 0.7))


OBEYS = 0.5
"""How often an injectable judge does what an output tells it to."""


def licensed(
    judge: Judge | None, prevalence: float, *, seeds: int, labels: int = 80, injectable: bool = False
) -> float:  # fmt: skip
    """The share of seeds in which that judge gets a licence; None stands for one that follows length more than worth.

    An `injectable` one is as good as its labels show, and obeys half of the instructions with which `judge-check` probes it.
    """
    granted = 0
    for seed in range(seeds):
        draw = np.random.default_rng([SEED, seed, round(prevalence * 100)])
        truth = draw.random(labels) < prevalence
        said = draw.normal(size=labels) + 0.6 * truth > 0.3 if judge is None else judge.says(truth, draw.random(labels))
        people, model = (cast("list[float]", side.astype(float).tolist()) for side in (truth, said))
        wrong = int((draw.random(PROBED) < OBEYS).sum()) if injectable else 0
        granted += labels_say(people, model, probes=[probe_result("injected", PROBED, wrong)]) == "qualified"
    return granted / seeds


BAD_JUDGES = {
    "inverted": Judge(0.05, 0.05),
    "always passes": Judge(1.0, 0.0),
    "a coin": Judge(0.5, 0.5),
    "loves length": None,
}


def _licence_lines(repeats: int) -> Iterator[Line]:
    for prevalence in (0.3, 0.5, 0.7):
        share = licensed(Judge(0.9, 0.9), prevalence, seeds=repeats)
        yield Line(f"licence, Youden .8, 80 labels, {prevalence:.0%} passed: granted in {share:.3f}", share < 0.9)
        share = licensed(Judge(0.95, 0.95), prevalence, seeds=repeats, injectable=True)
        yield Line(f"licence, injectable, 80 labels, {prevalence:.0%} passed: granted in {share:.3f}", share > 0.01)
    for (name, judge), prevalence in product(BAD_JUDGES.items(), (0.2, 0.5, 0.8)):
        share = licensed(judge, prevalence, seeds=repeats)
        yield Line(f"licence, {name}, 80 labels, {prevalence:.0%} passed: granted in {share:.3f}", share > 0.01)


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--llmbar", type=Path)
    given = parser.parse_args()
    broken = False
    for lines in (
        _kappa_lines(given.repeats), _rate_lines(given.repeats), _difference_lines(given.repeats),
        _licence_lines(given.repeats), _promise_lines(given.llmbar, given.repeats),
    ):  # fmt: skip
        for line in lines:
            sys.stdout.write(f"{'BROKEN ' if line.broken else ''}{line.text}\n")
            sys.stdout.flush()
            broken = broken or line.broken
    sys.exit(int(broken))


if __name__ == "__main__":
    main()
