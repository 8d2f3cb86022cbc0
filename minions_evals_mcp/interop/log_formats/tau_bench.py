"""tau-bench's trajectories: what the customer wanted, the conversation with its calls, the gold actions and the reward."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.state_rule import state_rule, state_rule_check
from minions_evals_mcp.interop.logs.files import json_pieces
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks
from minions_evals_mcp.interop.logs.not_taken import repeated
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, SkippedSample
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.sessions.conversation import count, last_answer, number, without

NAME = "tau-bench"
REWARD = "reward"
MOST_UNORDERED = 8
"""More gold actions than that are wanted in their order: so many can be looked for in any."""


def is_trajectories(seen: JsonValue) -> bool:
    """Returns whether a JSON document is a list of trajectories."""
    first = obj(next(iter(listed_values(seen)), None))
    return {"task_id", "reward", "info"} <= first.keys()


def read(path: Path) -> Iterator[Item]:
    """Each trial of each task. Who the agent was is told by the file's name only."""
    yield EvaluationLog(
        NAME, path.stem, path.stem.rpartition("-")[2] or path.stem, path.stem.rpartition("-")[0], own_id=False
    )
    tasks = _tasks_of_errors(path)
    for fields, where in _rows(path):
        if not _is_error(fields):
            yield _sample(fields, where)
        elif (task := tasks.get(_task_id(fields))) is not None:
            yield _sample({**fields, "info": {**obj(fields.get("info")), "task": task}}, where)
        else:
            yield SkippedSample(
                f"a trial that ended in an error, of a task that no other trial describes: {_error(fields)}"
            )


def _rows(path: Path) -> Iterator[tuple[Json, str]]:
    for place, piece in enumerate(json_pieces(path, streamed=frozenset({""}))):
        yield the_object(piece.value, f"{path}: {place}"), f"{path}: {place}"


def _is_error(fields: Json) -> bool:
    """Whether tau-bench wrote the row for a trial that raised: it says the error and not the task."""
    info = obj(fields.get("info"))
    return "task" not in info and bool(info.get("error"))


def _error(fields: Json) -> str:
    return str(obj(fields.get("info")).get("error"))


def _task_id(fields: Json) -> str:
    return str(fields.get("task_id"))


def _tasks_of_errors(path: Path) -> dict[str, Json]:
    """The tasks of trials that ended in an error, as other trials describe them."""
    broken = {_task_id(fields) for fields, _ in _rows(path) if _is_error(fields)}
    if not broken:
        return {}
    return {
        _task_id(fields): task
        for fields, _ in _rows(path)
        if _task_id(fields) in broken and (task := obj(obj(fields.get("info")).get("task")))
    }


def _sample(fields: Json, where: str) -> LogSample:
    info = obj(fields.get("info"))
    task = obj(info.get("task"))
    if "task_id" not in fields or not isinstance(task.get("instruction"), str):
        raise InvalidRecordError("a trajectory has a task_id and the task's instruction", where=where)
    gold: list[JsonValue] = [
        {"name": action.get("name"), "args": obj(action.get("kwargs"))}
        for action in objects_under(task, "actions", where)
    ]
    more = [action for action in listed_values(task.get("actions")) if without(obj(action), "name", "kwargs")]
    steps: list[JsonValue] = [{"unordered": gold}] if len(gold) <= MOST_UNORDERED else gold
    measured: Json = {"type": "trajectory:match", "value": {"steps": steps}, "weight": 0, "metric": "gold actions"}
    inputs: Json = {"instruction": task["instruction"], "user_id": task.get("user_id")}
    return LogSample(
        id=fields["task_id"],
        inputs=without(inputs),
        epoch=(count(fields.get("trial")) or 0) + 1,
        name=f"task {fields['task_id']}",
        assertions=(*recorded_checks(NAME, [REWARD]), *([measured] if gold else ()), state_rule_check(NAME)),
        extra=without(
            {
                "outputs": task.get("outputs") or None,
                "actions": more or None,
                "task": without(task, "instruction", "user_id", "actions", "outputs") or None,
            }
        ),
        produced=_produced(fields, info, task),
        where=where,
    )


def _produced(fields: Json, info: Json, task: Json) -> Produced:
    messages = listed_values(fields.get("traj"))
    judged = obj(info.get("reward_info"))
    error = str(info["error"]) if info.get("error") else None
    gold = [(action.get("name"), obj(action.get("kwargs"))) for action in map(obj, listed_values(task.get("actions")))]
    reading = state_rule(messages, gold, listed_values(task.get("outputs")))
    return Produced(
        output=last_answer(messages),
        messages=tuple(messages),
        scores=()
        if error
        else (
            ForeignScore(
                REWARD,
                fields.get("reward"),
                without(judged, "name", "value", *repeated(judged, {"reward": fields.get("reward")})),
            ),
            reading,
        ),
        cost=number(info.get("agent_cost")),
        error=error,
        extra=without(
            {
                "rest": without(fields, "task_id", "reward", "info", "traj", "trial") or None,
                "info": without(info, "task", "reward_info") or None,
            }
        ),
    )
