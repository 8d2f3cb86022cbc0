"""Multi-turn simulations of openevals (LangSmith): a trajectory of messages, and what its evaluators said, as JSON or lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import AGENTS, USERS, content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under
from minions_evals_mcp.sessions.conversation import last_answer, without

NAME = "openevals"
ROLES = {**dict.fromkeys(USERS, "user"), **dict.fromkeys(AGENTS, "assistant")}


def is_simulation(seen: JsonValue) -> bool:
    """Whether a JSON value is what `run_multiturn_simulation` returns, or begins a list of them."""
    first = obj(next(iter(seen), None)) if isinstance(seen, list) else obj(seen)
    return "evaluator_results" in first and bool(listed_values(first.get("trajectory")))


def read(path: Path) -> Iterator[Item]:
    """A conversation for each simulation: its user's messages are the script, what was answered is its recorded output."""
    yield EvaluationLog(NAME, path.stem, NAME, own_id=False)
    for place, (where, row) in enumerate(rows_of(path, frozenset({""})), 1):
        yield _sample(row, place, where)


def _sample(row: Json, place: int, where: str) -> LogSample:
    messages = [_message(message) for message in objects_under(row, "trajectory", where)]
    texts = [content_text(message.get("content")) for message in messages if message.get("role") == "user"]
    said = [text for text in texts if text.strip()]  # a picture alone cannot be said again
    if not said:
        raise InvalidRecordError("a simulation has messages of a user", field="trajectory", where=where)
    scores = tuple(map(_score, objects_under(row, "evaluator_results", where)))
    produced = Produced(output=last_answer(messages), messages=tuple(messages), scores=scores)
    return LogSample(
        id=row.get("thread_id", place),
        inputs={"messages": [{"role": "user", "content": text} for text in said]},
        assertions=recorded_of(NAME, scores),
        extra=without(row, "trajectory", "evaluator_results"),
        produced=produced,
        where=where,
        conversation={"turns": [*said], "maxTurns": len(said)},
    )


def _message(message: Json) -> Json:
    """The message under the roles that chats have; LangChain's own messages name theirs in `type`."""
    role = str(message.get("role", message.get("type")))
    return {**message, "role": ROLES.get(role, role)}


def _score(result: Json) -> ForeignScore:
    value = result.get("score")
    passed = value if isinstance(value, bool) else None
    about = {"passed": passed, "explanation": result.get("comment"), **without(result, "key", "score", "comment")}
    return ForeignScore(str(result.get("key")), value, without(about))
