"""A conversation as the output of a unit: had turn by turn, kept as it goes, and made again where its user spoiled it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from pydantic_core import PydanticSerializationError, to_json

from minions_evals_mcp.domain.conversations import (
    OUTSIDE,
    Conversation,
    Ending,
    NextMessage,
    PlayerCost,
    Spoken,
    TalkFacts,
    Turn,
    exchanges,
)
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import AwaitingUser, JudgeErrored, Observed, TargetErrored, UnitKey, UserErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.engine.budget import Budget, Metered, vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.judges.user_packets import user_packet_digest
from minions_evals_mcp.judges.user_review import review_user
from minions_evals_mcp.models.registry import ModelRef, parse_model
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from minions_evals_mcp.store.talks import StoppedTalk, StoredConversation, TalkRow
from minions_evals_mcp.targets.conversation import takes_calls
from minions_evals_mcp.targets.live import Converses, ModelTarget
from minions_evals_mcp.targets.talks.modelled import ModelUser
from minions_evals_mcp.targets.talks.outside import OutsideUser
from minions_evals_mcp.targets.talks.scripted import ScriptedUser
from minions_evals_mcp.targets.talks.talk import Broken, Player, Review, Talk, Waits
from minions_evals_mcp.world.units import UnitInWorld

Players = Callable[[Conversation, NextMessage | None, int | None], Player]
"""Opens whoever plays the user of a conversation, with the message that was handed in for it and the user's seed, if any."""


class OpenReview(Protocol):
    """Has a second model read what the user said, but for the turns for which a person vouches."""

    def __call__(
        self, turns: Sequence[Turn], ended: Ending, *, vouched: int
    ) -> Coroutine[object, object, Review | JudgeErrored]:
        """What it found, or why it gave no answer."""
        ...


def players(engine: Engine, budget: Budget) -> Players:
    """Opens whoever plays the users of a run; what a model costs is taken out of the budget."""
    return partial(_player, engine=engine, budget=budget)


def _player(
    setup: Conversation, handed_in: NextMessage | None, seed: int | None, *, engine: Engine, budget: Budget
) -> Player:
    if setup.player == "script":
        return ScriptedUser(setup)
    if setup.player in OUTSIDE:
        return OutsideUser(setup, handed_in)
    ref = player_model(engine, setup)
    client = Metered(ref.provider, partial(engine.models.client, ref), budget)
    return ModelUser(setup, client, ref.model, engine.config.call_timeout_s, seed)


def player_model(engine: Engine, setup: Conversation) -> ModelRef:
    """The model that plays the user: the one that the conversation names, else the first that judges."""
    if setup.model is not None:
        return parse_model(setup.model)
    judge = engine.judge_model()
    if judge is None:
        raise UnsupportedError(
            "a conversation needs a model to play its user, and none is configured.",
            remedy=f"Name one under conversation.model, or with {argument('judge_model', 'provider:model')}.",
        )
    return judge.members[0]


def reviewing(engine: Engine, budget: Budget, setup: Conversation) -> OpenReview | None:
    """Has the second model of a conversation read its user's messages; None where the conversation names none."""
    if setup.checked_by is None:
        return None
    ref = parse_model(setup.checked_by)
    client = Metered(ref.provider, partial(engine.models.client, ref), budget)
    return partial(_review, LlmJudge(client, ref.model, engine.new_mark, engine.config.call_timeout_s), setup)


async def _review(
    judge: LlmJudge, setup: Conversation, turns: Sequence[Turn], ended: Ending, *, vouched: int
) -> Review | JudgeErrored:
    read = await review_user(judge, setup, turns, ended, vouched=vouched)
    if isinstance(read, JudgeErrored):
        return replace(read, reason=f"the check of the simulated user: {read.reason}")
    faults, cost = read
    spent = PlayerCost(
        calls=cost.calls, input_tokens=cost.input_tokens, output_tokens=cost.output_tokens, cost_usd=cost.cost_usd
    )
    return Review(faults, spent)


