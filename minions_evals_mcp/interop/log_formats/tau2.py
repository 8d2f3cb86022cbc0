"""tau2-bench's results: tasks, and simulations of them with their conversation, reward and why they ended.

They are one document, or `results.json` with a file for each simulation in the folder `simulations/` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.state_rule import state_rule, state_rule_check
from minions_evals_mcp.interop.log_formats.tau_bench import MOST_UNORDERED, REWARD
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import count, last_answer, number, without

NAME = "tau2"
CLOSE = 1e-6
"""So near to 1 a reward is a success there."""
FOLDER = "simulations"
INSTRUMENT = frozenset({"infrastructure_error", "user_error", "context_window_exceeded"})
"""Endings without a verdict: the machine failed, or the model that plays the user; tau2-bench leaves full contexts out, too."""


def is_results(seen: JsonValue) -> bool:
    """Whether a JSON document is the results of tau2-bench, or their head."""
    document = obj(seen)
    first = obj(next(iter(listed_values(document.get("simulations"))), None))
    held = {"task_id", "termination_reason"} <= first.keys()
    return "tasks" in document and (held or "environment_info" in obj(document.get("info")))


def read(path: Path) -> Iterator[Item]:
    """Each simulation of each task."""
    document = the_object(whole_document(path), str(path))
    info = obj(document.get("info"))
    domain = obj(info.get("environment_info")).get("domain_name")
    model = obj(info.get("agent_info")).get("llm")
    name = path.parent.name if path.stem == "results" and _folder(path).is_dir() else path.stem
    yield EvaluationLog(
        NAME, name, str(domain or path.stem), str(model or ""), document.get("timestamp"),
        extra=without({"info": info or None, "rest": without(document, *_READ) or None}),
        own_id=False,
    )  # fmt: skip
    tasks = {str(task.get("id")): task for task in objects_under(document, "tasks", str(path))}
    for where, simulation in _simulations(document, path):
        yield _sample(simulation, tasks, where)


_READ = ("info", "tasks", "simulations", "timestamp", "simulation_index", "format_version")


def _folder(path: Path) -> Path:
    return path.parent / FOLDER


def _simulations(document: Json, path: Path) -> Iterator[tuple[str, Json]]:
    """The simulations of the document, else those in the folder beside it: all that its index names, and no other."""
    held = objects_under(document, "simulations", str(path))
    if held:
        yield from ((f"{path}: simulations.{place}", simulation) for place, simulation in enumerate(held, 1))
        return
    files = {file.stem: file for file in sorted(_folder(path).glob("*.json"))}
    index = objects_under(document, "simulation_index", str(path))
    missing = [name for entry in index if (name := str(entry.get("id"))) not in files]
    if missing or not files:
        named = f"simulation {missing[0]}" if missing else "a simulation"
        raise InvalidRecordError(f"the results lack {named}; they are files in {FOLDER}/ beside it", where=str(path))
    for name in [str(entry.get("id")) for entry in index] or files:
        yield str(files[name]), the_object(whole_document(files[name]), str(files[name]))


def _sample(simulation: Json, tasks: Mapping[str, Json], where: str) -> LogSample:
    ident = simulation.get("task_id")
    if not isinstance(ident, (str, int)) or isinstance(ident, bool):
        raise InvalidRecordError("a simulation has a task_id", field="task_id", where=where)
    task = tasks.get(str(ident), {})
    criteria = obj(task.get("evaluation_criteria"))
    gold: list[JsonValue] = [
        {"name": action.get("name"), "args": obj(action.get("arguments"))}
        for action in objects_under(criteria, "actions", where)
    ]
    steps: list[JsonValue] = [{"unordered": gold}] if len(gold) <= MOST_UNORDERED else gold
    measured: Json = {"type": "trajectory:match", "value": {"steps": steps}, "weight": 0, "metric": "gold actions"}
    instruction = obj(task.get("user_scenario")).get("instructions")
    return LogSample(
        id=ident,
        inputs={"instruction": instruction} if instruction else {"task_id": ident},
        epoch=(count(simulation.get("trial")) or 0) + 1,
        name=f"task {ident}",
        assertions=(*recorded_checks(NAME, [REWARD]), *([measured] if gold else ()), state_rule_check(NAME)),
        extra=without({"task": without(task, "id") or None}),
        produced=_produced(simulation, criteria),
        where=where,
    )


def _produced(simulation: Json, criteria: Json) -> Produced:
    messages = [_message(obj(message)) for message in listed_values(simulation.get("messages"))]
    judged, ending = obj(simulation.get("reward_info")), simulation.get("termination_reason")
    ending = None if ending is None else str(ending)
    reward = number(judged.get("reward"))
    seconds = number(simulation.get("duration"))
    error = None
    if ending in INSTRUMENT or reward is None:
        error = f"ended by {ending}" if ending in INSTRUMENT else f"has no reward (ended by {ending})"
    return Produced(
        output=last_answer(messages),
        messages=tuple(messages),
        scores=() if error else (_score(judged), _reading(messages, criteria)),
        cost=number(simulation.get("agent_cost")),
        latency_ms=None if seconds is None else seconds * 1000,
        started=simulation.get("start_time"),
        error=error,
        extra=without(
            {
                "rest": without(
                    simulation, "task_id", "trial", "messages", "reward_info", "agent_cost", "duration", "start_time"
                ) or None
            }
        ),
    )  # fmt: skip


def _score(judged: Json) -> ForeignScore:
    reward = number(judged.get("reward"))
    assert reward is not None
    return ForeignScore(REWARD, reward, without({"passed": abs(reward - 1) <= CLOSE, **without(judged, "reward")}))


def _reading(messages: Sequence[JsonValue], criteria: Json) -> ForeignScore:
    actions = [obj(action) for action in listed_values(criteria.get("actions"))]
    gold = [(action.get("name"), obj(action.get("arguments"))) for action in actions]
    return state_rule(messages, gold, listed_values(criteria.get("communicate_info")))


def _message(message: Json) -> JsonValue:
    """The message as chats are written: a call has its function, its result the call's id."""
    calls: list[JsonValue] = [
        {
            **without(call, "id", "name", "arguments"),
            "id": call.get("id"),
            "type": "function",
            "function": {"name": call.get("name"), "arguments": canonical(obj(call.get("arguments")))},
        }
        for call in map(obj, listed_values(message.get("tool_calls")))
    ]
    plain = without(message, "tool_calls", *(("id",) if message.get("role") == "tool" else ()))
    called: Json = {"tool_calls": calls} if calls else {}
    return {**plain, **called, **({"tool_call_id": message.get("id")} if message.get("role") == "tool" else {})}
