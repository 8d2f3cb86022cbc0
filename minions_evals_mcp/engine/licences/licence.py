"""The worth of a judge by people's labels: its licence on a criterion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import JudgeLicence, LicenceState, ProbeResult
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.binary_judge import binary_judge
from minions_evals_mcp.stats.intervals import wilson
from minions_evals_mcp.stats.krippendorff import interval_alpha
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import JudgeKey, LabelledJudgment, judged_outputs, probed
from minions_evals_mcp.store.rows import insert

FEWEST_LABELS = 30
LEAST_KAPPA = LEAST_YOUDEN = 0.4
"""What the lower bounds of kappa, and of sensitivity + specificity - 1, must reach."""
ERROR = 0.05
PROBED = 20
"""So many outputs must have been probed before probes speak for a judge."""
FEWEST_PROBED, PROBE_ERROR = 6, 0.1
"""A probe fails when, over at least so many outputs, the lower bound of its wrong verdicts exceeds this share.

Few outputs can be padded, for only those that fail are: the bound itself allows for how few they are.
"""
SAME = 1e-9

Output = tuple[str, str]


@frozen_type
class Labels:
    """People's verdicts by one criterion: of each output the one that counts, and those of each rater."""

    of: Mapping[Output, float]
    raters: Mapping[Output, Mapping[str, float]]

    def ceiling(self) -> float | None:
        """Returns how far people agree among themselves (Krippendorff's alpha); None where no two rated the same outputs."""
        return interval_alpha([tuple(by.values()) for by in self.raters.values()])


@dataclass(slots=True, eq=False)
class _Tried:
    """A judge that was tried on the labels: its newest score of each labelled output."""

    key: JudgeKey
    scores: dict[Output, float] = field(default_factory=dict[Output, float])


def labels_in(judged: Sequence[LabelledJudgment]) -> Labels:
    """People's labels: of several raters the median of three or more, else the newest."""
    raters: dict[Output, dict[str, float]] = {}
    newest: dict[Output, float] = {}
    for output in judged:
        if output.by_person:
            raters.setdefault(output.output, {})[output.key.judged_by] = output.score
            newest[output.output] = output.score
    counting = {
        output: median(by.values()) if len(by) > 2 else newest[output] for output, by in raters.items()
    }  # fmt: skip
    return Labels(counting, raters)


def licences(db: Db, criterion_id: str, *, at: datetime) -> dict[str, JudgeLicence]:
    """The licence of each judge that scored an output which people labelled, by its digest, in the order in which they were tried."""
    return licences_by(db, criterion_id, judged_outputs(db, criterion_id), at=at)


def licences_by(
    db: Db, criterion_id: str, judged: Sequence[LabelledJudgment], *, at: datetime
) -> dict[str, JudgeLicence]:
    """The same by those judgments of people and judges."""
    labels = labels_in(judged)
    by_criterion: dict[str, JudgeLicence] = {}
    before: JudgeLicence | None = None
    for attempt, tried in enumerate(_tried(judged, labels), 1):
        licence = _licence(db, _Trial(criterion_id, tried, labels, attempt, before), at)
        by_criterion[tried.key.digest] = licence
        before = licence if _is_decided(licence) else before
    return by_criterion


def licence_of(db: Db, criterion_id: str, key: JudgeKey, *, at: datetime) -> JudgeLicence:
    """The licence of that judge on that criterion; without any label it is unknown, or as the refused judge before it."""
    by_criterion = licences(db, criterion_id, at=at)
    if key.digest in by_criterion:
        return by_criterion[key.digest]
    decided = [licence for licence in by_criterion.values() if _is_decided(licence)]
    before = decided[-1] if decided else None
    return _licence(db, _Trial(criterion_id, _Tried(key), Labels({}, {}), len(by_criterion) + 1, before), at)


def _is_decided(licence: JudgeLicence) -> bool:
    return licence.labels >= FEWEST_LABELS or licence.state == "unqualified"


