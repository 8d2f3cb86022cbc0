"""A reading of tau-bench and tau2 beside their reward: the state rule, which needs neither their database nor their code.

A run passes by it where its successful calls that change something are the gold actions that change something, in any order, and
the assistant said each output that the task asks for. Names tell which calls only read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.logs.sample import ForeignScore
from minions_evals_mcp.scoring.assertions.kinds.foreign_scorer import FOREIGN_SCORER

STATE_RULE = "state rule"
_READS = re.compile(r"(?:get|list|find|search|check|calculate|think|transfer)(?:_|$)")
"""Tools that change nothing by their names; to be handed to a person is no change of the database."""


def state_rule_check(tool: str) -> Json:
    """The check that shows the reading beside the verdict; it decides nothing."""
    return {
        "type": FOREIGN_SCORER,
        "value": {"tool": tool, "scorer": STATE_RULE},
        "weight": 0,
        "metric": STATE_RULE,
    }


def state_rule(
    messages: Sequence[JsonValue], gold: Iterable[tuple[JsonValue, Json]], outputs: Sequence[JsonValue]
) -> ForeignScore:
    """The reading of a conversation, by the gold actions (name, arguments) and the outputs that the task asks for."""
    made = sorted(_successful(messages))
    wanted = sorted(f"{name} {canonical(arguments)}" for name, arguments in gold if changes(name))
    said = _plain(" ".join(str(message.get("content") or "") for message in map(obj, messages) if _is_agent(message)))
    unsaid = [str(output) for output in outputs if _plain(str(output)) not in said]
    passed = made == wanted and not unsaid
    return ForeignScore(STATE_RULE, float(passed), {"passed": passed, "explanation": _why(made, wanted, unsaid)})


def _successful(messages: Sequence[JsonValue]) -> Iterator[str]:
    """The calls that change something and did not end in an error, as texts that can be compared."""
    asked: dict[str, Json] = {}
    for message in map(obj, messages):
        asked.update(
            {
                str(call.get("id")): obj(call.get("function"))
                for call in map(obj, listed_values(message.get("tool_calls")))
            }
        )
        call = asked.pop(str(message.get("tool_call_id")), None) if message.get("role") == "tool" else None
        if call is not None and changes(call.get("name")) and not _is_error(message):
            yield f"{call.get('name')} {_arguments(call.get('arguments'))}"


def changes(name: JsonValue) -> bool:
    """Whether a tool of that name changes something."""
    return isinstance(name, str) and _READS.match(name) is None


def _is_error(message: Json) -> bool:
    content = message.get("content")
    return message.get("error") is True or (isinstance(content, str) and content.lstrip().lower().startswith("error"))


def _is_agent(message: Json) -> bool:
    return message.get("role") == "assistant"


def _arguments(written: JsonValue) -> str:
    if not isinstance(written, str):
        return canonical(written)
    try:
        return canonical(json.loads(written))
    except ValueError:
        return written


def _plain(text: str) -> str:
    return text.lower().replace(",", "")


def _why(made: Sequence[str], wanted: Sequence[str], unsaid: Sequence[str]) -> str:
    parts = [f"missing: {call}" for call in wanted if call not in made]
    parts += [f"not asked for: {call}" for call in made if call not in wanted]
    parts += [f"not said: {output}" for output in unsaid]
    if not parts and made != wanted:
        parts = ["a call was made another number of times"]
    return "; ".join(parts)[:500] or "the calls that change something are those of the task, and its outputs were said"
