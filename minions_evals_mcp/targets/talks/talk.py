"""A conversation, turn by turn: the player of the user speaks, the agent answers, until one of them or a rule ends it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import (
    MAX_TURNS,
    Ending,
    Ends,
    PlayerCost,
    Spoken,
    TalkFacts,
    Turn,
    UserFault,
    message,
    spoken,
)
from minions_evals_mcp.domain.conversations import Player as PlayerName
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import JudgeErrored, Observed, TargetErrored
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.querying.queries import QueryError, holds
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.conversations.wording import contains


@frozen_type
class Says:
    """The player speaks; `last`: and leaves with it, whatever the agent answers."""

    text: str
    last: bool = False


@frozen_type
class Leaves:
    """The player says no more."""

    ending: Ending


@frozen_type
class Waits:
    """The player is asked what the user says next, and has not answered yet."""


Broken = TargetErrored | JudgeErrored
"""Why a conversation does not go on: the agent failed, or else whoever plays or checks its user."""


class Player(Protocol):
    """Whoever plays the user."""

    @property
    def cost(self) -> PlayerCost:
        """What it has cost since it began."""
        ...

    async def next_move(self, turns: Sequence[Turn], messages: Sequence[Json]) -> Says | Leaves | Waits | Broken:
        """What the user does after those turns, or why that is not known; `messages` are all that were said."""
        ...


Answering = Callable[[Spoken], Awaitable[Observed | TargetErrored]]


class Checking(Protocol):
    """Finds what the user did wrong: in the turns so far, and once the conversation ended in the ending."""

    def __call__(self, turns: Sequence[Turn], ended: Ending | None, *, sound: int) -> tuple[UserFault, ...]:
        """The faults; the last turn may lack its answer. The messages of the first `sound` turns were checked before."""
        ...


@frozen_type
class Review:
    """What a second model found in the user's messages of a conversation that has ended."""

    faults: tuple[UserFault, ...]
    cost: PlayerCost


Reviewing = Callable[[Sequence[Turn], Ending], Awaitable[Review | JudgeErrored]]
"""Has a second model read what the user said; why it gave no answer, if so."""


class Surroundings(Protocol):
    """The world that the agent acts on, as a conversation asks for it."""

    def calls(self) -> int:
        """How many calls were made so far."""
        ...

    def state(self) -> Json:
        """The state now."""
        ...


