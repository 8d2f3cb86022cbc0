"""The user as a model plays it: what it is told, and what of its replies is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minions_evals_mcp.domain.conversations import Conversation, PlayerCost, Turn, message
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import JudgeErrored
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import Completion, FailedReply, Reply
from minions_evals_mcp.scoring.conversations.persona import instructions_of
from minions_evals_mcp.scoring.conversations.user_checks import is_mere_farewell
from minions_evals_mcp.targets.conversation import PromptTurns, chat_request
from minions_evals_mcp.targets.live import why_failed
from minions_evals_mcp.targets.talks.talk import Leaves, Says

STOP = "###STOP###"
"""What the user says who has nothing more to say."""
ROLE = f"""You play a person who talks with an assistant. Write only what this person says next, as one message, in the first person.
Say no more about yourself than the conversation asks for, and make up nothing that is not told here. When the person has
what they wanted, or sees that they cannot have it, write {STOP} and nothing else.

The person:
"""
OPENING = "The conversation begins. Write the person's first message."
LONGEST_MESSAGE = 1024
"""So many tokens a message of the user has at the most."""


def asked_of_player(instructions: str, messages: Sequence[Json]) -> list[Json]:
    """What the model that plays the user is sent: its role, and the conversation as that side hears it."""
    heard = [
        {"role": "assistant" if said["role"] == "user" else "user", "content": said["content"]} for said in messages
    ]
    return [message("system", ROLE + instructions), message("user", OPENING), *heard]


def move_of(text: str) -> Says | Leaves:
    """What the user does by that reply of its model."""
    return Leaves("user") if STOP in text else Says(text.strip())


def checked_move_of(text: str, answered: str) -> Says | Leaves:
    """The same where the user is checked: it leaves with a farewell at most, and the token beside other words is a fault.

    `answered` is what the agent said last.
    """
    rest = text.replace(STOP, " ").strip()
    return move_of(text) if not rest or is_mere_farewell(rest, answered) else Says(text.strip())


@dataclass(slots=True, eq=False)
class ModelUser:
    """A model that plays the user of one conversation; what it costs is counted apart from the agent."""

    setup: Conversation
    client: ModelClient
    model: str
    deadline_s: float
    seed: int | None = None
    """Sent with each request to a provider that takes one."""
    cost: PlayerCost = field(default_factory=PlayerCost)

    async def next_move(self, turns: Sequence[Turn], messages: Sequence[Json]) -> Says | Leaves | JudgeErrored:
        """The opening where it is fixed, else what the model says; it leaves by the stop token."""
        if not turns and self.setup.opening is not None:
            return Says(self.setup.opening)
        asked = asked_of_player(instructions_of(self.setup), messages)
        request = chat_request(
            self.client.provider, self.model, PromptTurns(tuple(asked)), LONGEST_MESSAGE, self._params()
        )
        reply = await self.client.complete(request, deadline_s=self.deadline_s)
        self._count(reply)
        name = f"the simulated user, {self.client.provider}:{self.model}"
        if isinstance(reply, FailedReply):
            return JudgeErrored(f"{name}: {why_failed(reply)}", reply.fatal, reply.kind != "permanent")
        if not isinstance(reply, Completion) or not reply.text.strip():
            return JudgeErrored(f"{name}: its reply is cut off, refused or empty", unanswered=True)
        return checked_move_of(reply.text, turns[-1].agent if turns else "")

    def _params(self) -> Json:
        return {} if self.seed is None else {"seed": self.seed}

    def _count(self, reply: Reply) -> None:
        usage = None if isinstance(reply, FailedReply) else reply.usage
        price = None if isinstance(reply, FailedReply) else reply.cost_usd
        before = self.cost
        self.cost = PlayerCost(
            calls=before.calls + 1,
            input_tokens=before.input_tokens + (usage.input_tokens if usage else 0),
            output_tokens=before.output_tokens + (usage.output_tokens if usage else 0),
            cost_usd=None if before.cost_usd is None or price is None else before.cost_usd + price,
        )
