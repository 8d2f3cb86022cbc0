"""Who speaks in a message: a user that takes the assistant's place is found where no phrase gives it away."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.conversations import Conversation, Turn
from minions_evals_mcp.scoring.conversations.speaker import READ, features, serving_log_odds
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from tests.bench.conversations.speaker import figures


@pytest.mark.parametrize("part", ["a", "b"])
def test_of_swapped_messages_by_an_author_who_saw_no_rule_most_are_found(part: str) -> None:
    found, swapped, accused, sound = figures(part, english=True)
    assert (found >= 0.84 * swapped, accused <= 0.05 * sound) == (True, True)
    found, swapped, accused, sound = figures(part, english=False)
    assert (found >= 0.35 * swapped, accused <= 0.05 * sound) == (True, True)


SERVING = "That fare cannot be changed, but you can add a bag until the day before departure."


def test_a_message_is_accused_only_in_answer_to_the_agent() -> None:
    setup = Conversation(player="model", goal="Add a bag to the flight.", opening="Hello.")
    answered = [Turn(user="Hello.", agent="What would you like to change?"), Turn(user=SERVING, agent="I see.")]
    assert [(fault.kind, fault.turn) for fault in user_faults(setup, answered)] == [("role-swapped", 2)]
    assert user_faults(setup.model_copy(update={"opening": None}), [Turn(user=SERVING, agent="I see.")]) == ()


@pytest.mark.parametrize("text", ["", " ", "?", "\ud800", "\u0000", "ok", "12", "x" * 10_000, "\u3002" * 5_000])
def test_any_text_has_odds(text: str) -> None:
    assert abs(serving_log_odds(text)) < 50


def test_of_a_long_message_only_the_beginning_is_read() -> None:
    begun = "I would like to return the kettle. " * 40
    assert features(begun[:READ]) == features(begun)