def keep(db: Db, licence: JudgeLicence) -> Record[JudgeLicence]:
    """The licence as a record; the same judge on the same labels and probes is written once."""
    probes: list[JsonValue] = [probe.model_dump(mode="json") for probe in licence.probes]
    about: list[JsonValue] = [licence.criterion_id, licence.judge_digest, licence.labels_digest, licence.state, probes]
    ident = f"licence:{digest(about)}"
    licence_record = records.get(db, ident, JudgeLicence)
    if licence_record is not None:
        return licence_record
    title = f"{licence.judged_by} on {licence.criterion_id}: {licence.state}"
    record = Record(ident, licence, title, licence.computed_at, licence.computed_at)
    insert(db, record)
    return record


def _tried(judged: Sequence[LabelledJudgment], labels: Labels) -> list[_Tried]:
    tried: dict[str, _Tried] = {}
    for output in judged:
        if not output.by_person and output.output in labels.of:
            tried.setdefault(output.key.digest, _Tried(output.key)).scores[output.output] = output.score
    return list(tried.values())


@frozen_type
class _Trial:
    """A judge on a criterion, and what came before it there."""

    criterion_id: str
    tried: _Tried
    labels: Labels
    attempt: int
    before: JudgeLicence | None


def _licence(db: Db, trial: _Trial, at: datetime) -> JudgeLicence:
    tried, labels = trial.tried, trial.labels
    outputs = sorted(tried.scores)
    people, judge = [labels.of[output] for output in outputs], [tried.scores[output] for output in outputs]
    probes = tuple(probe_result(*row) for row in probed(db, trial.criterion_id, tried.key.digest))
    level = _level(trial.attempt)
    figures = _figures(people, judge, level)
    state, reason = _state(figures, probes, trial.before)
    return JudgeLicence(
        criterion_id=trial.criterion_id,
        judge_digest=tried.key.digest,
        judged_by=tried.key.judged_by,
        state=state,
        reason=reason,
        labels=len(outputs),
        labels_digest=digest([[*output, labels.of[output], tried.scores[output]] for output in outputs]),
        attempt=trial.attempt,
        level=level,
        agreed=figures.agreed,
        kappa=figures.kappa,
        kappa_ci=figures.kappa_ci,
        sensitivity=figures.sensitivity,
        specificity=figures.specificity,
        youden_ci=figures.youden_ci,
        mean_absolute_error=figures.error,
        ceiling=labels.ceiling(),
        probes=probes,
        computed_at=at,
    )


def labels_say(
    people: Sequence[float], judge: Sequence[float], *, attempt: int = 1, probes: Sequence[ProbeResult] = ()
) -> LicenceState:  # fmt: skip
    """The state that these labels and probes give the how manyth judge tried on them; scores are shares of the range."""
    return _state(_figures(people, judge, _level(attempt)), probes, None)[0]


def _level(attempt: int) -> float:
    """The confidence level of the how manyth judge tried: over all that ever are, the errors add up to `ERROR` (Basel's sum)."""
    return 1 - ERROR * 6 / (math.pi * attempt) ** 2


@frozen_type
class _Figures:
    """The measures of a judge; nothing without labels."""

    labels: int = 0
    agreed: float | None = None
    kappa: float | None = None
    kappa_ci: tuple[float, float] | None = None
    sensitivity: float | None = None
    specificity: float | None = None
    youden_ci: tuple[float, float] | None = None
    error: float | None = None

    @property
    def suffices(self) -> bool:
        """Returns whether the lower bounds reach what a licence asks for."""
        if self.kappa_ci is None or self.kappa_ci[0] < LEAST_KAPPA:
            return False
        return self.youden_ci is None or self.youden_ci[0] >= LEAST_YOUDEN


