"""The judging of checks: each examination names the evidence that it needs, and gives its verdict from it without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.table import check_all, needs
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Aggregate, Checked, Evidence, Need, Subject, Unchecked
from minions_evals_mcp.scoring.max_score import MaxScore, OutputScores, SelectedOutput, select
from minions_evals_mcp.scoring.verdicts.expected import expected_needs, meets

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class Examination(Protocol[V_co]):
    """Something to be judged, whose verdict is a `V_co`."""

    def needs(self) -> Sequence[Need]:
        """The evidence to be fetched before it can be answered."""
        ...

    def answer(self, evidence: Evidence, /) -> V_co:
        """The verdict, from that evidence alone."""
        ...


def answered_alone(page: Sequence[Examination[V]]) -> list[V] | None:
    """The verdict of each examination, in order; None where any of them needs evidence."""
    if any(examination.needs() for examination in page):
        return None
    return [examination.answer(NO_EVIDENCE) for examination in page]


class OutputChecks(NamedTuple):
    """One output with the assertions that it is to pass together, from that aggregate on where there is a threshold.

    `by_all`: somebody looks at the result of every one, so that a single failed one decides nothing. `asking`: whether
    any may need something of the outside, where that is known.
    """

    assertions: Sequence[Assertion]
    subject: Subject
    threshold: float | None = None
    by_all: bool = False
    asking: bool = True

    def needs(self) -> Sequence[Need]:
        """Returns what the assertions need of the outside."""
        return needs(self.assertions, self.subject) if self.asking else ()

    def answer(self, evidence: Evidence = NO_EVIDENCE) -> Aggregate | Unchecked:
        """The verdict of each assertion and of all together, or the first that could not be carried out."""
        decides = not (
            self.by_all or self.subject.of_config
        )  # what a config's results tell of each stands in its order
        return check_all(self.assertions, self.subject, threshold=self.threshold, evidence=evidence, decides=decides)


class Expectation(NamedTuple):
    """One output with what was expected of it, looked for key by key."""

    expected: Json
    output: Json
    subject: Subject

    def needs(self) -> Sequence[Need]:
        """The searches for expected patterns."""
        return expected_needs(self.expected, self.output, self.subject)

    def answer(self, evidence: Evidence = NO_EVIDENCE) -> Checked | Unchecked:
        """Returns whether the output has all that was expected."""
        return meets(self.expected, self.output, self.subject, evidence=evidence)


@frozen_type
class Spoilt:
    """A contest that cannot be decided, as a check of the output with that number (from 0) could not be carried out."""

    output: int
    why: Unchecked


class Contest(NamedTuple):
    """Several outputs of one test, of which max-score selects one by the assertions that each passes."""

    assertions: Sequence[Assertion]
    subjects: Sequence[Subject]
    config: MaxScore

    def needs(self) -> Sequence[Need]:
        """Returns what the assertions need of the outside for all outputs."""
        return [need for subject in self.subjects for need in needs(self.assertions, subject)]

    def answer(self, evidence: Evidence = NO_EVIDENCE) -> SelectedOutput | Spoilt | Unchecked:
        """The selected output and how each stands; `Unchecked` where there is nothing to choose by."""
        scores: list[OutputScores] = []
        for index, subject in enumerate(self.subjects):
            result = check_all(self.assertions, subject, evidence=evidence)
            if isinstance(result, Unchecked):
                return Spoilt(index, result)
            scores.append(OutputScores.of(result))
        return select(scores, self.config)
