"""A user whom a model plays: talks with whoever answers a config's prompts, turn by turn, as promptfoo's does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import Ending, PlayerCost, Spoken, Turn, UserFault
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import AnswerFacts, JudgeErrored, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text, value_text
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.nunjucks.templates import rendered
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.prompted import RenderedPrompt, Responder
from minions_evals_mcp.targets.talks.modelled import asked_of_player, move_of
from minions_evals_mcp.targets.talks.talk import Leaves, Says, Talk, Waits

INITIAL = "initialMessages"
"""The variable of a test that holds the messages with which its conversation begins."""
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

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """The whole conversation, once the user stops or the turns are used up; a turn that fails ends it as a failure."""
        try:
            instructions = rendered(self.instructions, prompt.variables)
        except BadInputError as error:
            return TargetErrored(f"{question.name}: the instructions: {error.message_text}")
        begun = tuple(self._begun(prompt.variables))
        first = begun[-1:] if begun and begun[-1]["role"] == "user" else ()
        calls = _Calls(self, prompt, question, instructions)
        talk = Talk(
            calls, calls.answer, _unchecked, _unkept, max_turns=self.max_turns, before=begun[: len(begun) - len(first)]
        )
        failed = await talk.answered(Says(str(first[0]["content"]))) if first else None
        if first and talk.ended is None:
            talk.max_turns += 1
        ended = failed or await talk.ended_by()
        if calls.late is not None:
            return calls.late
        assert not isinstance(ended, Waits | JudgeErrored), "a config's user is a target, which answers at once"
        return ended if isinstance(ended, TargetErrored) else calls.whole(talk.messages)

    def _begun(self, variables: Json) -> Iterator[Json]:
        """The messages with which the conversation begins; what is no message is left out, as there."""
        for message in _messages(variables.get(INITIAL)) or self.initial:
            role, content = message.get("role"), message.get("content")
            if isinstance(role, str) and isinstance(content, str):
                begun: Json = {"role": _filled(role, variables), "content": _filled(content, variables)}
                if begun["role"] in ROLES:
                    yield begun


def _unchecked(turns: Sequence[Turn], ended: Ending | None, *, sound: int) -> tuple[UserFault, ...]:
    """A config's user is not checked: promptfoo's is not, either."""
    del turns, ended, sound
    return ()


async def _unkept(talk: Talk) -> None:
    """A config's conversation is kept once it is whole."""
    del talk


@dataclass(slots=True, eq=False)
class _Calls:
    """The calls of both sides of a conversation, and what they measured; `late` is the one that took too long."""

    sides: SimulatedUser
    prompt: RenderedPrompt
    asked: TargetQuestion
    instructions: str
    seen: list[Observed] = field(default_factory=list[Observed])
    late: Observed | None = None
    cost: PlayerCost = field(default_factory=PlayerCost)

    async def next_move(self, turns: Sequence[Turn], messages: Sequence[Json]) -> Says | Leaves | TargetErrored:
        """What the user's model says."""
        del turns
        text = _json(asked_of_player(self.instructions, messages))
        seen = await self._heard(self.sides.user, replace(self.prompt, text=text, config={}))
        return seen if isinstance(seen, TargetErrored) else move_of(_said(seen))

    async def answer(self, spoken: Spoken) -> Observed | TargetErrored:
        """What the target says to it."""
        messages = spoken.messages[-1:] if self.sides.stateful else spoken.messages
        system: Json = {"role": "system", "content": self.prompt.text}
        seen = await self._heard(self.sides.target, replace(self.prompt, text=_json([system, *messages])))
        return seen if isinstance(seen, TargetErrored) else seen.with_trusted(output={"output": _said(seen)})

    async def _heard(self, responder: Responder, prompt: RenderedPrompt) -> Observed | TargetErrored:
        seen = await responder.answer(prompt, self.asked)
        if isinstance(seen, TargetErrored):
            return seen
        if seen.timed_out:
            self.late = seen
            return TargetErrored(f"{self.asked.name} took too long")
        self.seen.append(seen)
        return seen

    def whole(self, messages: Sequence[Json]) -> Observed:
        """The conversation as one output, with the sums of what its calls measured."""
        about = AnswerFacts(response={"metadata": {"messages": [*messages]}})
        return Observed(
            output={"output": "\n---\n".join(map(_line, messages))},
            latency_ms=math.fsum(observed.latency_ms or 0 for observed in self.seen),
            input_tokens=known_sum([observed.input_tokens for observed in self.seen]),
            output_tokens=known_sum([observed.output_tokens for observed in self.seen]),
            cost_usd=None if any(observed.cost_usd is None for observed in self.seen) else _cost(self.seen),
            told=about,
        )


def _said(seen: Observed) -> str:
    return value_text(seen.output.get("output", output_text(seen.output)))


def _cost(seen: Sequence[Observed]) -> float:
    return math.fsum(observed.cost_usd or 0 for observed in seen)


def _line(message: Json) -> str:
    return f"{'Assistant' if message['role'] == 'assistant' else 'User'}: {message['content']}"


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