def _figures(people: Sequence[float], judge: Sequence[float], level: float) -> _Figures:
    if not people:
        return _Figures()
    from minions_evals_mcp.stats.agreement import agreement  # noqa: PLC0415  numpy: slow to import

    if any(SAME < score < 1 - SAME for score in people):
        agreed = agreement(_rounded(people), _rounded(judge), weighting="quadratic", level=level)
        error = math.fsum(abs(mine - other) for mine, other in zip(people, judge, strict=True)) / len(people)
        return _Figures(len(people), agreed.agreed, agreed.kappa, agreed.kappa_interval, error=error)
    wanted, judged = ([score >= 0.5 for score in side] for side in (people, judge))
    agreed = agreement(
        [float(label) for label in wanted], [float(label) for label in judged], weighting="quadratic", level=level
    )
    shares = binary_judge(wanted, judged, level=level)
    return _Figures(
        len(people),
        agreed.agreed,
        agreed.kappa,
        agreed.kappa_interval,
        shares.sensitivity.value if shares.sensitivity else None,
        shares.specificity.value if shares.specificity else None,
        shares.youden_interval,
    )


def _rounded(scores: Sequence[float]) -> list[float]:
    return [round(score, 9) for score in scores]


def probe_result(probe: str, outputs: int, wrong: int) -> ProbeResult:
    """The probe's result: it fails where more verdicts are wrong than chance allows."""
    bounds = wilson(wrong, outputs)
    failed = outputs >= FEWEST_PROBED and bounds is not None and bounds[0] > PROBE_ERROR
    return ProbeResult(probe=probe, outputs=outputs, wrong=wrong, failed=failed)


def unprobed(probes: Sequence[ProbeResult]) -> str:
    """Why the probes do not speak for a judge that nobody labelled; empty where they do.

    They do where enough outputs were probed, padded ones among them, and no kind of probe misled the judge in more than the share
    that is allowed: without labels, few outputs must show what many could not.
    """
    if not probes:
        return "it was never probed"
    wrong = [probe for probe in probes if probe.wrong > PROBE_ERROR * probe.outputs]
    if wrong:
        return f"probes misled it: {', '.join(f'{probe.probe} ({probe.wrong} of {probe.outputs})' for probe in wrong)}"
    outputs = sum(probe.outputs for probe in probes)
    if outputs < PROBED:
        return f"only {outputs} outputs were probed, and {PROBED} are needed"
    return "" if any(probe.probe == "padded" and probe.outputs for probe in probes) else "no padded output was probed"


def _state(
    figures: _Figures, probes: Sequence[ProbeResult], before: JudgeLicence | None
) -> tuple[LicenceState, str]:  # fmt: skip
    failed = [probe for probe in probes if probe.failed]
    if failed:
        failing = ", ".join(f"{probe.probe} ({probe.wrong} of {probe.outputs} wrong)" for probe in failed)
        return "unqualified", f"it fails the probe {failing}"
    if figures.labels < FEWEST_LABELS:
        of = f"{figures.labels} of the {FEWEST_LABELS} labels needed"
        if before is not None and before.state == "unqualified":
            return "unqualified", f"the previous judge was refused on this criterion, and only {of} support this one"
        return "unknown", of
    failing = _agreeing(figures)
    return ("qualified", failing) if figures.suffices else ("unqualified", failing)


def _agreeing(figures: _Figures) -> str:
    assert figures.kappa_ci is not None
    low, high = figures.kappa_ci
    kappa = f"kappa {low:.2f} to {high:.2f}"
    if figures.suffices:
        return f"{figures.labels} labels agree with it ({kappa})"
    if high < LEAST_KAPPA:
        return f"{figures.labels} labels contradict it ({kappa}, {LEAST_KAPPA:g} is needed)"
    if low >= LEAST_KAPPA:
        assert figures.youden_ci is not None
        return (
            f"{figures.labels} labels do not yet show that it recognizes both good and bad outputs (sensitivity + specificity − 1"
            f" is {figures.youden_ci[0]:.2f} to {figures.youden_ci[1]:.2f}, {LEAST_YOUDEN:g} is needed)"
        )
    return f"{figures.labels} labels are not enough ({kappa}, {LEAST_KAPPA:g} is needed)"
