"""The player `script`: what the user says next follows from what the agent said. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.conversations import Conversation, Fact, Turn
from minions_evals_mcp.scoring.conversations.wording import asks_for, contains, vet_sought


def next_message(setup: Conversation, turns: Sequence[Turn]) -> str | None:
    """What the user says after those turns; None where the script has no more to say.

    A reply to what the agent said comes first, then a fact that the agent asks for, then the next fixed message.
    """
    fixed = setup.fixed
    if not turns:
        return fixed[0]
    heard = turns[-1].agent
    told = [turn.user for turn in turns]
    for reply in setup.replies:
        if contains(heard, reply.when) and told.count(reply.say) < reply.times:
            return reply.say
    return _asked_fact(setup, heard, told) or _next_fixed(fixed, told)


def _next_fixed(fixed: Sequence[str], told: Sequence[str]) -> str | None:
    """The first fixed message that was not said yet: they are said in order."""
    said = 0
    for message in told:
        said += said < len(fixed) and message == fixed[said]
    return fixed[said] if said < len(fixed) else None


def _asked_fact(setup: Conversation, heard: str, told: Sequence[str]) -> str | None:
    """The facts that are asked for, those of several together; a withheld one once its question is asked."""
    facts = [_fact(name, value) for name, value in setup.knows.items() if asks_for(heard, name)]
    facts += [one.fact for one in setup.withholds if one.when is not None and contains(heard, one.when)]
    message = " ".join(facts)
    return message if facts and told.count(message) < 2 else None


def _fact(name: str, value: Fact) -> str:
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return f"{name}: {text}."


def vet_conversation(setup: Conversation) -> None:
    """Refuses a pattern that cannot be searched, naming its field."""
    for number, turn in enumerate(setup.turns):
        if not isinstance(turn, str):
            vet_sought(turn.when, field=f"turns[{number}].when")
    for number, one in enumerate(setup.withholds):
        if one.when is not None:
            vet_sought(one.when, field=f"withholds[{number}].when")
    if setup.ends is not None and setup.ends.says is not None:
        vet_sought(setup.ends.says, field="ends.says")
