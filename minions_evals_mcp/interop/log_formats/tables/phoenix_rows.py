"""Runs of a Phoenix experiment, as its page and its API download them: each with what its evaluators annotated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.logs.foreign_checks import grades, recorded_checks, recorded_of
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under
from minions_evals_mcp.scoring.foreign.recorded import WORDS
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, texts, without

NAME = "phoenix-experiment"
LISTS = frozenset({""})
_KEYS = {"example_id", "repetition_number", "reference_output", "annotations"}
_READ = (
    "example_id", "repetition_number", "input", "reference_output", "output", "error", "latency_ms", "start_time", "end_time",
    "prompt_token_count", "completion_token_count", "annotations",
)  # fmt: skip


def is_runs(seen: JsonValue) -> bool:
    """Whether a JSON value is such a run, or begins a list of them."""
    first = obj(next(iter(seen), None)) if isinstance(seen, list) else obj(seen)
    return first.keys() >= _KEYS


def read(path: Path) -> Iterator[Item]:
    """A sample for each run; repetitions of an example are its epochs."""
    yield EvaluationLog(NAME, path.stem, NAME, own_id=False)
    given = _Given.of(path)
    for where, row in rows_of(path, LISTS):
        yield _sample(row, given, where)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the evaluators of the file gave: those of which a verdict is known, and which scores are more than 0 and 1."""

    deciding: tuple[str, ...]
    grades: frozenset[str]

    @classmethod
    def of(cls, path: Path) -> _Given:
        """What the evaluators of that file gave."""
        graded, verdicts = frozenset[str](), dict[tuple[str, bool], None]()
        for where, row in rows_of(path, LISTS):
            for note in objects_under(row, "annotations", where):
                name = str(note.get("name"))
                graded |= grades([(name, note.get("score"))])
                if _has_verdict(note, frozenset()):
                    verdicts[name, _says_verdict(note)] = None
        return cls(tuple(dict.fromkeys(name for name, said in verdicts if said or name not in graded)), graded)

    def score(self, note: Json) -> ForeignScore:
        """What an evaluator said of a run."""
        name, word = str(note.get("name")), _word(note)
        about: Json = {**without(note, "name", "score"), "passed": None if word is None else word == 1.0}
        is_grade = not note.get("error") and not _has_verdict(note, self.grades)
        return ForeignScore(name, note.get("score"), without({**about, "isGrade": True if is_grade else None}))


def _word(note: Json) -> float | None:
    """What its label says, where that is a word for right or wrong; what people say is no verdict, and a letter is a choice."""
    label, is_person = str(note.get("label")).strip().lower(), note.get("annotator_kind") == "HUMAN"
    return None if is_person or len(label) == 1 else WORDS.get(label)


def _has_verdict(note: Json, graded: frozenset[str]) -> bool:
    """Whether it says right or wrong: by such a label, or as code that gives 0 or 1. Of a model's score nobody knows what is good."""
    is_code = note.get("annotator_kind") == "CODE" and str(note.get("name")) not in graded
    return _says_verdict(note) or (is_code and note.get("score") in (0, 1))


def _says_verdict(note: Json) -> bool:
    return _word(note) in (0.0, 1.0)


def _sample(row: Json, given: _Given, where: str) -> LogSample:
    scores = tuple(given.score(note) for note in objects_under(row, "annotations", where))
    reference = row.get("reference_output")
    wanted = texts([*reference.values()] if isinstance(reference, dict) else reference)
    return LogSample(
        id=row.get("example_id"),
        inputs=inputs_of(row.get("input")),
        epoch=count(row.get("repetition_number")) or 1,
        targets=wanted,
        expected=reference if isinstance(reference, dict) and reference else None,
        assertions=recorded_checks(NAME, given.deciding) or recorded_of(NAME, scores),
        produced=_produced(row, scores),
        where=where,
    )


def _produced(row: Json, scores: tuple[ForeignScore, ...]) -> Produced:
    said = row.get("output")
    talk = said if isinstance(said, list) and last_answer(said) else []
    return Produced(
        output=last_answer(talk) if talk else said,
        messages=tuple(talk),
        scores=scores,
        started=row.get("start_time"),
        completed=row.get("end_time"),
        input_tokens=count(row.get("prompt_token_count")),
        output_tokens=count(row.get("completion_token_count")),
        latency_ms=number(row.get("latency_ms")),
        error=str(row["error"]) if row.get("error") else None,
        extra=without({"rest": without(row, *_READ) or None}),
    )
