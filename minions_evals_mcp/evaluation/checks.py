"""The checks of an output: assertions by name, rubrics, and functions of the user's."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import NEGATION, SET, Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.errors import BadInputError, EvalsError, InvalidRecordError
from minions_evals_mcp.evaluation.code_version import source_digest, whole_source
from minions_evals_mcp.interop.score_rows import read_assertion
from minions_evals_mcp.scoring.assertions.check_scores import RUBRIC
from minions_evals_mcp.scoring.assertions.kinds.own import FUNCTION
from minions_evals_mcp.scoring.assertions.table import kind_of, vet
from minions_evals_mcp.scoring.checks import OwnVerdict
from minions_evals_mcp.targets.function.messages import plain_json
from minions_evals_mcp.targets.function.task import function_name

LONGEST_NAME = 60
PASSES_AT = 0.5
NO_CHECK = (
    "Give a name, a mapping, a Rubric or a function (output, case)."
    " An evaluator or metric of another library is called in such a function."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a check of yours on an output. `passed=None`: this output cannot be judged by it, and why."""

    passed: bool | None
    reason: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A score from 0 to 1, with its reason. Without `passed` it passes from the threshold of the evaluation on.

    `cost_usd` is what your check paid for it, in US dollars.
    """

    score: float
    reason: str = ""
    passed: bool | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, init=False)
class Rubric:
    """Criteria that a model or a person judges each output by, from 0 to 1: it passes from `threshold` of the total on.

    A criterion is a sentence, or {name, description, weight, scoringGuide, minScore, maxScore, judgeType}.
    """

    criteria: tuple[str | Mapping[str, Any], ...]
    threshold: float
    name: str

    def __init__(self, *criteria: str | Mapping[str, Any], threshold: float = 0.7, name: str = "rubric") -> None:
        if not criteria:
            raise BadInputError("a Rubric needs a criterion.", remedy='Rubric("The answer says why.")')
        object.__setattr__(self, "criteria", criteria)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "name", name)


Function = Callable[[Any, Any], object]
"""A check of yours: `(output, case)` or `(output)` → `bool | float | Score | Verdict`, or a mapping of several, sync or async."""
Check = str | Mapping[str, Any] | Rubric | Function


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of an evaluation, each kind by itself; `functions` by the names under which they are kept."""

    given: tuple[Check, ...]
    threshold: float
    grades_rubrics: bool = True
    """Whether a model grades a rubric beside other checks; else the outputs that pass those have no verdict."""
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    digests: dict[str, str] = field(default_factory=dict[str, str])
    """Of each function's code, by its name here."""

    def rubric(self) -> Rubric | None:
        """The rubric that judges every case by itself; one beside other checks is a check like them."""
        alone = self.given[0] if len(self.given) == 1 else None
        return alone if isinstance(alone, Rubric) else None

    def functions_given(self, case: object) -> bool:
        """Returns whether a function of the user's may be asked about outputs of the case."""
        own: Sequence[Check] = getattr(case, "checks", ())
        return any(callable(check) for check in (*self.given, *own))

    def assertions(self, own: Sequence[Check], expected: JsonValue, where: str) -> tuple[Assertion, ...]:
        """Returns what a case is checked by: these and its own; raises `BadInputError` naming the case and what does not fit."""
        every = (*self.given, *own)
        try:
            assertions = tuple(self._assertion(check, expected, number) for number, check in enumerate(every))
            for assertion in assertions:
                vet(assertion)
        except InvalidRecordError as error:
            missing = expected is None and error.field == "value"
            remedy = (
                "The case has no `expected`, which is the value of a check by name." if missing else error.remedy_text
            )
            raise BadInputError(f"{where}: {error.message_text.rstrip('.')}.", remedy=remedy) from None
        except EvalsError as error:
            raise type(error)(f"{where}: {error.message_text}", remedy=error.remedy_text) from None
        return assertions

    def _assertion(self, check: Check, expected: JsonValue, number: int) -> Assertion:
        match check:
            case str():
                kind = kind_of(check.removeprefix(NEGATION))
                return Assertion(type=check, value=None if kind is not None and kind.stands_alone else expected)
            case Rubric():
                return _as_set(check) if self.grades_rubrics else self._ungraded(check)
            case Mapping():
                return read_assertion(_mapping(check), number)
            case _ if callable(check) and not isinstance(check, type):
                return self._function(check)
            case _:
                raise BadInputError(f"{_shown(check)} is not a check.", remedy=NO_CHECK)

    def _ungraded(self, rubric: Rubric) -> Assertion:
        """The rubric as a check that has no verdict."""
        name = self._kept_as(rubric.name, _no_model)
        self.digests[name] = digest([criterion_text(criterion) for criterion in rubric.criteria])
        return Assertion(type=FUNCTION, value={"name": name, "code": self.digests[name]})

    def _kept_as(self, name: str, function: Function) -> str:
        """Keeps the function under that name, with a number where another has it, and returns the name."""
        names = (name, *(f"{name} {at}" for at in range(2, 1000)))
        return next(free for free in names if self.functions.setdefault(free, function) is function)

    def _function(self, function: Function) -> Assertion:
        name = self._kept_as(function_name(function), function)
        if name not in self.digests:
            self.digests[name] = source_digest(whole_source(function))
        value: Json = {"name": name, "code": self.digests[name]}
        return Assertion(type=FUNCTION, value=value, threshold=self.threshold)


