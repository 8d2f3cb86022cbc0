"""tau2-bench's tasks: a user with a goal, and what the agent must have called and said by the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import AGENT_TURNS
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.state_rule import changes
from minions_evals_mcp.interop.log_formats.tau_bench import MOST_UNORDERED
from minions_evals_mcp.interop.logs.grouped_rows import first_row, rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, SkippedSample
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import without

NAME = "tau2-tasks"
TASKS = "tasks"
LISTS = frozenset({"", TASKS})
PREPARED = "tasks that start from a prepared state, which only tau2-bench can make"
USERS_TOOLS = "tasks whose user has tools, which only tau2-bench can offer"
OWN_CODE = "tasks that are judged by code of tau2-bench alone"
_TOLD = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def is_tasks(seen: JsonValue) -> bool:
    """Whether a JSON document is tasks of tau2-bench, one of them, or begins a list of them."""
    listed = seen if isinstance(seen, list) else listed_values(obj(seen).get("tasks")) or [seen]
    return {"user_scenario", "evaluation_criteria"} <= obj(next(iter(listed), None)).keys()


def read(path: Path) -> Iterator[Item]:
    """A conversation for each task whose user a model can play and whose end can be judged without tau2-bench's code."""
    yield EvaluationLog(NAME, path.stem, _domain(path), own_id=False)
    splits = _splits(path)
    met: set[str] = set()
    for where, task in rows_of(path, LISTS):
        ident = str(task.get("id"))
        if ident in met:
            raise InvalidRecordError(f"duplicate task {ident}", field="id", where=where)
        met.add(ident)
        needs = _needs(task, where)
        yield _sample(task, splits, where) if needs is None else SkippedSample(needs)


def _domain(path: Path) -> str:
    """The domain whose tasks the file holds, with the file's name where that is not tau2-bench's own."""
    scenario = obj(first_row(path, LISTS).get("user_scenario"))
    domain = obj(scenario.get("instructions")).get("domain")
    if not isinstance(domain, str) or not domain:
        return path.stem
    return domain if TASKS in (path.stem, path.parent.name) else f"{domain}-{path.stem}"


def _splits(path: Path) -> Json:
    """The splits of the tasks by name, which stand beside them: `split_tasks.json` for `tasks.json`."""
    beside = path.with_name(f"split_{path.stem}.json")
    return the_object(whole_document(beside), str(beside)) if beside.is_file() else {}


def _needs(task: Json, where: str) -> str | None:
    """What of tau2-bench the task needs, if anything."""
    criteria = obj(task.get("evaluation_criteria"))
    if any(obj(task.get("initial_state")).values()):
        return PREPARED
    actions = objects_under(criteria, "actions", where)
    if task.get("user_tools") or any(action.get("requestor") == "user" for action in actions):
        return USERS_TOOLS
    judged = [criteria.get(name) for name in ("actions", "communicate_info", "nl_assertions")]
    return None if any(judged) and not criteria.get("env_assertions") else OWN_CODE


def _sample(task: Json, splits: Json, where: str) -> LogSample:
    ident, scenario = task.get("id"), obj(task.get("user_scenario"))
    if not isinstance(ident, (str, int)) or isinstance(ident, bool):
        raise InvalidRecordError("a task has an id", field="id", where=where)
    goal = _goal(scenario.get("instructions"))
    if not goal:
        raise InvalidRecordError("a task says what its user wants", field="user_scenario.instructions", where=where)
    told = scenario.get("persona")
    return LogSample(
        id=ident,
        inputs={"task_id": ident},
        name=f"task {ident}",
        assertions=(*_checks(obj(task.get("evaluation_criteria")), where),),
        extra=without({"task": without(task, "id") or None}),
        where=where,
        tags=tuple(name for name, ids in splits.items() if str(ident) in map(str, listed_values(ids))),
        conversation=without({"player": "model", "goal": goal, "persona": str(told) if told else None}),
    )


def _goal(instructions: JsonValue) -> str:
    """What the user is told."""
    if isinstance(instructions, str):
        return instructions.strip()
    parts = (obj(instructions).get(name) for name in _TOLD)
    return "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


def _checks(criteria: Json, where: str) -> Iterator[Json]:
    """The calls that change something and no other such call, what must be said, and what a model judges.

    tau2-bench compares its databases. Without them the calls decide: those that only read are free.
    """
    actions = objects_under(criteria, "actions", where)
    gold: list[JsonValue] = [
        {"name": action.get("name"), "args": obj(action.get("arguments"))}
        for action in actions
        if changes(action.get("name"))
    ]
    if gold:
        steps: list[JsonValue] = [{"unordered": gold}] if len(gold) <= MOST_UNORDERED else gold
        yield {"type": "trajectory:match", "value": {"steps": steps}, "threshold": 1}
    for text in listed_values(criteria.get("communicate_info")):
        said: Json = {"type": "regex", "value": _without_commas(str(text))}
        yield {"type": AGENT_TURNS, "assertions": [said]}
    for text in listed_values(criteria.get("nl_assertions")):
        yield {"type": "llm-rubric", "value": str(text)}


def _without_commas(text: str) -> str:
    """A pattern of the text that finds it with or without the commas of large numbers, whatever its case."""
    return "(?i)" + ",?".join(map(re.escape, text.replace(",", "")))
