"""A user whom a model plays: talks with whoever answers a config's prompts, turn by turn, as promptfoo's does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text, value_text
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.nunjucks.templates import rendered
from minions_evals_mcp.targets.exchange import Asking
from minions_evals_mcp.targets.prompted import Prompt, Responder

STOP = "###STOP###"
"""What the user says who has nothing more to say."""
INITIAL = "initialMessages"
"""The variable of a test that holds the messages with which its conversation begins."""
ROLE = f"""You play a person who talks with an assistant. Write only what this person says next, as one message, in the first person.
Say no more about yourself than the conversation asks for, and make up nothing that is not told here. When the person has
what they wanted, or sees that they cannot have it, write {STOP} and nothing else.

The person:
"""
OPENING = "The conversation begins. Write the person's first message."
ROLES = frozenset({"user", "assistant", "system"})


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """The user's model and whoever answers it. `initial` are messages before the first turn, unless the test has its own.

    A `stateful` target is told the system's words and the last message only.
    """

    user: Responder
    target: Responder
    instructions: str
    max_turns: int
    initial: tuple[Json, ...] = ()
    stateful: bool = False

    async def answer(self, prompt: Prompt, question: Asking) -> Observed | TargetErrored:
        """The whole conversation, once the user stops or the turns are used up; a turn that fails ends it as a failure."""
        try:
            instructions = rendered(self.instructions, prompt.variables)
        except BadInputError as error:
            return TargetErrored(f"{question.name}: the instructions: {error.message_text}")
        talk = _Talk(prompt, question, list(self._begun(prompt.variables)))
        if talk.messages and talk.messages[-1]["role"] == "user" and (failed := await self._answered(talk)):
            return failed
        for _ in range(self.max_turns):
            heard = await talk.heard(
                self.user, replace(prompt, text=_asked_of_user(instructions, talk.messages), config={})
            )
            if not isinstance(heard, str):
                return heard
            if STOP in heard:
                break
            talk.say("user", heard)
            if failed := await self._answered(talk):
                return failed
        return talk.whole()

    async def _answered(self, talk: _Talk) -> Observed | TargetErrored | None:
        """Has the target answer the user; what ended the conversation, if that did."""
        messages = talk.messages[-1:] if self.stateful else talk.messages
        system: Json = {"role": "system", "content": talk.prompt.text}
        heard = await talk.heard(self.target, replace(talk.prompt, text=_json([system, *messages])))
        if not isinstance(heard, str):
            return heard
        talk.say("assistant", heard)
        return None

    def _begun(self, variables: Json) -> Iterator[Json]:
        """The messages with which the conversation begins; what is no message is left out, as there."""
        for message in _messages(variables.get(INITIAL)) or self.initial:
            role, content = message.get("role"), message.get("content")
            if isinstance(role, str) and isinstance(content, str):
                begun: Json = {"role": _filled(role, variables), "content": _filled(content, variables)}
                if begun["role"] in ROLES:
                    yield begun


@dataclass(slots=True)
class _Talk:
    """A conversation so far, and what its calls measured."""

    prompt: Prompt
    asked: Asking
    messages: list[Json]
    seen: list[Observed] = field(default_factory=list[Observed])

    def say(self, role: str, content: str) -> None:
        """Adds a message."""
        self.messages.append({"role": role, "content": content})

    async def heard(self, responder: Responder, prompt: Prompt) -> str | Observed | TargetErrored:
        """Returns what the responder says to the prompt; else why it says nothing, or that it took too long."""
        seen = await responder.answer(prompt, self.asked)
        if isinstance(seen, TargetErrored) or seen.timed_out:
            return seen
        self.seen.append(seen)
        return value_text(seen.output.get("output", output_text(seen.output)))

    def whole(self) -> Observed:
        """The conversation as one output, with the sums of what its calls measured."""
        about = AnswerFacts(response={"metadata": {"messages": [*self.messages]}})
        return Observed(
            output={"output": "\n---\n".join(map(_line, self.messages))},
            latency_ms=math.fsum(observed.latency_ms or 0 for observed in self.seen),
            input_tokens=known_sum([observed.input_tokens for observed in self.seen]),
            output_tokens=known_sum([observed.output_tokens for observed in self.seen]),
            cost_usd=None if any(observed.cost_usd is None for observed in self.seen) else _cost(self.seen),
            told=about,
        )


def _cost(seen: Sequence[Observed]) -> float:
    return math.fsum(observed.cost_usd or 0 for observed in seen)


def _line(message: Json) -> str:
    return f"{'Assistant' if message['role'] == 'assistant' else 'User'}: {message['content']}"


def _asked_of_user(instructions: str, messages: Sequence[Json]) -> str:
    """Returns what the user's model is sent: its role, and the conversation as that side hears it."""
    heard: list[Json] = [
        {"role": "assistant" if message["role"] == "user" else "user", "content": message["content"]}
        for message in messages
    ]
    return _json([{"role": "system", "content": ROLE + instructions}, {"role": "user", "content": OPENING}, *heard])


def _messages(value: JsonValue) -> tuple[Json, ...]:
    """The messages that a variable holds, also as JSON."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return tuple(message for message in value if isinstance(message, dict)) if isinstance(value, list) else ()


def _filled(text: str, variables: Json) -> str:
    """The text with its variables; as it stands where it cannot be rendered."""
    try:
        return rendered(text, variables)
    except BadInputError:
        return text


def _json(messages: Sequence[Json]) -> str:
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
