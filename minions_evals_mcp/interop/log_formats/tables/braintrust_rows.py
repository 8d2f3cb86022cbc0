"""Braintrust's rows: spans of experiments and of logs, records of data sets; a page of its API or of BTQL, a list, or a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import grades, recorded_checks
from minions_evals_mcp.interop.logs.grouped_rows import first_row, groups
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, SkippedSample
from minions_evals_mcp.interop.logs.shapes import object_under
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, texts, without

NAME = "braintrust"
LISTS = frozenset({"", "events", "data"})
ORPHANS = "spans whose root is not in the file"
FAILED_SCORERS = "scorer_errors"
_TRACEBACK = "Traceback (most recent call last)"
_SPANS = {"root_span_id", "span_attributes"}
_READ = (
    "id", "input", "output", "expected", "error", "scores", "tags", "metadata", "metrics", "span_id", "root_span_id",
    "span_parents", "is_root", "span_attributes",
)  # fmt: skip
_COUNTED = ("start", "end", "prompt_tokens", "completion_tokens", "estimated_cost")


def is_rows(seen: JsonValue) -> bool:
    """Whether a JSON value is such a row, or begins a list or a page of them."""
    listed = seen if isinstance(seen, list) else obj(seen).get("events", obj(seen).get("data"))
    first = obj(next(iter(listed), None)) if isinstance(listed, list) else obj(seen)
    return "input" in first and ("_xact_id" in first or first.keys() >= _SPANS)


def read(path: Path) -> Iterator[Item]:
    """A sample for each trace, of its root span; a case for each record of a data set."""
    head, given = first_row(path, LISTS), _Given.of(path)
    yield EvaluationLog(NAME, path.stem, _task(head) or path.stem, own_id=False)
    tried: Counter[str] = Counter()
    for where, rows in groups(path, LISTS, _key):
        roots = [row for row in rows if _is_root(row)]
        if not roots:
            yield from (SkippedSample(ORPHANS) for _ in rows)
        tried.update({_asked(root) for root in roots})
        for root in roots:
            yield _sample(root, [row for row in rows if row is not root], given, tried[_asked(root)], where)


def _task(row: Json) -> str:
    """What several experiments have in common: the data set that a row comes from, else the project."""
    named = (obj(row.get("origin")).get("object_id"), *map(row.get, ("dataset_id", "project_id", "experiment_id")))
    return str(next((name for name in named if name), ""))


def _key(row: Json) -> str | None:
    key = row.get("root_span_id") or row.get("id")
    return key if isinstance(key, str) else None


def _is_root(row: Json) -> bool:
    if isinstance(row.get("is_root"), bool):
        return row["is_root"] is True
    return not listed_values(row.get("span_parents"))


def _asked(root: Json) -> str:
    """What makes two traces trials of one case."""
    return digest([root.get("input"), root.get("expected")])


@dataclass(frozen=True, slots=True)
class _Given:
    """What the scorers of the file gave: `grades` are those that give more than 0 and 1, for Braintrust knows no pass mark.

    `judging` are the others, by case: what a trial lacks has no verdict, and is not a smaller case.
    """

    grades: set[str] = field(default_factory=set[str])
    judging: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])

    @classmethod
    def of(cls, path: Path) -> _Given:
        """What the scorers of that file gave."""
        given = cls()
        for _, rows in groups(path, LISTS, _key):
            for root in filter(_is_root, rows):
                scored, failed = _scores(root, rows)
                given.grades.update(grades(scored.items()))
                has_say = [name for name, value in scored.items() if value is not None]
                given.judging.setdefault(_asked(root), {}).update(dict.fromkeys([*has_say, *failed]))
        return given

    def scorers(self, root: Json) -> list[str]:
        """The scorers that judge a case; of one that was never scored those that judge every other."""
        named = self.judging.get(_asked(root)) or self._everywhere()
        return [name for name in named if name not in self.grades] or [*named]

    def _everywhere(self) -> list[str]:
        listed = [names for names in self.judging.values() if names]
        return [name for name in listed[0] if all(name in names for names in listed)] if listed else []


def _scores(root: Json, rows: Sequence[Json]) -> tuple[Json, Json]:
    """The scores of a trace, which stand on its root or on spans of their own, and the errors of scorers that failed."""
    scored = {name: value for row in (*rows, root) for name, value in obj(row.get("scores")).items()}
    failed = obj(obj(root.get("metadata")).get(FAILED_SCORERS))
    return scored, {name: _message(error) for name, error in failed.items() if scored.get(name) is None}


def _message(error: JsonValue) -> str:
    """What an error says: the last line of Python's traceback, the message of an object."""
    said = str(obj(error).get("message") or error).strip()
    return said.splitlines()[-1] if said.startswith(_TRACEBACK) else said


