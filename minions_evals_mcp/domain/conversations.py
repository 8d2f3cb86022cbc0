"""Conversations: how the user is played as a test case says it, what was said, and what the user did wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from minions_evals_mcp.domain.querying.queries import Query
from minions_evals_mcp.domain.values import Amount, Count, Json, Text, Value
from minions_evals_mcp.frozen_types import frozen_type

Player = Literal["script", "model", "caller", "person"]
OUTSIDE: frozenset[Player] = frozenset({"caller", "person"})
"""The players that are asked for each message of the user: the conversation waits for it."""
MAX_TURNS = 10
RETRIES = 2
Fact = str | int | float | bool


class Reply(Value):
    """What the user says once the agent's message contains `when`: a text, whatever its case, or a pattern between slashes.

    It is said at most `times`.
    """

    when: Text
    say: Text
    times: Annotated[int, Field(ge=1, le=100)] = 1


class Withheld(Value):
    """A fact that the user must not volunteer. `when` is what the agent must say first; without it the user never tells it."""

    fact: Text
    when: Text | None = None


class Ends(Value):
    """When a conversation ends by itself: the agent `says` this (as `when` of a reply), or the `state` of the world fits the query."""

    says: Text | None = None
    state: Query | None = None

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        if self.says is None and self.state is None:
            raise ValueError("says: give says, state, or both")
        return self


class Conversation(Value):
    """A conversation with the agent under test: who plays the user, and what that user knows and wants.

    The player `script` asks no model. After each answer the first of `turns` that fits is said: a reply whose `when` stands in
    the answer, then a fact of `knows` or `withholds` that was asked for, then the next fixed message. Where none is left, the
    conversation ends. The player `model` is sent `goal`, `persona` and all facts; `model` names it. The players `caller` (the agent
    that asked for the run) and `person` get the same, and the conversation waits for each of their messages.

    `maxTurns` bounds the messages of the user (10, or as many as the script has). `language` is the one that the user speaks (a
    code such as `de`), that of the opening unless it is given. A conversation that the user spoiled is made again up to `retries`
    times. `checkedBy` names a second model, which reads the messages of the user once the conversation has ended. `repeats`
    trials in a row have the same user seed, so that the run tells how much of its variance is the agent's and how much the
    user's. The seed is sent to the model that plays the user.
    """

    opening: Text | None = None
    goal: str = ""
    persona: str = ""
    language: Annotated[str, StringConstraints(pattern="^[a-z]{2}$")] | None = None
    knows: dict[Text, Fact] = {}
    withholds: Annotated[tuple[Withheld, ...], Field(strict=False)] = ()
    turns: Annotated[tuple[Text | Reply, ...], Field(strict=False)] = ()
    max_turns: Annotated[int | None, Field(ge=1, le=200)] = None
    ends: Ends | None = None
    player: Player = "script"
    model: Text | None = None
    checked_by: Annotated[Text | None, Field(exclude_if=lambda model: model is None)] = None
    retries: Annotated[int, Field(ge=0, le=10)] = RETRIES
    repeats: Annotated[int, Field(ge=1, le=100)] = 1

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        if self.repeats > 1 and self.player != "model":
            raise ValueError("repeats: only the player model has a seed; leave it out")
        if self.model is not None and self.player != "model":
            raise ValueError("model: only the player model asks one; add player: model")
        if self.checked_by is not None and self.player == "script":
            raise ValueError("checkedBy: a script says what its author wrote; leave checkedBy out")
        if self.checked_by is not None and self.checked_by == self.model:
            raise ValueError("checkedBy: a model cannot check the user that it plays; name another")
        if self.player != "script":
            if not self.goal.strip():
                raise ValueError(f"goal: the player {self.player} needs the goal of the user")
            if self.turns:
                raise ValueError(f"turns: a {self.player} plays without a script; leave turns out, or player")
            return self
        if self.first is None:
            raise ValueError("opening: give the first message of the user, or a fixed message in turns")
        return self

    def user_seed(self, trial: int) -> int:
        """The number of the user seed of that trial, both from 1."""
        return (trial - 1) // self.repeats + 1

    @property
    def first(self) -> str | None:
        """The first message of the user, where it is fixed."""
        return self.opening or next((turn for turn in self.turns if isinstance(turn, str)), None)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The fixed messages in order, with the first one."""
        messages = tuple(turn for turn in self.turns if isinstance(turn, str))
        return messages if self.opening is None else (self.opening, *messages)

    @property
    def most_turns(self) -> int:
        """So many messages the user says at the most."""
        scripted = len(self.fixed) + sum(reply.times for reply in self.replies)
        return self.max_turns or max(MAX_TURNS, scripted)

    @property
    def most_attempts(self) -> int:
        """So often it is had at the most: what its user spoils is had again."""
        return 1 if self.player == "script" else 1 + self.retries

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies to what the agent says."""
        return tuple(turn for turn in self.turns if isinstance(turn, Reply))


MESSAGES = "messages"
TEXT_PARTS = frozenset({"text", "output_text", "input_text"})
"""Where the messages of a conversation stand in an output."""
USERS, AGENTS = frozenset({"user", "human"}), frozenset({"assistant", "ai", "model"})
Ending = Literal["script", "user", "max-turns", "ends", "timed-out", "recorded"]
"""Why a conversation ended: the script has no more to say, the user left, the limit of turns, its stop rule, the agent's time.

