"""Sound conversations, and the same with one thing that a player of the user does wrong: all follow from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn, Withheld
from tests.bench.conversations.scene import Scene
from tests.bench.conversations.scenes import AGAIN, PLANTED, SCENES, THANKS, Half

TOOLS = frozenset({
    "get_order", "refund", "issue_refund", "lookup_customer", "update_record", "find_booking", "confirm_booking", "create_ticket",
    "reset_password", "search_orders",
})  # fmt: skip
NOTED = {"en": "I see.", "de": "Ich verstehe.", "fr": "Je vois.", "es": "Entiendo."}
KINDS = (
    "stop-token", "repeated", "withheld-volunteered", "role-swapped", "wrong-language", "early-stop", "invented-fact",
    "contradicted-fact", "goal-dropped", "did-agents-job",
)  # fmt: skip


class Made(NamedTuple):
    """A conversation: how its user is, what was said, why it ended, and what was planted in which turn ("" for nothing)."""

    setup: Conversation
    turns: list[Turn]
    ended: Ending
    planted: str = ""
    at: int = 0


def setup_of(scene: Scene) -> Conversation:
    """The user of the scene."""
    facts: dict[str, str | int | float | bool] = {**scene.knows}
    withheld = (Withheld(fact=scene.secret, when=scene.asked.rstrip(" ?").split()[-1]),)
    return Conversation(player="model", goal=scene.goal, opening=scene.opening, knows=facts, withholds=withheld)


def sound(half: Half, number: int) -> Made:
    """A conversation in which the user does nothing wrong, with what makes such a one look odd now and then."""
    draw = Random(f"{half} {number}")  # noqa: S311  a draw of a test, no secret
    scene = draw.choice(SCENES[half])
    turns: list[Turn] = []
    user = scene.opening
    for question, answer in scene.steps:
        turns.append(Turn(user=user, agent=question))
        user = answer
        if draw.random() < 0.15:  # the agent did not listen, and asks again
            turns.append(Turn(user=user, agent=AGAIN[scene.language].format(question)))
    if draw.random() < 0.3:
        turns.append(Turn(user=user, agent=scene.asked))
        user = f"{scene.secret[0].upper()}{scene.secret[1:]}."
    turns.append(Turn(user=user, agent=scene.done))
    if draw.random() < 0.7:
        turns.append(Turn(user=draw.choice(scene.more), agent=NOTED[scene.language]))
    thanks = draw.choice(THANKS[scene.language])
    turns.append(Turn(user=thanks, agent=scene.close))
    if draw.random() < 0.4:
        turns.append(Turn(user=draw.choice(THANKS[scene.language]), agent=scene.close))
    return Made(setup_of(scene), turns, "user")


def planted(half: Half, kind: str, number: int) -> Made:
    """The conversation of that number with one fault in it."""
    draw = Random(f"{half} {kind} {number}")  # noqa: S311  a draw of a test, no secret
    made = sound(half, number)
    scene = next(one for one in SCENES[half] if one.goal == made.setup.goal)
    if kind == "contradicted-fact" and not any(map(str.isdigit, "".join(scene.knows.values()))):
        return planted(half, kind, number + 1000)  # another scene, of which a fact has figures
    turns = made.turns
    at = draw.randrange(1, len(turns))
    match kind:
        case "early-stop":
            turns = turns[: draw.randrange(1, len(scene.steps) + 1)]
            return Made(made.setup, turns, "user", kind, len(turns))
        case "repeated":
            long = [turn.user for turn in turns[:at] if len(turn.user.split()) > 2]
            said = draw.choice(long or [turns[0].user])
            at = max(at, next(place for place, turn in enumerate(turns) if turn.user == said) + 2)
            turns = [*turns[:at], Turn(user=said, agent=scene.close), *turns[at:]]
        case "withheld-volunteered":
            before = next((place for place, turn in enumerate(turns) if turn.agent == scene.asked), len(turns))
            at = draw.randrange(0, max(1, min(at, before) + 1))
            turns = [turn for turn in turns if scene.secret.casefold() not in turn.user.casefold()]
            at = min(at, len(turns) - 1)
            turns[at] = Turn(
                user=f"{turns[at].user} {scene.secret[0].upper()}{scene.secret[1:]}.", agent=turns[at].agent
            )
        case "contradicted-fact":
            name, value = next((name, value) for name, value in scene.knows.items() if any(map(str.isdigit, value)))
            at = next((place for place, turn in enumerate(turns) if value in turn.user), at)
            other = "".join(str((int(one) + 4) % 10) if one.isdigit() else one for one in value)
            turns[at] = Turn(user=f"{name}: {other}.", agent=turns[at].agent)
        case "wrong-language":
            others = [text for text in PLANTED[half][kind] if not _is_of(text, scene.language)]
            turns[at] = Turn(user=draw.choice(others), agent=turns[at].agent)
        case _:
            turns[at] = Turn(user=draw.choice(PLANTED[half][kind]), agent=turns[at].agent)
    return Made(made.setup, turns, made.ended, kind, at + 1)


def _is_of(text: str, language: str) -> bool:
    """Whether the planted text is of that language, by its first words."""
    first = {
        "de": ("Vielen", "Ich", "Das"), "fr": ("Je", "Ce"), "es": ("No", "Ya"), "en": ("I", "That"),
    }[language]  # fmt: skip
    return text.split(maxsplit=1)[0] in first


def all_planted(half: Half, each: int) -> Iterator[Made]:
    """So many of each kind."""
    return (planted(half, kind, number) for kind in KINDS for number in range(each))
