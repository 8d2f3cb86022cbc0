"""The likeness of an output to what its case expected: measured before anybody judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from minions_evals_mcp.domain.definitions import Fields, Json, TestCase
from minions_evals_mcp.domain.outcomes import Expected, Observed
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.embedding.local import local_embedder
from minions_evals_mcp.embedding.tokens import token_counts
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import similarities
from minions_evals_mcp.engine.judge.yardstick import case_digest, expected_of
from minions_evals_mcp.scoring.checks import SimilarityNeed, Unmet
from minions_evals_mcp.scoring.likeness.similarity import normalised
from minions_evals_mcp.scoring.verdicts.history import Compared, Likeness, compared, likeness
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.expected_outputs import expected_outputs, keep_expected

F = TypeVar("F", bound=Fields)


def expects_text(case: TestCase) -> bool:
    """Returns whether outputs of the case are compared with a text; a pattern is looked for instead."""
    return expected_of(case) is not None


async def with_likeness(engine: Engine, records_read: Sequence[Record[F]]) -> list[Record[F]]:
    """The same records, the likeness of test-runs measured that was put off.

    What cannot be measured here (the embedder is not installed) stays unknown.
    """
    runs = {
        record.id: record.fields
        for record in records_read
        if isinstance(record.fields, TestRun) and _lacks_likeness(record.fields)
    }
    if not runs:
        return list(records_read)
    digests = {ident: run.digests.test_case or "" for ident, run in runs.items()}
    expected = await engine.store.read(lambda db: _expected_then(db, runs.values()))
    texts = {ident: _texts(expected.get(digests[ident]), run.actual_output) for ident, run in runs.items()}
    measured: dict[str, Likeness] = {}
    for name in dict.fromkeys(run.digests.embedder or "" for run in runs.values()):
        idents = [ident for ident, run in runs.items() if run.digests.embedder == name]
        several = await likenesses([texts[ident] for ident in idents], _embedder(engine, name))
        measured |= {
            ident: measured_one for ident, measured_one in zip(idents, several, strict=True) if measured_one is not None
        }
    return [_completed(record, measured.get(record.id)) for record in records_read]


def _expected_then(db: Db, runs: Iterable[TestRun]) -> dict[str, Expected]:
    """What the cases of the runs expected, by the digests of the cases as they were: as it stands, or as it was kept at an edit."""
    case_of = {run.digests.test_case or "": run.test_case_id for run in runs}
    expected_by_digest = expected_outputs(db, case_of)
    idents = {ident for wanted, ident in case_of.items() if wanted not in expected_by_digest}
    for case in records.get_all(db, idents, TestCase).values():
        expected_by_digest |= _expected_under_digest(case)
    return expected_by_digest


def _expected_under_digest(case: Record[TestCase]) -> dict[str, Expected]:
    expected = expected_of(case.fields)
    return {} if expected is None else {case_digest(case): expected}


def keep_former(db: Db, former: Record[TestCase], case: Record[TestCase]) -> None:
    """Keeps what the case expected before an edit, for the likeness of its runs that is measured when they are first read."""
    if case_digest(former) != case_digest(case):
        keep_expected(db, _expected_under_digest(former))


def _lacks_likeness(run: TestRun) -> bool:
    return run.exact_match is None and run.digests.embedder is not None and run.outcome == "scored"


def _completed(record: Record[F], alike: Likeness | None) -> Record[F]:
    if alike is None:
        return record
    return replace(record, fields=record.fields.model_copy(update=metrics_of(alike)))


def metrics_of(alike: Likeness) -> dict[str, object]:
    """Returns what a test-run says of its likeness, by field."""
    return {
        "exact_match": alike.exact_match, "semantic_score": alike.semantic_score, "length_diff": alike.length_diff,
        "token_diff": alike.token_diff, "output_diff": alike.output_diff, "warnings": alike.warnings,
    }  # fmt: skip


def _embedder(engine: Engine, name: str) -> Callable[[], Embedder]:
    return engine.embedder if engine.embedder().name == name else lambda: local_embedder(name)


def _texts(expected: Expected | None, output: Json) -> Compared | None:
    return None if expected is None else compared(expected.outputs, output, patterns=expected.patterns)


def compared_texts(expected: Expected | None, seen: Observed) -> Compared | None:
    """The texts whose likeness is measured, None where none is expected; what timed out or failed produced nothing."""
    return _texts(expected, {} if seen.timed_out or seen.agent_error is not None else seen.output)


async def likenesses(texts: Sequence[Compared | None], embedder: Callable[[], Embedder]) -> list[Likeness | None]:
    """The metrics of each pair of texts, in one go for all. Equal texts are not embedded, and not counted."""
    unlike = list(dict.fromkeys(text for text in texts if text is not None and text.expected != text.actual))
    measured = await _measured(unlike, embedder)
    counted = await _counted(unlike)
    return [
        None if text is None else likeness(text, measured.get(text, ()), tokens=counted.get(text, (0, 0)))
        for text in texts
    ]


async def _counted(texts: Sequence[Compared]) -> dict[Compared, tuple[int, int]]:
    """The tokens of what was expected and of what came."""
    counts = iter(
        await token_counts([text for pair in texts for text in (pair.expected, pair.actual)]) if texts else ()
    )
    return dict(zip(texts, zip(counts, counts, strict=True), strict=True))


async def likeness_of(engine: Engine, case: TestCase, seen: Observed) -> Likeness | None:
    """The metrics of one output, None where its case expects no text."""
    (alike,) = await likenesses([compared_texts(expected_of(case), seen)], engine.embedder)
    return alike


async def _measured(texts: Sequence[Compared], embedder: Callable[[], Embedder]) -> dict[Compared, list[float] | str]:
    """The similarities of the unequal pairs of each after normalisation, or why they could not be measured.

    No embedder is opened for none.
    """
    pairs = {
        text: [SimilarityNeed(normalised(actual), normalised(expected)) for expected, actual in text.unequal]
        for text in texts
    }
    needs = [need for several in pairs.values() for need in several if need.text != need.other]
    similarities_found = await similarities(needs, embedder()) if needs else {}
    return {text: _values([similarities_found.get(need, 1.0) for need in several]) for text, several in pairs.items()}


def _values(measured: Sequence[float | Unmet]) -> list[float] | str:
    return next(
        (measured.reason for measured in measured if isinstance(measured, Unmet)),
        [measured for measured in measured if isinstance(measured, float)],
    )