Of a recorded one nobody knows it.
"""
UserFaultKind = Literal[
    "stop-token", "repeated", "withheld-volunteered", "role-swapped", "wrong-language", "early-stop", "invented-fact",
    "contradicted-fact", "goal-dropped", "did-agents-job",
]  # fmt: skip
_NONE = Field(exclude_if=lambda held: held is None)


@frozen_type
class Spoken:
    """What an agent is told in a turn: the user's `message`, all `messages` up to it, and what it remembered itself.

    `session` is the agent's own memory of this conversation, `talk_id` names the conversation.
    """

    message: str
    messages: tuple[Json, ...]
    talk_id: str
    session: Json

    def told(self) -> Json:
        """What joins the inputs of a program or an application."""
        return {"message": self.message, "messages": [*self.messages], "session": self.talk_id}


class UserFault(Value):
    """Something that the player of the user did wrong: in which turn (from 1), with the words that show it."""

    kind: UserFaultKind
    turn: Annotated[int, Field(ge=1)]
    quotation: str = ""
    reason: str

    @property
    def sentence(self) -> str:
        """The fault in words."""
        quoted = f": “{self.quotation}”" if self.quotation else ""
        return f"turn {self.turn}: {self.reason}{quoted}"


class Turn(Value):
    """A message of the user and the agent's answer. `calls` is how many tool calls were made up to its end."""

    user: str
    agent: str
    calls: Count = 0
    latency_ms: Annotated[Amount | None, _NONE] = None
    input_tokens: Annotated[Count | None, _NONE] = None
    output_tokens: Annotated[Count | None, _NONE] = None
    cost_usd: Annotated[Amount | None, _NONE] = None


class NextMessage(Value):
    """What the caller or a person says next as the user, in which turn (from 1); empty where the user leaves."""

    turn: Annotated[int, Field(ge=1)]
    text: str
    said_by: str = ""