@dataclass(slots=True, eq=False)
class Talk:
    """A conversation under way. What is there already when it begins was said before it was cut off."""

    player: Player
    answer: Answering
    check: Checking
    keep: Callable[[Talk], Awaitable[None]]
    """Is called after each turn and each message that was paid for, and at the end."""
    talk_id: str = ""
    max_turns: int = MAX_TURNS
    ends: Ends | None = None
    played_by: PlayerName = "script"
    before: tuple[Json, ...] = ()
    """Messages that were said before the first turn."""
    attempt: int = 1
    world: Surroundings | None = None
    said_next: str | None = None
    """What the user says next, unchecked: it was paid for and checked before, or a person vouches for it."""
    turns: list[Turn] = field(default_factory=list[Turn])
    session: Json = field(default_factory=dict[str, JsonValue])
    tool_calls: tuple[ToolCall, ...] | None = None
    faults: tuple[UserFault, ...] = ()
    ended: Ending | None = None
    seen: Observed | None = None
    """What the last answer was seen with."""
    paid: PlayerCost = field(default_factory=PlayerCost)
    """What the player cost before the conversation was cut off."""
    checker: str = ""
    """The second model that checks the user, if one does."""
    review: Reviewing | None = None
    """Has it read the messages once the conversation has ended and the rules found nothing."""
    read: bool = False
    """Whether it has read them."""

    @property
    def messages(self) -> tuple[Json, ...]:
        """All that was said."""
        return (*self.before, *spoken(self.turns))

    async def ended_by(self) -> Ending | Broken | Waits:
        """Has the turns that are left; why it ended, or why it does not go on."""
        while self.ended is None:
            halted = await self._turn()
            if halted is not None:
                return halted
        return self.ended

    async def held(self) -> Observed | Broken | Waits:
        """The conversation as one output, once it has ended, or why it could not be had. One that waits is kept as far as it is."""
        ended = await self.ended_by()
        if isinstance(ended, Broken):
            return ended
        if isinstance(ended, Waits):
            await self.keep(self)
            return ended
        self.faults = self.faults or self.check(self.turns, self.ended, sound=len(self.turns))
        failed = await self._reviewed(ended)
        await self.keep(self)
        return failed or self._whole()

    async def _reviewed(self, ended: Ending) -> JudgeErrored | None:
        """Has a second model read the user's messages, where one is asked and has not yet; why it gave no answer, if so."""
        if self.review is None or self.read or self.faults:
            return None
        await self.keep(self)  # had to its end, whatever comes of the question
        read = await self.review(self.turns, ended)
        if isinstance(read, JudgeErrored):
            return read
        self.faults, self.read, self.paid = read.faults, True, self.paid + read.cost
        return None

    async def _turn(self) -> Broken | Waits | None:
        """One turn; why, where it could not be had."""
        if self.said_next is not None:
            return await self.answered(Says(self.said_next))
        over, calls = len(self.turns) >= self.max_turns, self.player.cost.calls
        move = Leaves("max-turns") if over else await self.player.next_move(self.turns, self.messages)
        if isinstance(move, Broken | Waits):
            return move
        if isinstance(move, Leaves):
            self.ended = move.ending
            return None
        pending = Turn(user=move.text, agent="")
        self.faults = self.check([*self.turns, pending], None, sound=len(self.turns))
        if self.faults:  # the agent is not asked what follows from it
            self.turns.append(pending)
            self.ended = "user"
            return None
        if self.player.cost.calls > calls and not move.last:  # a message that was paid for is not paid for again
            self.said_next = move.text
            await self.keep(self)
        return await self.answered(move)

    async def answered(self, move: Says) -> TargetErrored | None:
        """Has the agent answer the user; why it does not, if so."""
        messages = (*self.messages, message("user", move.text))
        seen = await self.answer(Spoken(move.text, messages, self.talk_id, self.session))
        if isinstance(seen, TargetErrored):
            return seen
        self.seen, self.said_next = seen, None
        if seen.tool_calls is not None:
            self.tool_calls = (*(self.tool_calls or ()), *seen.tool_calls)
        self.turns.append(self._of_answer(move.text, seen))
        self.ended = "timed-out" if seen.timed_out else "user" if move.last else self._ended_by_rule()
        if self.ended is None:
            await self.keep(self)
        return None

    def _of_answer(self, said: str, seen: Observed) -> Turn:
        return Turn(
            user=said,
            agent="" if seen.timed_out else output_text(seen.output),
            calls=len(self.tool_calls or ()) if self.world is None else self.world.calls(),
            latency_ms=seen.latency_ms,
            input_tokens=seen.input_tokens,
            output_tokens=seen.output_tokens,
            cost_usd=seen.cost_usd,
        )

    def _ended_by_rule(self) -> Ending | None:
        ends = self.ends
        if ends is None:
            return None
        if ends.says is not None and contains(self.turns[-1].agent, ends.says):
            return "ends"
        return "ends" if ends.state is not None and self._is_state(ends.state) else None

    def _is_state(self, query: str) -> bool:
        if self.world is None:
            return False
        try:
            return holds(query, self.world.state())
        except QueryError:
            return False

    def cost(self) -> PlayerCost:
        """What the player cost in all."""
        return self.paid + self.player.cost

    def _whole(self) -> Observed:
        """The conversation as one output, with the sums of what its turns measured."""
        assert self.ended is not None
        turns, cost = self.turns, self.cost()
        costs = [turn.cost_usd for turn in turns]
        facts = TalkFacts(
            player=self.played_by,
            ended=self.ended,
            attempt=self.attempt,
            calls=tuple(turn.calls for turn in turns),
            faults=self.faults,
            player_cost=cost if cost.calls else None,
            checked_by=self.checker if self.read else "",
        )
        seen = self.seen or Observed(output={})
        return seen.with_trusted(
            output={"output": turns[-1].agent, "messages": spoken(turns)} if turns else {"output": "", "messages": []},
            latency_ms=math.fsum(turn.latency_ms or 0 for turn in turns),
            input_tokens=known_sum([turn.input_tokens for turn in turns]),
            output_tokens=known_sum([turn.output_tokens for turn in turns]),
            cost_usd=None if None in costs else math.fsum(cost or 0 for cost in costs),
            tool_calls=self.tool_calls,
            conversation=facts,
        )
