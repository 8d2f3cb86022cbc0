"""tau-bench's trajectories: what the customer wanted, the conversation with its calls, the gold actions and the reward."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.conversation import count, last_answer, number, without
from minions_evals_mcp.interop.logs.files import json_pieces
from minions_evals_mcp.interop.logs.sample import ForeignScore, Item, Log, Produced, Sample
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object

NAME = "tau-bench"
MOST_UNORDERED = 8
"""More gold actions than that are wanted in their order: so many can be looked for in any."""


def is_trajectories(seen: JsonValue) -> bool:
    """Returns whether a JSON document is a list of trajectories."""
    first = obj(next(iter(listed_values(seen)), None))
    return {"task_id", "reward", "info"} <= first.keys()


def read(path: Path) -> Iterator[Item]:
    """Each trial of each task. Who the agent was is told by the file's name only."""
    yield Log(NAME, path.stem, path.stem.rpartition("-")[2] or path.stem, path.stem.rpartition("-")[0])
    for place, piece in enumerate(json_pieces(path, streamed=frozenset({""}))):
        yield _sample(the_object(piece.value, f"{path}: {place}"), f"{path}: {place}")


def _sample(fields: Json, where: str) -> Sample:
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
    check: Json = {"type": "trajectory:match", "value": {"steps": steps}}
    inputs: Json = {"instruction": task["instruction"], "user_id": task.get("user_id")}
    return Sample(
        id=fields["task_id"],
        inputs=without(inputs),
        epoch=(count(fields.get("trial")) or 0) + 1,
        name=f"task {fields['task_id']}",
        assertions=(check,) if gold else (),
        extra=without(
            {
                "outputs": task.get("outputs") or None,
                "actions": more or None,
                "task": without(task, "instruction", "user_id", "actions", "outputs") or None,
            }
        ),
        produced=_produced(fields, info),
        where=where,
    )


def _produced(fields: Json, info: Json) -> Produced:
    messages = listed_values(fields.get("traj"))
    judged = obj(info.get("reward_info"))
    return Produced(
        output=last_answer(messages),
        messages=tuple(messages),
        scores=(ForeignScore("reward", fields.get("reward"), without(judged, "name", "value", "reward")),),
        cost=number(info.get("agent_cost")),
        error=str(info["error"]) if info.get("error") else None,
        extra=without(
            {
                "rest": without(fields, "task_id", "reward", "info", "traj", "trial") or None,
                "info": without(info, "task", "reward_info") or None,
            }
        ),
    )
