"""The memory of a column's tests: outputs under names, and conversations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.reserved_inputs import CONVERSATION, STORES

HISTORY = "_conversation"
"""The variable in which a prompt finds the turns before it."""
UNTRANSFORMED = "untransformed"
"""Where an output as it came stands beside what was made of it."""
_NAMED = re.compile(r"\{[{%][^{}%]*?([A-Za-z_]\w*)")


def names_in(value: JsonValue) -> list[str]:
    """The names that stand in templates inside the value."""
    return _NAMED.findall(json.dumps(value, ensure_ascii=False))


@dataclass(slots=True, eq=False)
class Memory:
    """Of one column, whose tests are asked one after the other.

    `names` are those under which tests store their outputs, `begun` those of the tests that were asked so far, `stored` what
    is stored of them, `turns` what was said by the id of each conversation.
    """

    names: frozenset[str] = frozenset()
    begun: set[str] = field(default_factory=set[str])
    stored: Json = field(default_factory=dict[str, JsonValue])
    turns: dict[str, list[JsonValue]] = field(default_factory=dict[str, list[JsonValue]])

    def forget(self) -> None:
        """Begins anew."""
        self.begun.clear()
        self.stored.clear()
        self.turns.clear()

    def lacking(self, inputs: Json, template: str) -> str:
        """The stored output that the test names and that is not there, for the test before it that stores it was not answered."""
        texts = [template, *(value for value in inputs.values() if isinstance(value, str))]
        named = {name for text in texts for name in _NAMED.findall(text)}
        return next(iter(sorted(named & self.names & self.begun - self.stored.keys() - inputs.keys())), "")

    def begin(self, inputs: Json) -> None:
        """The test with those inputs is asked."""
        if STORES in inputs:
            self.begun.add(str(inputs[STORES]))

    def recalled(self, inputs: Json) -> Json:
        """The inputs with what was stored over them, which their texts may name, and the turns of their conversation."""
        from minions_evals_mcp.scoring.nunjucks.templates import rendered  # noqa: PLC0415  jinja2 costs what few runs need

        known = {**inputs, **self.stored}
        filled = {
            name: rendered(value, known)
            for name, value in inputs.items()
            if isinstance(value, str) and self.stored.keys() & {*_NAMED.findall(value)}
        }
        turns: Json = {HISTORY: [*self.turns.get(str(inputs[CONVERSATION]), [])]} if CONVERSATION in inputs else {}
        return {**inputs, **filled, **self.stored, **turns}

    def heard(self, inputs: Json, prompt: str, output: Json) -> None:
        """Keeps what the test with those inputs was answered; nothing is kept under a name where nothing came.

        What is stored is the output as it was transformed; a conversation remembers what was said, as there.
        """
        made = output.get("output")
        if STORES in inputs and made:
            self.stored[str(inputs[STORES])] = made
        if CONVERSATION in inputs:
            conversation = _as_json(prompt)
            last = conversation[-1] if isinstance(conversation, list) and conversation else conversation
            content = last.get("content") if isinstance(last, dict) and isinstance(conversation, list) else None
            turn: Json = {"prompt": conversation, "input": content or last, "output": _untransformed(output) or ""}
            self.turns.setdefault(str(inputs[CONVERSATION]), []).append(turn)


def _untransformed(output: Json) -> JsonValue:
    """The output as it was before any transform."""
    came = output.get(UNTRANSFORMED)
    return (came if isinstance(came, dict) else output).get("output")


def _as_json(prompt: str) -> JsonValue:
    """The prompt, which may be messages."""
    try:
        value: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    return value if isinstance(value, list | dict) else prompt
