"""The player `script`: what it says next follows from what the agent said."""

from __future__ import annotations

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.conversations import Conversation, Turn
from minions_evals_mcp.scoring.conversations.script import next_message

Json = dict[str, JsonValue]


def talk(setup: Json, *answers: str) -> list[str | None]:
    """What the user says, to the end or to the last of the answers."""
    conversation = Conversation.model_validate(setup)
    turns: list[Turn] = []
    said: list[str | None] = []
    for answer in answers:
        message = next_message(conversation, turns)
        said.append(message)
        if message is None:
            break
        turns.append(Turn(user=message, agent=answer))
    return said


@pytest.mark.parametrize(
    ("setup", "answers", "said"),
    [
        ({"turns": ["one", "two"]}, ["a", "b", "c"], ["one", "two", None]),
        ({"opening": "hi", "turns": ["one"]}, ["a", "b", "c"], ["hi", "one", None]),
        ({"turns": ["again", "again"]}, ["a", "b", "c"], ["again", "again", None]),
        (
            {"opening": "hi", "turns": [{"when": "NAME", "say": "Ada"}, "bye"]},
            ["your name?", "hello", "c"],
            ["hi", "Ada", "bye"],
        ),
        ({"opening": "hi", "turns": [{"when": "name", "say": "Ada"}]}, ["name?", "name?"], ["hi", "Ada"]),
        ({"opening": "hi", "turns": [{"when": "name", "say": "Ada"}]}, ["name?", "name?", "c"], ["hi", "Ada", None]),
        (
            {"opening": "hi", "turns": [{"when": "name", "say": "Ada", "times": 2}]},
            ["name?", "name?", "c"],
            ["hi", "Ada", "Ada"],
        ),
        ({"opening": "hi", "turns": [{"when": r"/order (no|number)\b/", "say": "A1"}]}, ["Order no?", "b"], ["hi", "A1"]),
        ({"opening": "hi", "knows": {"order number": "A1"}}, ["What is your order number?", "b"], ["hi", "order number: A1."]),
        ({"opening": "hi", "knows": {"order number": "A1"}}, ["Please give me the order number.", "b"], ["hi", "order number: A1."]),
        ({"opening": "hi", "knows": {"order number": "A1"}}, ["Your order number is fine.", "b"], ["hi", None]),
        (
            {"opening": "hi", "knows": {"name": "Ada", "paid": True}},
            ["Your name? And is it paid?", "b"],
            ["hi", "name: Ada. paid: yes."],
        ),
        ({"opening": "hi", "withholds": [{"fact": "I broke it.", "when": "how"}]}, ["How so?", "b"], ["hi", "I broke it."]),
        ({"opening": "hi", "withholds": [{"fact": "I broke it."}]}, ["How so?", "b"], ["hi", None]),
    ],
)  # fmt: skip
def test_the_next_message_follows_from_the_answer(setup: Json, answers: list[str], said: list[str | None]) -> None:
    assert talk(setup, *answers) == said


@pytest.mark.parametrize(
    ("setup", "field"),
    [
        ({}, "opening"),
        ({"turns": [{"when": "a", "say": "b"}]}, "opening"),
        ({"player": "model"}, "goal"),
        ({"player": "model", "goal": "g", "turns": ["a"]}, "turns"),
        ({"opening": "a", "model": "openai:x"}, "model"),
        ({"opening": "a", "ends": {}}, "says"),
        ({"opening": "a", "ends": {"state": "a["}}, "JMESPath"),
        ({"opening": "a", "maxTurns": 0}, "maxTurns"),
    ],
)
def test_a_conversation_that_cannot_be_played_is_refused(setup: Json, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Conversation.model_validate(setup)


@pytest.mark.parametrize(
    ("setup", "most"),
    [
        ({"opening": "a"}, 10),
        ({"turns": [str(number) for number in range(14)]}, 14),
        ({"opening": "a", "turns": ["b", {"when": "c", "say": "d", "times": 12}]}, 14),
        ({"turns": [str(number) for number in range(14)], "maxTurns": 3}, 3),
    ],
)
def test_a_script_is_said_to_its_end_unless_a_limit_is_given(setup: Json, most: int) -> None:
    assert Conversation.model_validate(setup).most_turns == most
