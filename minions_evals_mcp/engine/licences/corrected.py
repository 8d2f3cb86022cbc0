"""Pass rates and differences as people would have found them, where outputs of a run were drawn for them at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.jobs import request_of, root_run
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.judging.judge_labels import people_runs, run_outputs

if TYPE_CHECKING:
    from minions_evals_mcp.stats.prediction_powered import Corrected, JudgedOutput

Output = tuple[str, str]


class CorrectedFigure(Value):
    """A figure corrected by people's labels, beside what the judge alone says. Rates and differences are 0 to 1."""

    value: float
    interval: tuple[float, float]
    raw: float
    labels: int
    outputs: int
    chance: float
    """With which each output was drawn for people and judged by them."""

    def in_words(self, what: str) -> str:
        """The figure in one sentence."""
        low, high = (100 * end for end in self.interval)
        return (
            f"Corrected by {self.labels} human labels, {what} is {100 * self.value:.0f} % (95 %: {low:.0f} to {high:.0f} %);"
            f" the judge alone gives {100 * self.raw:.0f} %."
        )


@dataclass(slots=True, eq=False)
class DrawnLabels:
    """People's verdicts on a run's outputs that were drawn at random, and the chance with which each of them was."""

    chance: float
    passed: dict[Output, bool] = field(default_factory=dict[Output, bool])


def corrected_pass_rate(db: Db, run_id: str) -> CorrectedFigure | None:
    """The pass rate of that benchmark-run as people would have found it; None without enough labels drawn at random."""
    from minions_evals_mcp.stats.prediction_powered import corrected_rate  # noqa: PLC0415  as above

    outputs = labelled_outputs(db, run_id)
    return None if outputs is None else _figure(corrected_rate(outputs), outputs[0].chance)


def corrected_pass_difference(db: Db, run_a: str, run_b: str, *, level: float = 0.95) -> CorrectedFigure | None:
    """The difference of two runs' pass rates, B minus A, as people would have found it; None where either lacks labels."""
    from minions_evals_mcp.stats.prediction_powered import corrected_difference  # noqa: PLC0415  as above

    a, b = labelled_outputs(db, run_a), labelled_outputs(db, run_b)
    if a is None or b is None:
        return None
    return _figure(corrected_difference(a, b, level=level), min(a[0].chance, b[0].chance))


def _figure(figure: Corrected | None, chance: float) -> CorrectedFigure | None:
    if figure is None:
        return None
    return CorrectedFigure(
        value=figure.value, interval=figure.interval, raw=figure.raw, labels=figure.labels, outputs=figure.outputs, chance=chance
    )  # fmt: skip


def labelled_outputs(db: Db, run_id: str) -> list[JudgedOutput] | None:
    """The run's outputs with the judge's verdicts and people's; None where no output was drawn for people at random."""
    from minions_evals_mcp.stats.prediction_powered import JudgedOutput  # noqa: PLC0415  as above

    labels = drawn_labels(db, run_id)
    if labels is None or not labels.passed:
        return None
    return [
        JudgedOutput(
            run_output.test_case_id,
            float(run_output.passed),
            float(labels.passed[run_output.output]) if run_output.output in labels.passed else None,
            labels.chance,
        )
        for run_output in run_outputs(db, run_id)
    ]


def drawn_labels(db: Db, run_id: str) -> DrawnLabels | None:
    """People's verdicts on outputs of the run from all runs that drew from them at random, or asked about all of them.

    A person who judged cases that somebody selected labels them for the judge's licence; they stand for no others.
    """
    drawn = drawn_verdicts(db, run_id)
    return None if not drawn.verdicts else DrawnLabels(1 - drawn.missed, _verdicts(drawn.verdicts))


class DrawnVerdicts(NamedTuple):
    """The verdicts of people on each output, oldest first, and the chance with which an output was never drawn."""

    verdicts: dict[Output, list[bool]]
    missed: float


def drawn_verdicts(db: Db, run_id: str) -> DrawnVerdicts:
    """What people said of outputs of the run in all runs that drew from them at random, or asked about all of them.

    Runs that ask again about what was drawn before (a second rater, who decides between two) draw nothing.
    """
    job = jobs.job(db, run_id)
    labels: dict[Output, list[bool]] = {}
    missed = 1.0
    if job is None or job.kind != "benchmark":
        return DrawnVerdicts(labels, missed)
    root, drawn = root_run(db, job), set[str]()
    for ident, _ in people_runs(db, job.subject_id):
        earlier_job = jobs.job(db, ident)
        assert earlier_job is not None, "a row of a job"
        chance = draw_chance(earlier_job)
        if chance is None or ident == run_id or root_run(db, earlier_job) != root:
            continue
        answers, asked = run_outputs(db, ident), request_of(earlier_job).case_ids
        if asked is None or not drawn.issuperset(asked):
            missed *= 1 - chance * min(1.0, len(answers) / max(1, earlier_job.total))
        drawn.update(asked or ())
        for answer in answers:
            labels.setdefault(answer.output, []).append(answer.passed)
    return DrawnVerdicts(labels, missed)


def draw_chance(job: Job) -> float | None:
    """The chance with which each output was drawn for that run of people; None where somebody selected them."""
    request = request_of(job)
    if request.label_chance is not None:
        return request.label_chance
    return 1.0 if request.case_ids is None else None


def _verdicts(labels: Mapping[Output, list[bool]]) -> dict[Output, bool]:
    return {
        output: bool(median(verdict)) if len(verdict) > 2 and len(verdict) % 2 else verdict[-1]
        for output, verdict in labels.items()
    }