def _sample(root: Json, below: Sequence[Json], given: _Given, epoch: int, where: str) -> LogSample:
    if "input" not in root:
        raise InvalidRecordError("a row has an input", field="input", where=where)
    object_under(root, "scores", where)
    expected = root.get("expected")
    wanted = texts(expected)
    plain: Json | None = {"output": wanted[0]} if len(wanted) == 1 else None
    asked = root["input"]
    return LogSample(
        id=root.get("id"),
        case="",
        inputs=inputs_of(asked["messages"] if isinstance(asked, dict) and [*asked] == ["messages"] else asked),
        epoch=epoch,
        targets=wanted,
        expected=expected if isinstance(expected, dict) and expected else plain,
        assertions=recorded_checks(NAME, given.scorers(root)),
        extra=without({"metadata": without(obj(root.get("metadata")), FAILED_SCORERS) or None}),
        produced=_produced(root, below, _foreign(root, below, given)) if _is_answered(root) else None,
        where=where,
        tags=texts(root.get("tags")),
    )


def _foreign(root: Json, below: Sequence[Json], given: _Given) -> tuple[ForeignScore, ...]:
    scored, failed = _scores(root, below)
    return tuple(
        ForeignScore(name, scored.get(name), without({
            "isGrade": True if name in given.grades else None, "error": failed.get(name),
        }))
        for name in dict.fromkeys([*scored, *failed])
    )  # fmt: skip


def _is_answered(root: Json) -> bool:
    """Whether the row is a span, be it one that failed; a record of a data set is only asked for."""
    return "span_attributes" in root or any(root.get(name) is not None for name in ("output", "error"))


def _produced(root: Json, below: Sequence[Json], scores: tuple[ForeignScore, ...]) -> Produced:
    metrics = obj(root.get("metrics"))
    started, ended = number(metrics.get("start")), number(metrics.get("end"))
    said, error = root.get("output"), root.get("error")
    called = sorted(
        (row for row in below if _kind(row) == "tool"),
        key=lambda row: number(obj(row.get("metrics")).get("start")) or 0,
    )
    return Produced(
        output=(last_answer(said) or said) if isinstance(said, list) else said,
        messages=tuple(said) if isinstance(said, list) and last_answer(said) else (),
        tools=tuple(map(_call, called)) if below else None,
        scores=() if error else scores,
        started=root.get("created") if started is None else started,
        completed=ended,
        input_tokens=count(metrics.get("prompt_tokens")),
        output_tokens=count(metrics.get("completion_tokens")),
        cost=number(metrics.get("estimated_cost")),
        latency_ms=None if started is None or ended is None else (ended - started) * 1000,
        error=_message(error) if error else None,
        extra=without(
            {
                "traceback": error if error and _message(error) != error else None,
                "rest": without(root, *_READ) or None,
                "metrics": without(metrics, *_COUNTED) or None,
                "span": obj(root.get("span_attributes")) or None,
                "spansBelow": len(below) or None,
            }
        ),
    )


def _kind(row: Json) -> JsonValue:
    return obj(row.get("span_attributes")).get("type")


def _call(row: Json) -> Json:
    given = row.get("input")
    arguments: Json = obj(given) if isinstance(given, dict) else {} if given is None else {"input": given}
    return without({
        "tool": str(obj(row.get("span_attributes")).get("name") or "tool"), "arguments": arguments, "result": row.get("output"),
        "error": _message(row["error"]) if row.get("error") else None, "id": row.get("id"),
    })  # fmt: skip
