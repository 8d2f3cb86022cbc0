"""LangSmith's exports by its documented schema: runs (of which those without a parent are samples) and examples of data sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import grades, recorded_checks
from minions_evals_mcp.interop.logs.grouped_rows import first_row, groups, rows_of
from minions_evals_mcp.interop.logs.records import moment
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, SkippedSample
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, objects, texts, without

NAME = "langsmith"
LISTS = frozenset({"", "runs", "examples"})
ORPHANS = "runs whose root is not in the file"
_READ = (
    "id", "trace_id", "parent_run_id", "name", "inputs", "outputs", "error", "start_time", "end_time", "prompt_tokens",
    "completion_tokens", "total_cost", "feedback_stats", "feedback", "child_runs",
)  # fmt: skip

_OF_EXAMPLE = frozenset((
    "id", "name", "inputs", "outputs", "metadata", "split", "created_at", "modified_at", "source_run_id", "attachments",
))  # fmt: skip
_TOLD_USER = ("instructions", "simulated_user_prompt", "persona", "user_persona", "user_prompt")
"""What an example's simulated user is told; `instructions` only beside the user's first message, as in LangSmith's airline set."""
_FIXED = ("turns", "fixed_responses", "user_messages")


def is_export(seen: JsonValue) -> bool:
    """Returns whether a JSON value is an export of runs or examples, or its first row."""
    listed = seen if isinstance(seen, list) else obj(seen).get("runs", obj(seen).get("examples"))
    first = obj(next(iter(listed), None)) if isinstance(listed, list) else obj(seen)
    return "run_type" in first or _is_example(first)


def _is_example(row: Json) -> bool:
    """Whether the row is an example: by its data set, else by its mappings and by having nothing that no example has."""
    if "run_type" in row:
        return False
    mapped = isinstance(row.get("inputs"), dict) and isinstance(row.get("outputs"), dict)
    return ("dataset_id" in row and "inputs" in row) or (mapped and row.keys() <= _OF_EXAMPLE)


def _key(row: Json) -> str | None:
    key = row.get("trace_id") or (row.get("id") if not row.get("parent_run_id") else None)
    return key if isinstance(key, str) else None


def read(path: Path) -> Iterator[Item]:
    """A sample for each root run, and each example."""
    yield EvaluationLog(NAME, path.stem, _task(first_row(path, LISTS)) or path.stem, own_id=False, known_samples=True)
    given = _Given.of(path)
    for where, rows in groups(path, LISTS, _key):
        if _is_example(rows[0]):
            yield from (_example(row, where) for row in rows)
            continue
        if _key(rows[0]) is None:
            raise InvalidRecordError("a run has an id, and its trace_id is a text", where=where)
        roots = [row for row in rows if not row.get("parent_run_id")]
        if not roots:
            yield from (SkippedSample(ORPHANS) for _ in rows)
        for root in roots:
            yield _sample(root, rows, given, where)


def _task(row: Json) -> str:
    """The data set that the rows belong to, else their project."""
    names = ("reference_dataset_id", "dataset_id", "session_name", "session_id")
    return str(next((value for name in names if (value := row.get(name))), ""))


def _example(row: Json, where: str) -> LogSample:
    inputs, outputs = obj(row.get("inputs")), obj(row.get("outputs"))
    talk = _conversation(inputs)
    fits = outputs and "" not in outputs.values()
    if talk is not None:  # what is expected of a whole conversation is no text to compare one answer with
        outcome = "\n".join(texts([*outputs.values()]))
        return LogSample(
            id=row.get("id"), inputs=inputs, assertions=({"type": "llm-rubric", "value": outcome},) if outcome else (),
            extra=without(row, "id", "inputs", "outputs"), where=where, conversation=talk,
        )  # fmt: skip
    return LogSample(
        id=row.get("id"), inputs=inputs, expected=outputs if fits else None,
        targets=texts([*outputs.values()]), extra=without(row, "id", "inputs", "outputs"), where=where,
    )  # fmt: skip


def _conversation(inputs: Json) -> Json | None:
    """How the user of a multi-turn example is played: as its instructions say, or by its fixed messages."""
    lists = [listed for name in _FIXED if (listed := listed_values(inputs.get(name)))]
    fixed = lists[0] if lists else ()
    if fixed and all(isinstance(text, str) and text.strip() for text in fixed):
        return {"turns": [*fixed], "maxTurns": len(fixed)}
    told = next((text for name in _TOLD_USER if isinstance(text := inputs.get(name), str) and text.strip()), None)
    if told is None:
        return None
    said = [message.get("content") for message in objects(inputs.get("messages")) if message.get("role") == "user"]
    opening = next((text for text in (inputs.get("input"), *said[:1]) if isinstance(text, str) and text), None)
    own_words = any(inputs.get(name) == told for name in _TOLD_USER[1:])
    if opening is None and not own_words:
        return None  # instructions alone are those of the agent
    return without({"player": "model", "goal": told, "opening": opening})