def vet_player(engine: Engine, case: Record[TestCase], *, max_cost_usd: float | None) -> None:
    """Refuses a conversation whose user nobody can play or check, before anything runs."""
    setup = case.fields.conversation
    if setup is None:
        return
    if setup.checked_by is not None:
        checker = parse_model(setup.checked_by)
        if setup.player == "model" and checker == player_model(engine, setup):
            raise BadInputError(
                f"conversation.checkedBy of {case.id}: {setup.checked_by} plays the user, and cannot check it.",
                remedy="Name another model there.",
            )
        engine.models.client(checker)
        vet_cap(max_cost_usd, checker.provider, checker.model)
    if setup.player != "model":
        return
    ref = player_model(engine, setup)
    if setup.repeats > 1 and not takes_calls(ref.provider, ref.model):
        raise UnsupportedError(
            f"conversation.repeats of {case.id} needs a reproducible user, and {ref.provider}:{ref.model} does not accept a"
            " seed.",
            remedy="Name a model with an OpenAI-compatible API under conversation.model, or leave repeats out.",
        )
    engine.models.client(ref)
    vet_cap(max_cost_usd, ref.provider, ref.model)


@frozen_type
class ConversationState:
    """How far the conversation of a unit was when the run began: its attempt, and what is kept of it."""

    attempt: int = 1
    said: StoredConversation = StoredConversation()
    ended: str = ""
    said_next: str | None = None
    """What the user says next, unchecked: it was paid for and checked before, or a person vouches for it."""


def vouched_for(attempt: int, said: StoredConversation) -> ConversationState:
    """The state of a conversation that the user check stopped and a person calls sound: its last message is still to be answered."""
    stopped = said.model_copy(update={"turns": said.turns[:-1], "faults": (), "vouched": len(said.turns)})
    return ConversationState(attempt, stopped, said_next=said.turns[-1].user)


async def begun(kept: KeptVerdicts, key: UnitKey, stopped: StoppedTalk | None = None) -> ConversationState:
    """How far the unit's conversation is: the one that was cut off goes on, after a spoiled one the next begins.

    One of which content was erased is had again.

    `stopped` is one of an earlier run that goes on in this one, because a person overruled the check that stopped it.
    """
    row = await kept.begun_talk(key)
    if row is None:
        return ConversationState() if stopped is None else vouched_for(stopped.attempt, stopped.said)
    if row.spoiled:
        return ConversationState(row.attempt + 1)
    if row.said.is_erased or (not row.said.restartable and not row.ended):
        return ConversationState(row.attempt)
    paid = row.said.next_message if row.player == "model" else None
    return ConversationState(row.attempt, row.said, row.ended, said_next=None if paid is None else paid.text)


