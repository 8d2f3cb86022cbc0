"""The rules that a case is judged by, as one value; and what they say of an output, from evidence alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import SET, Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import answered_record, output_text, output_value
from minions_evals_mcp.scoring.assertions.table import asks_outside
from minions_evals_mcp.scoring.checks import Aggregate, Evidence, Need, SimilarityNeed, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.likeness.similarity import normalised
from minions_evals_mcp.scoring.rubric import TOLERANCE
from minions_evals_mcp.scoring.verdicts.examination import Expectation, OutputChecks
from minions_evals_mcp.scoring.verdicts.expected import expectation
from minions_evals_mcp.scoring.verdicts.history import SIMILAR_ENOUGH, compared

LOGGED = frozenset(
    {"trajectory:tool-used", "trajectory:tool-args-match", "trajectory:tool-sequence", "trajectory:step-count",
     "trajectory:match", "tool-call-f1"}
)  # fmt: skip
MEASURED = frozenset({"latency", "cost", "finish-reason", "perplexity", "perplexity-score", "skill-used",
                      "is-valid-openai-tools-call", "is-valid-function-call", "is-valid-openai-function-call"})  # fmt: skip
"""What no text decides: such checks are taken to hold."""
CODE = frozenset({"python", "javascript"})
OWN = "function"


@dataclass(frozen=True, slots=True)
class ScorePart:
    """Assertions that make one score together: those of a case, or of a criterion with its weight and range."""

    id: str
    title: str
    assertions: tuple[Assertion, ...]
    threshold: float | None = None
    weight: float = 1.0
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Rules:
    """The rules that decide whether an output of a case passes.

    `passing`: the weighted total of the parts that a rubric asks for; without one the only part decides. `expected` is
    looked for in the output, or compared with it by meaning, where there are no assertions. `left_out`: who else judges.
    """

    parts: tuple[ScorePart, ...] = ()
    passing: float | None = None
    expected: Json | None = None
    by_similarity: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Returns whether no rule decides anything."""
        return not self.parts and self.expected is None

    def assertions(self) -> Iterator[Assertion]:
        """All assertions, those within sets too; what is expected as the checks that it stands for."""
        for part in self.parts:
            yield from flat(part.assertions)
        if self.expected is not None and not self.by_similarity:
            yield from (expectation(value) for value in self.expected.values())

    @cached_property
    def ask_outside(self) -> bool:
        """Returns whether what decides may need anything that has to be fetched."""
        return self.expected is not None or any(asks_outside(part.assertions) for part in self.parts)

    def look_at_text(self) -> bool:
        """Returns whether any check looks at what the output says."""
        if self.expected is not None:
            return True
        return any(
            assertion.base_type not in LOGGED | MEASURED for assertion in self.assertions() if assertion.weight > 0
        )

    def look_at_log(self) -> bool:
        """Returns whether any check looks at the tool calls."""
        return any(assertion.base_type in LOGGED for assertion in self.assertions() if assertion.weight > 0)


def flat(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """The assertions with those that sets hold in place of the sets."""
    for assertion in assertions:
        if assertion.base_type == SET:
            yield from flat(assertion.assertions)
        else:
            yield assertion


class RuleVerdict(NamedTuple):
    """The verdict of rules on an output: None where they could not be carried out, then why.

    `parts` are the parts that it passes in full, `checks` the verdict of each check, part by part; None for one that was
    left out.
    """

    passed: bool | None
    parts: tuple[bool, ...] = ()
    checks: tuple[tuple[bool | None, ...], ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Trial:
    """An output that is tried on the rules of a case: an examination as the judging door answers them."""

    rules: Rules
    output: Json
    tool_calls: tuple[ToolCall, ...] | None
    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @cached_property
    def subject(self) -> Subject:
        """The output as checks see it: made at once and for nothing."""
        value = output_value(self.output)
        return Subject(
            output_text(self.output), 1.0, 0.0, self.inputs, self.tool_calls, "stop", "",
            None if isinstance(value, str) else value, record=answered_record(self.output),
        )  # fmt: skip

    def needs(self) -> Sequence[Need]:
        """Returns what the checks need of the outside."""
        rules = self.rules
        if not rules.ask_outside:
            return ()
        subject = self.subject
        if rules.parts:
            return [need for part in rules.parts for need in OutputChecks(part.assertions, subject).needs()]
        if rules.expected is None:
            return ()
        if rules.by_similarity:
            return [*self._pairs()]
        return Expectation(rules.expected, self.output, subject).needs()

    def answer(self, evidence: Evidence, /) -> RuleVerdict:
        """Returns what they say of it."""
        if self.rules.parts:
            return self._by_parts(evidence)
        if self.rules.by_similarity:
            return self._by_similarity(evidence)
        assert self.rules.expected is not None, "rules that decide nothing try nothing"
        result = Expectation(self.rules.expected, self.output, self.subject).answer(evidence)
        if isinstance(result, Unchecked):
            return RuleVerdict(None, problem=f"{result.type}: {result.reason}")
        return RuleVerdict(result.passed, (result.passed,), ((result.passed,),))

    def _by_parts(self, evidence: Evidence) -> RuleVerdict:
        subject, scores, passes = self.subject, list[float](), list[bool]()
        checks: list[tuple[bool, ...]] = []
        for part in self.rules.parts:
            result = OutputChecks(part.assertions, subject, part.threshold).answer(evidence)
            if not isinstance(result, Aggregate):
                return RuleVerdict(None, problem=f"{result.type}: {result.reason}")
            scores.append(part.weight * (part.low + (part.high - part.low) * result.score))
            passes.append(result.passed if self.rules.passing is None else result.score >= 1 - TOLERANCE)
            checks.append(tuple(result.passed for result in result.results))
        passing = self.rules.passing
        passed = passes[0] if passing is None else sum(scores) >= passing - TOLERANCE
        return RuleVerdict(passed, tuple(passes), tuple(checks))

    def _pairs(self) -> list[SimilarityNeed]:
        assert self.rules.expected is not None, "likeness is to what is expected"
        comparison = compared(self.rules.expected, self.output, patterns=False)
        pairs = () if comparison is None else comparison.unequal
        needs = [SimilarityNeed(normalised(actual), normalised(wanted)) for wanted, actual in pairs]
        return [need for need in needs if need.text != need.other]

    def _by_similarity(self, evidence: Evidence) -> RuleVerdict:
        shares = [evidence.similarities.get(need, 0.0) for need in self._pairs()]
        unmet = next((share for share in shares if isinstance(share, Unmet)), None)
        if unmet is not None:
            return RuleVerdict(None, problem=f"similarity: {unmet.reason}")
        assert self.rules.expected is not None, "likeness is to what is expected"
        lacking = any(key not in self.output for key in self.rules.expected) and len(self.rules.expected) > 1
        passed = not lacking and all(isinstance(share, float) and share >= SIMILAR_ENOUGH for share in shares)
        return RuleVerdict(passed, (passed,), ((passed,),))