@dataclass(frozen=True, slots=True)
class _Given:
    """What the evaluators of the file's experiments gave: `grades` are feedback that is more than 0 and 1; the rest judges."""

    grades: frozenset[str]
    judging: dict[str, dict[str, None]]

    @classmethod
    def of(cls, path: Path) -> _Given:
        """What the evaluators of that file gave."""
        judging: dict[str, dict[str, None]] = {}
        found = frozenset[str]()
        for where, row in rows_of(path, LISTS):
            scores = [*_scores(row, where)] if _is_of_experiment(row) else []
            found |= grades((score.name, score.value) for score in scores)
            judging.setdefault(str(row.get("session_id")), {}).update(
                (score.name, None) for score in scores if score.value is not None
            )
        return cls(found, judging)

    def checks(self, root: Json) -> tuple[Json, ...]:
        """The feedback that judges every run of an experiment; what people and monitors say of traces judges none."""
        named = self.judging.get(str(root.get("session_id")), {}) if _is_of_experiment(root) else {}
        return recorded_checks(NAME, [name for name in named if name not in self.grades] or [*named])

    def scores(self, root: Json, where: str) -> Iterator[ForeignScore]:
        """The recorded feedback of a run."""
        for score in _scores(root, where):
            graded = score.name in self.grades and _is_of_experiment(root)
            yield replace(score, about={**score.about, "isGrade": True}) if graded else score


def _is_of_experiment(row: Json) -> bool:
    return bool(row.get("reference_example_id")) and not row.get("parent_run_id")


def _sample(root: Json, rows: list[Json], given: _Given, where: str) -> LogSample:
    if not isinstance(root.get("inputs"), dict):
        raise InvalidRecordError("a run has inputs", where=where)
    below = sorted(
        [*(row for row in rows if row is not root), *nested_runs(root)], key=lambda row: str(row.get("start_time", ""))
    )
    inputs = obj(root["inputs"])
    return LogSample(
        id=root.get("id"),
        case=str(root.get("reference_example_id") or ""),
        inputs=inputs_of(inputs["messages"])
        if isinstance(inputs.get("messages"), list) and len(inputs) == 1
        else inputs,
        name=str(root.get("name") or ""),
        group=_thread(root),
        assertions=given.checks(root),
        produced=Produced(
            output=output_of(obj(root.get("outputs"))),
            tools=tuple(call_of(row) for row in below if row.get("run_type") == "tool"),
            scores=tuple(given.scores(root, where)),
            agent=str(root.get("name") or ""),
            started=root.get("start_time"),
            completed=root.get("end_time"),
            input_tokens=count(root.get("prompt_tokens")),
            output_tokens=count(root.get("completion_tokens")),
            cost=number(root.get("total_cost")),
            error=str(root["error"]) if root.get("error") else None,
            extra=without({"rest": without(root, *_READ) or None, "runsBelow": len(below) or None}),
        ),
        where=where,
    )


def _thread(root: Json) -> str:
    """The conversation that the run is part of, as its metadata names it."""
    metadata = obj(obj(root.get("extra")).get("metadata"))
    return str(next((metadata[key] for key in ("thread_id", "session_id", "conversation_id") if metadata.get(key)), ""))


def nested_runs(run: Json) -> Iterator[Json]:
    """The runs that stand within it, whoever made them."""
    for child in objects(run.get("child_runs")):
        yield child
        yield from nested_runs(child)


def output_of(outputs: Json) -> JsonValue:
    """The output: its only value, the last thing that was said, else the whole of it."""
    messages = outputs.get("messages")
    if isinstance(messages, list):
        return last_answer(messages) or outputs
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs or None


def call_of(row: Json) -> Json:
    """The run of a tool as a tool call."""
    call: Json = {
        "tool": row.get("name") or "tool", "arguments": obj(row.get("inputs")), "result": output_of(obj(row.get("outputs"))),
        "error": row.get("error"), "id": row.get("id"), "parentId": row.get("parent_run_id"), "startedAt": moment(row.get("start_time")),
    }  # fmt: skip
    return without(call)


def _scores(root: Json, where: str) -> Iterator[ForeignScore]:
    """Feedback, given one by one or summed up."""
    for score in objects_under(root, "feedback", where):
        about = {"explanation": score.get("comment"), **without(score, "key", "score", "value", "comment")}
        yield ForeignScore(str(score.get("key")), score.get("score", score.get("value")), without(about))
    for name, stats in object_under(root, "feedback_stats", where).items():
        yield ForeignScore(name, obj(stats).get("avg"), without({"summedUp": True, **without(obj(stats), "avg")}))
