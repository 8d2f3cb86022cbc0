"""The causes of a conversation's failure name the turn, with the words that show it."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.checks import SpokenTurn
from minions_evals_mcp.scoring.conversations.causes import turn_causes

KNOWS: dict[str, str | int | float | bool] = {"order number": "A1-22", "city": "Lyon"}
CALLED = (ToolCall(tool="refund"),)


def found(*said: tuple[str, str], calls: int | None = None) -> list[tuple[str, int]]:
    """The causes, each with its turn; `calls` is the turn in which a call was made, 0 for none; None: nobody recorded them."""
    turns = [
        SpokenTurn(user, agent, None if calls is None else CALLED if at == calls else ())
        for at, (user, agent) in enumerate(said, 1)
    ]
    causes = turn_causes(turns, KNOWS)
    assert all(cause.quotation in " ".join(turns[cause.turn - 1].agent.split()) for cause in causes)
    assert all(f"turn {cause.turn}" in cause.said for cause in causes)
    return [(cause.kind, cause.turn) for cause in causes]


@pytest.mark.parametrize(
    ("said", "calls", "causes"),
    [
        ([("A1-22", "And what is your order number?")], None, [("asked-again", 1)]),
        ([("hi", "What is your order number?"), ("A1-22", "Thanks."), ("ok", "Please give me the order number.")], None,
         [("asked-again", 3)]),
        ([("hi", "What is your order number?"), ("A1-22", "Your order number is noted.")], None, []),
        ([("hi", "What is your order number?"), ("A1-22", "Which city is it?")], None, []),
        ([("I am in Lyon", "In which city are you?")], None, [("asked-again", 1)]),
        ([("A1-22", "Thanks."), ("ok", "Your order number is B7-31, right.")], None, [("forgot", 2)]),
        ([("A1-22", "Thanks."), ("ok", "Your order number is A1-22.")], None, []),
        ([("hi", "The order number is B7-31."), ("A1-22", "Thanks.")], None, []),
        ([("A1-22", "Thanks."), ("ok", "Your parcel number is B7-31.")], None, []),
        ([("A1-22", "Thanks."), ("ok", "You have not given me an order number.")], None, [("forgot", 2)]),
        ([("I am in Lyon", "Fine."), ("ok", "I still don't know your city.")], None, [("forgot", 2)]),
        ([("A1-22", "I do not have any parcel for the order number A1-22.")], None, []),
        ([("A1-22", "I do not have a tracking code yet.")], None, []),
        ([("a", "I cannot help you with this."), ("b", "I cannot help you with this.")], None, [("looped", 2)]),
        ([("a", "I cannot help you with this."), ("a", "I cannot help you with this.")], None, []),
        ([("a", "One moment."), ("b", "One moment.")], None, []),
        ([("a", "Your ticket is T-1."), ("b", "As I said, your ticket is T-2.")], None, [("contradicted-itself", 2)]),
        ([("a", "The number of your refund is R-1."), ("b", "The number of your parcel is P-2.")], None, []),
        ([("a", "I will refund the order now."), ("b", "Anything else?")], 0, [("promised", 1)]),
        ([("a", "I will refund the order now."), ("b", "Anything else?")], 2, []),
        ([("a", "I will refund the order now."), ("b", "Anything else?")], None, []),
        ([("a", "I have refunded your order.")], 0, [("claimed", 1)]),
        ([("a", "I have refunded your order.")], 1, []),
        ([("a", "What is it?"), ("b", "Have a nice day!")], 0, [("ended-early", 2)]),
        ([("a", "Done."), ("b", "Have a nice day!")], 1, []),
    ],
)  # fmt: skip
def test_a_cause_names_its_turn(said: list[tuple[str, str]], calls: int | None, causes: list[tuple[str, int]]) -> None:
    assert found(*said, calls=calls) == causes