@frozen_type
class Conversing:
    """A unit whose output is a conversation: with whom, about what, and what it may cost."""

    key: UnitKey
    case: Record[TestCase]
    version: Record[PromptVersion] | None
    budget: Budget
    kept: KeptVerdicts
    players: Players
    review: OpenReview | None = None

    @property
    def setup(self) -> Conversation:
        """How its user is played."""
        setup = self.case.fields.conversation
        assert setup is not None, "the case has a conversation"
        return setup

    async def held(
        self, target: Converses, start: ConversationState, world: UnitInWorld | None = None
    ) -> Observed | Broken | AwaitingUser:
        """The conversation as one output, or that it waits for its user; what was said in an earlier start is not said again."""
        if world is not None and start.said.journal:
            world.session.take_up(start.said.journal)
        if world is not None and start.said.turns:
            world.session.reach()  # an earlier start may have
        around = None if world is None else InWorld(world)
        said, setup = start.said, self.setup
        talk = Talk(
            self.players(setup, said.next_message, self._seed(start.attempt)),
            partial(self._answered, target),
            partial(user_faults, setup, tools=frozenset() if world is None else world.tools),
            partial(self._keep, world=world, vouched=said.vouched),
            talk_id=f"{self.key.run_id}.{start.attempt}",
            max_turns=setup.most_turns,
            ends=setup.ends,
            played_by=setup.player,
            attempt=start.attempt,
            world=around,
            said_next=start.said_next,
            turns=[*said.turns],
            session={**said.session},
            tool_calls=said.tool_calls,
            ended=start.ended or None,  # pyright: ignore[reportArgumentType]  as it was kept
            seen=said.last,
            paid=said.player_cost,
            checker=setup.checked_by or "",
            review=None if self.review is None else partial(self.review, vouched=said.vouched),
            read=said.read,
        )
        seen = await talk.held()
        if not isinstance(seen, Waits):
            return seen
        if _as_json(talk.session) is None:
            return TargetErrored(
                "the agent's session contains values that are not JSON, so it cannot be saved while it waits for its user"
            )
        return AwaitingUser(user_packet_digest(self.key, start.attempt, talk.turns), setup.player)

    def _seed(self, attempt: int) -> int | None:
        """What the player draws its words with: the same in trials of the same user, another in each attempt."""
        if self.setup.repeats == 1:
            return None
        number = self.setup.user_seed(self.key.trial)
        return int(text_digest(f"{self.case.id}:{number}:{attempt}")[:7], 16)

    async def _answered(self, target: Converses, spoken: Spoken) -> Observed | TargetErrored:
        fields = self.case.fields
        asked = partial(target.answer_in, spoken, fields.inputs, self.version, timeout_ms=fields.timeout_ms)
        # What a model target calls is taken out of the budget call by call.
        return await asked() if isinstance(target, ModelTarget) else await self.budget.own_output(asked)

    async def _keep(self, talk: Talk, *, world: UnitInWorld | None, vouched: int) -> None:
        session = _as_json(talk.session)
        last = talk.seen and talk.seen.with_trusted(output={}, tool_calls=None)
        said = StoredConversation(
            turns=tuple(talk.turns),
            faults=talk.faults,
            session=session or {},
            journal=() if world is None else world.session.journal(),
            tool_calls=talk.tool_calls,
            last=last,
            restartable=session is not None,
            player_cost=talk.cost(),
            checker=talk.checker,
            read=talk.read,
            vouched=vouched,
            user_seed=None if self.setup.repeats == 1 else self.setup.user_seed(self.key.trial),
            next_message=None if talk.said_next is None else NextMessage(turn=len(talk.turns) + 1, text=talk.said_next),
        )
        spoiled = talk.faults[0].kind if talk.faults else ""
        row = TalkRow(self.key, talk.attempt, self.case.id, self.setup.player, said, talk.ended or "", spoiled)
        await self.kept.keep_talk(row)

    def verdict_on_user(self, seen: Observed, start: ConversationState) -> Observed | UserErrored | ConversationState:
        """The conversation where its user did nothing wrong; else the start of the next attempt, or that none is left."""
        facts = seen.conversation
        if facts is None or not facts.spoiled:
            return seen
        if start.attempt < self.setup.most_attempts:
            return ConversationState(start.attempt + 1)
        tries = "" if start.attempt == 1 else f" (the last of {start.attempt} conversations)"
        return UserErrored(seen, f"{facts.spoiled}{tries}")


def recorded_facts(setup: Conversation, messages: list[Json]) -> TalkFacts | None:
    """What is known of a recorded conversation whose user did wrong; nobody knows why it ended. None where it did its part."""
    turns = [Turn(user=turn.user, agent=turn.agent) for turn in exchanges(messages)]
    faults = user_faults(setup, turns)
    return TalkFacts(player=setup.player, ended="recorded", faults=faults) if faults else None


@frozen_type
class InWorld:
    """The world of a unit as a conversation looks at it."""

    world: UnitInWorld

    def calls(self) -> int:
        """How many calls were made so far."""
        return len(self.world.session.journal())

    def state(self) -> Json:
        """The state now."""
        return self.world.session.state()


def _as_json(session: Json) -> Json | None:
    """The agent's memory as JSON; None where it holds what JSON cannot."""
    try:
        to_json(session)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    return session
