"""Prompt scoring: one case, all cases of a prompt, and two versions on the same cases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio

from minions_evals_mcp.embedding.local import wordllama_embedder
from minions_evals_mcp.engine.context import Engine, wall_clock
from minions_evals_mcp.engine.judge.door import Judges, judge
from minions_evals_mcp.engine.prompt_scoring.calling import answered, form_for
from minions_evals_mcp.engine.prompt_scoring.cases import Given, case_of, prompt_of, shelf_in, shelf_of
from minions_evals_mcp.errors import BadInputError, EvalsError, InstrumentError, first_of
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.checks import Subject, Unchecked
from minions_evals_mcp.scoring.prompt_scoring import (
    TIE_THRESHOLD,
    ComparisonResult,
    TestResult,
    TestSuiteResult,
    case_result,
    comparison,
    given_score,
    possible_total,
    suite_result,
    vetted_tie_threshold,
)
from minions_evals_mcp.scoring.prompt_shelf import Shelf, ShelfCase, ShelfPrompt
from minions_evals_mcp.scoring.prompt_texts.version_text import render
from minions_evals_mcp.scoring.verdicts.examination import Expectation
from minions_evals_mcp.scoring.verdicts.expected import expectation
from minions_evals_mcp.store.database import open_store

CONCURRENCY = 16
"""How many cases are under way at once."""

Llm = Callable[[str], str | Awaitable[str]]
"""From a rendered prompt to the raw response."""

Clock = Callable[[], datetime]
Storage = Engine | Path | str | Iterable[object]
"""An open engine, a store's path, or any iterable or mapping of records, relations and the documented plain mappings."""