class PlayerCost(Value):
    """What the player of the user cost, and the model that checked it, apart from the agent."""

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Amount | None = 0.0

    def __add__(self, other: PlayerCost) -> PlayerCost:
        """Both together; in dollars unknown where one is."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return PlayerCost(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or 0) + (other.cost_usd or 0) if known else None,
        )


class UserLabel(Value):
    """A person's word on the player of a user: it did its part, or it spoiled the conversation. It goes before the user check's."""

    sound: bool
    reason: str
    labelled_by: str

    @property
    def sentence(self) -> str:
        """The word in a sentence."""
        verdict = "did its part" if self.sound else "spoiled the conversation"
        return f"the user {verdict}, says {self.labelled_by}: {self.reason}"


class TalkFacts(Value):
    """How a conversation went, beside its messages: who played the user, why it ended, and the tool calls by turn.

    `attempt` is 1 unless earlier ones were spoiled by the user. `faults` are what the user did wrong in this one, as the user check
    found them: the rules, or else the model `checkedBy`, if one was asked; `label` is what a person says of it.
    """

    player: Player
    ended: Ending
    attempt: Annotated[int, Field(ge=1)] = 1
    calls: Annotated[tuple[Count, ...], Field(strict=False)] = ()
    faults: Annotated[tuple[UserFault, ...], Field(strict=False, exclude_if=lambda faults: not faults)] = ()
    player_cost: Annotated[PlayerCost | None, _NONE] = None
    checked_by: Annotated[str, Field(exclude_if=lambda model: not model)] = ""
    label: Annotated[UserLabel | None, _NONE] = None

    @property
    def spoiled(self) -> str:
        """How the user spoiled the conversation, in words; empty where it did its part. A person's word goes first."""
        if self.label is not None:
            return "" if self.label.sound else self.label.sentence
        found_by = f" (found by {self.checked_by})" if self.checked_by else ""
        return f"{self.faults[0].kind} in {self.faults[0].sentence}{found_by}" if self.faults else ""


class Exchange(Value):
    """One turn as it can be read: the message of the user, and all that the agent answered."""

    user: str
    agent: str


def spoken(turns: Sequence[Turn]) -> list[Json]:
    """The messages of those turns, as chat models take them."""
    return [message(role, text) for turn in turns for role, text in (("user", turn.user), ("assistant", turn.agent))]


def message(role: str, text: str) -> Json:
    """One message, as chat models take it."""
    return {"role": role, "content": text}


def messages_of(output: JsonValue) -> list[Json] | None:
    """The messages of an output that is a conversation; None for any other."""
    listed = output.get(MESSAGES) if isinstance(output, dict) else None
    if not isinstance(listed, list):
        return None
    messages = [message for message in listed if isinstance(message, dict)]
    spoken_by = {str(message.get("role")) for message in messages}
    return messages if len(messages) == len(listed) and spoken_by & USERS and spoken_by & AGENTS else None


def exchanges(messages: Sequence[Json]) -> list[Exchange]:
    """The turns of a conversation, however many messages the agent's part of a turn takes; other roles are passed over."""
    turns: list[Exchange] = []
    for message in messages:
        role, text = message.get("role"), content_text(message.get("content"))
        if role in USERS:
            turns.append(Exchange(user=text, agent=""))
        elif role in AGENTS and turns and text:
            before = turns[-1].agent
            turns[-1] = Exchange(user=turns[-1].user, agent=f"{before}\n{text}" if before else text)
    return turns


def content_text(content: JsonValue) -> str:
    """The text of a message's content: a text, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    pieces = (part if isinstance(part, str) else _part_text(part) for part in parts)
    return "\n".join(text for text in pieces if text)


def _part_text(part: JsonValue) -> str:
    if not isinstance(part, dict) or str(part.get("type", "text")) not in TEXT_PARTS:
        return ""
    text = part.get("text", part.get("content"))
    return text if isinstance(text, str) else ""


def as_read(output: JsonValue) -> JsonValue:
    """The output as a person who judges reads it: a conversation turn by turn, any other as it is."""
    messages = messages_of(output)
    return output if messages is None else transcript(messages)


def transcript(messages: Sequence[Json]) -> str:
    """The conversation as a judge reads it: a line for each message, with its turn and who speaks."""
    lines: list[str] = []
    turn = 0
    for message in messages:
        role = str(message.get("role"))
        turn += role in USERS
        who = "User" if role in USERS else "Agent" if role in AGENTS else role
        lines.append(f"[{turn}] {who}: {content_text(message.get('content'))}")
    return "\n".join(lines)