def _no_model(_output: object, _case: object) -> Verdict:
    return Verdict(
        None,
        'no model judges it: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or judge="provider:model"; alone it waits for a person',
    )


def _mapping(check: Mapping[str, Any]) -> Json:
    mapping = plain_json(dict(check))
    assert isinstance(mapping, dict)
    return mapping


def _as_set(rubric: Rubric) -> Assertion:
    """The rubric as a check beside others: each criterion graded by the model, their weighted mean against the threshold."""
    parts = tuple(
        Assertion(type="llm-rubric", value=criterion_text(criterion), weight=weight_of(criterion), metric=criterion_name(criterion, number))
        for number, criterion in enumerate(rubric.criteria, 1)
    )  # fmt: skip
    return Assertion(
        type=SET, assertions=parts, threshold=rubric.threshold, metric=None if rubric.name == RUBRIC else rubric.name
    )


def criterion_text(criterion: str | Mapping[str, Any]) -> str:
    """Returns what a criterion asks for, in words."""
    if isinstance(criterion, str):
        return criterion
    texts = [str(criterion[key]) for key in ("description", "scoringGuide") if criterion.get(key)]
    return "\n".join(texts) or str(criterion.get("name", ""))


def weight_of(criterion: str | Mapping[str, Any]) -> float:
    """Returns how much a criterion weighs."""
    return 1.0 if isinstance(criterion, str) else float(criterion.get("weight", 1.0))


def criterion_name(criterion: str | Mapping[str, Any], number: int) -> str:
    """Returns what a criterion is called: its name, else its first words."""
    if isinstance(criterion, str):
        words = " ".join(criterion.split()).rstrip(" .")
        return (words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 1] + "…") or f"criterion {number}"
    return str(criterion.get("name") or f"criterion {number}")


class NoAnswerError(ValueError):
    """The error of a check whose return is no answer."""


def _plain(answer: object) -> object:
    """The answer; numpy's bool or number, which a comparison of arrays gives, as Python's own."""
    if "numpy" not in sys.modules:
        return answer
    import numpy as np  # noqa: PLC0415  only where the caller has imported it

    return cast("np.generic[object]", answer).item() if isinstance(answer, np.generic) else answer


def _takes_case(function: Function) -> bool:
    """Whether the function takes the case beside the output: all do but those that have room for one argument alone."""
    return _fits(function, "output", "case") or not _fits(function, "output")


def _fits(function: Function, *arguments: str) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError):  # it does not fit, or a builtin tells no signature
        return False
    return True


async def called(function: Function, output: object, case: object) -> OwnVerdict:
    """The verdict of a function; raises what it raises, and `NoAnswerError` for an answer that is none."""
    began = time.perf_counter()
    result = function(output, case) if _takes_case(function) else cast("Callable[[object], object]", function)(output)
    answer = _plain(await result if inspect.isawaitable(result) else result)
    taken_ms = round((time.perf_counter() - began) * 1000, 3)
    if not isinstance(answer, Mapping):
        return _verdict(answer)._replace(duration_ms=taken_ms)
    parts = tuple((str(name), _part(str(name), part)) for name, part in cast("Mapping[object, object]", answer).items())
    if not parts:
        raise NoAnswerError("it returned an empty mapping; return a score for each name")
    return OwnVerdict(None, duration_ms=taken_ms, parts=parts)


def _verdict(answer: object) -> OwnVerdict:
    match answer:
        case Verdict():
            return OwnVerdict(answer.passed, answer.score, answer.reason)
        case Score() if 0 <= answer.score <= 1:
            return OwnVerdict(answer.passed, float(answer.score), answer.reason, cost_usd=answer.cost_usd)
        case bool():
            return OwnVerdict(answer)
        case int() | float() if 0 <= answer <= 1:
            return OwnVerdict(passed=None, score=float(answer))
        case _:
            raise NoAnswerError(
                f"it returned {answer!r}; return a bool, a number from 0 to 1, a Score, a Verdict, or a mapping of them"
            )


def _part(name: str, answer: object) -> OwnVerdict:
    """The verdict under one name; a part that cannot be judged gives none."""
    if not name.strip():
        raise NoAnswerError("it returned a score without a name")
    try:
        part = _verdict(_plain(answer))
    except NoAnswerError as error:
        raise NoAnswerError(f"{name}: {error}") from None
    if part.passed is None and part.score is None:
        raise NoAnswerError(f"{name}: {part.reason or 'it cannot be judged'}")
    return part


def _shown(check: object) -> str:
    """A class or an object by the name of its class, a value as it is written."""
    kind = check if isinstance(check, type) else type(check)
    return repr(check) if kind.__module__ == "builtins" else f"{kind.__name__}{'' if kind is check else '()'}"