Evaluator = Callable[..., float | Awaitable[float]]
"""A user's own judge, from 0 to the case's maxScore: `evaluator(response=…, test_case=…)`, or of one mapping with both.

The test case has the documented keys.
"""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A case that is ready to be tried: everything that could be wrong with the request has been looked at."""

    prompt_id: str
    case: ShelfCase
    rendered: str


@dataclass(frozen=True, slots=True)
class _Means:
    """The means of a trial."""

    llm: Llm
    evaluator: Evaluator | None
    judges: Judges
    clock: Clock


async def run_test(*, prompt: Given, test_case: Given, llm: Llm, evaluator: Evaluator | None = None) -> TestResult:
    """The case tried under the prompt: rendered with its input, answered by `llm`, scored.

    Without an `evaluator` the response gets the whole maxScore where it contains the expected text (any case) or
    matches the expected `/pattern/`, else 0. Raises `BadInputError` before `llm` is asked, `InstrumentError` where
    `llm` or the evaluator fails: no score is invented.
    """
    trial = _trial(prompt_of(prompt), case_of(test_case), evaluator)
    (result,) = await _results([trial], llm, evaluator, wall_clock)
    return result


async def run_test_suite(
    *, prompt_id: str, storage: Storage, llm: Llm, evaluator: Evaluator | None = None
) -> TestSuiteResult:
    """All active cases of the prompt, tried; results stand in the order of the cases.

    `prompt_id` is a version's id, or a chain's promptId for its latest version. Raises as `run_test` does, and
    `BadInputError` where there are no cases or all have maxScore 0.
    """
    shelf, clock = await _opened(storage)
    prompt = shelf.prompt(prompt_id)
    trials = _trials(prompt, shelf.cases_of(prompt), evaluator)
    results = await _results(trials, llm, evaluator, clock)
    return suite_result(prompt.id, results, at=clock())


async def compare_versions(
    *,
    prompt_id_a: str,
    prompt_id_b: str,
    storage: Storage,
    llm: Llm,
    tie_threshold: float = TIE_THRESHOLD,
    evaluator: Evaluator | None = None,
) -> ComparisonResult:
    """Both versions on the same cases: those of their common chain's promptId, else all that name either.

    The winner is the documented signal: it follows the score alone, and on few cases noise can name one.
    Raises as `run_test_suite` does.
    """
    threshold = vetted_tie_threshold(tie_threshold)
    shelf, clock = await _opened(storage)
    a, b = shelf.prompt(prompt_id_a), shelf.prompt(prompt_id_b)
    cases = shelf.shared_cases(a, b)
    trials = [*_trials(a, cases, evaluator), *_trials(b, cases, evaluator)]
    results = await _results(trials, llm, evaluator, clock)
    at = clock()
    return comparison(
        suite_result(a.id, results[: len(cases)], at=at),
        suite_result(b.id, results[len(cases) :], at=at),
        tie_threshold=threshold,
    )


async def _opened(storage: Storage) -> tuple[Shelf, Clock]:
    """Returns what the storage holds, and the clock to go by."""
    if isinstance(storage, Engine):
        return await storage.store.read(shelf_in), storage.clock
    if isinstance(storage, str | Path):
        async with open_store(Path(storage), read_only=True) as store:
            return await store.read(shelf_in), wall_clock
    return shelf_of(storage), wall_clock


def _trials(prompt: ShelfPrompt, cases: Sequence[ShelfCase], evaluator: Evaluator | None) -> list[_Trial]:
    possible_total((case.max_score for case in cases), prompt_id=prompt.id)
    return [_trial(prompt, case, evaluator) for case in cases]


def _trial(prompt: ShelfPrompt, case: ShelfCase, evaluator: Evaluator | None) -> _Trial:
    """The case made ready; raises `BadInputError` for what no response could be scored by."""
    if evaluator is None:
        _vet_expected(case)
    try:
        rendered = render(prompt.content, case.variables)
    except BadInputError as error:
        raise BadInputError(
            f"prompt {prompt.id!r} with test case {case.id!r}: {error.message_text}", remedy=error.remedy_text
        ) from None
    return _Trial(prompt.id, case, rendered)


def _vet_expected(case: ShelfCase) -> None:
    place = f"test case {case.id!r}"
    if case.expected is None:
        raise BadInputError(f"{place} has no expectedOutput.", remedy="Give it one, or give an evaluator.")
    if len(case.expected) != 1:
        raise BadInputError(
            f"{place} expects {len(case.expected)} keys, and a response is one text.", remedy="Give an evaluator."
        )
    (expected,) = case.expected.values()
    if expected == "":
        raise BadInputError(f'{place} expects "", which every response contains.', remedy="Give an evaluator.")
    vet(expectation(expected), at=place)


async def _results(trials: Sequence[_Trial], llm: Llm, evaluator: Evaluator | None, clock: Clock) -> list[TestResult]:
    """The results in the order of the trials, a bounded number under way; the first error ends them all."""
    if evaluator is not None and form_for(evaluator, "", {}) is None:
        raise BadInputError(
            "the evaluator does not accept the arguments it is called with.",
            remedy="It must accept response and test_case by name, or one mapping with response and testCase.",
        )
    results: dict[int, TestResult] = {}
    todo = iter(enumerate(trials))
    try:
        async with RegexSandbox() as regexes, Snippets() as snippets, anyio.create_task_group() as tasks:
            means = _Means(llm, evaluator, Judges(regexes, snippets, wordllama_embedder), clock)
            for _ in range(min(CONCURRENCY, len(trials))):
                tasks.start_soon(_work, todo, means, results)
    except BaseExceptionGroup as group:
        first = first_of(group)
        raise first from first.__cause__  # with the traceback of the user's function
    return [results[number] for number in range(len(trials))]


async def _work(todo: Iterator[tuple[int, _Trial]], means: _Means, results: dict[int, TestResult]) -> None:
    for number, trial in todo:
        results[number] = await _result(trial, means)


async def _result(trial: _Trial, means: _Means) -> TestResult:
    response = await _response(trial, means.llm)
    if means.evaluator is None:
        score = await _matched(trial.case, response, means.judges)
    else:
        score = await _evaluated(trial.case, response, means.evaluator)
    return case_result(
        test_case_id=trial.case.id,
        prompt_id=trial.prompt_id,
        response=response,
        score=score,
        max_score=trial.case.max_score,
        at=means.clock(),
    )


async def _response(trial: _Trial, llm: Llm) -> str:
    try:
        reply = await answered(llm, trial.rendered)
    except Exception as error:  # a user's function may raise anything
        raise _failed(trial.case, f"the llm failed under the prompt {trial.prompt_id!r}", error) from error
    if not isinstance(reply, str):
        raise InstrumentError(f"test case {trial.case.id!r}: the llm returned {type(reply).__name__}, not a string.")
    return reply


async def _evaluated(case: ShelfCase, response: str, evaluator: Evaluator) -> float:
    try:
        form = form_for(evaluator, response, case.documented())
        assert form is not None, "vetted before"
        result = await answered(evaluator, *form[0], **form[1])
    except Exception as error:  # a user's function may raise anything
        raise _failed(case, "the evaluator failed", error) from error
    return given_score(result, case.max_score, test_case_id=case.id)


def _failed(case: ShelfCase, what: str, error: Exception) -> InstrumentError:
    reason = str(error) if isinstance(error, EvalsError) else f"{type(error).__name__}: {error}"
    return InstrumentError(f"test case {case.id!r}: {what}: {reason}")


async def _matched(case: ShelfCase, response: str, judges: Judges) -> float:
    """maxScore where the response has what was expected, else 0; raises where that cannot be told."""
    assert case.expected is not None, "vetted before"
    (result,) = await judge([Expectation(case.expected, {"output": response}, Subject(response))], judges)
    if isinstance(result, Unchecked):
        raise InstrumentError(f"test case {case.id!r}: the expected output could not be searched for: {result.reason}")
    return case.max_score if result.passed else 0.0
