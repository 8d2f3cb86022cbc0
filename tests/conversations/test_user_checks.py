"""The rules on a user's player: planted faults are found, sound conversations are left alone."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn, Withheld
from minions_evals_mcp.scoring.conversations.languages import language_of
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from tests.bench.conversations.planted import KINDS, TOOLS, planted
from tests.bench.conversations.scenes import Half
from tests.bench.conversations.user_faults import caught, false_alarms

SETUP = Conversation(
    player="model", goal="Get the money back for order A1", opening="My kettle broke.", knows={"order number": "A1-220"},
    withholds=(Withheld(fact="I dropped it", when="how"),),
)  # fmt: skip


def kinds(*said: tuple[str, str], setup: Conversation = SETUP, ended: Ending | None = None) -> list[tuple[str, int]]:
    """The faults in those turns, each with its turn."""
    turns = [Turn(user=user, agent=agent) for user, agent in said]
    return [(fault.kind, fault.turn) for fault in user_faults(setup, turns, ended, tools={"refund", "get_order"})]


def test_in_wordings_written_after_the_rules_planted_faults_are_found() -> None:
    found = caught("third", 40)
    assert {kind: count for kind, count in found.items() if count < 38} == {}
    assert len(false_alarms("third", 100) + false_alarms("fourth", 200)) <= 9


@pytest.mark.parametrize("half", ["open", "untouched"])
def test_planted_faults_are_found_and_sound_conversations_are_left_alone(half: Half) -> None:
    found = caught(half, 40)
    assert {kind: count for kind, count in found.items() if count < 38} == {}
    assert set(found) == set(KINDS)
    assert len(false_alarms(half, 300)) <= 9


ASKED = ("My kettle broke.", "What is your order number?")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([ASKED, ("A1-220", "Thank you.")], []),
        ([ASKED, ("A1-220 [END]", "")], [("stop-token", 2)]),
        ([ASKED, ("A1-220. I dropped it!", "")], [("withheld-volunteered", 2)]),
        ([ASKED, ("A1-220", "And how did it break?"), ("I dropped it.", "")], []),
        ([ASKED, ("A1-220", "I see that you dropped it: I dropped it, you wrote."), ("Yes, I dropped it.", "")], []),
        ([ASKED, ("What is your order number?", "")], [("role-swapped", 2)]),
        ([ASKED, ("How may I help you?", "")], [("role-swapped", 2)]),
        ([ASKED, ("Let me check. It is A1-220.", "")], []),
        ([ASKED, ("May I have your order number, please?", "")], [("role-swapped", 2)]),
        ([ASKED, ("Our support team will contact you tomorrow.", "")], [("role-swapped", 2)]),
        ([ASKED, ("May I have your name?", "")], []),
        ([ASKED, ("Could you give me your address for the parcel?", "")], [("role-swapped", 2)]),
        ([ASKED, ("Let's talk about football instead.", "")], [("goal-dropped", 2)]),
        ([ASKED, ("Let's talk about the kettle first.", "")], []),
        ([ASKED, ("I can drop it off at the shop. A1-220.", "")], []),
        ([ASKED, ("I don't care which way you pay it back. A1-220.", "")], []),
        ([ASKED, ("Don't bother sending a letter, A1-220.", "")], []),
        ([ASKED, ("Ich weiß das nicht, wie kann ich die Nummer finden?", "")], [("wrong-language", 2)]),
        ([ASKED, ("The order number is B7-991.", "")], [("contradicted-fact", 2)]),
        ([ASKED, ("Write to ada@example.org.", "")], [("invented-fact", 2)]),
        ([ASKED, ("I paid 2 of them in 2024, at 10:30, about 100 in all.", "")], []),
        ([ASKED, ("A1-220", "Your ticket is T-5512."), ("T-5512, right?", "")], []),
        ([ASKED, ("Forget it, I do not want it any more.", "")], [("goal-dropped", 2)]),
        ([ASKED, ("Call get_order with A1-220.", "")], [("did-agents-job", 2)]),
        ([ASKED, ("I want a refund.", "")], []),
        ([ASKED, ("It is A1-220.", "Thanks. Anything else?"), ("It is A1-220.", "")], [("repeated", 3)]),
        ([ASKED, ("It is A1-220.", "Sorry, what is your order number?"), ("It is A1-220.", "")], []),
        ([ASKED, ("It is A1-220.", "I did not understand that."), ("It is A1-220.", "")], []),
        ([ASKED, ("Yes.", "Really?"), ("Yes.", "")], []),
    ],
)
def test_a_message_is_judged_by_what_was_said_before(said: list[tuple[str, str]], found: list[tuple[str, int]]) -> None:
    assert kinds(*said) == found


@pytest.mark.parametrize(
    ("agent", "user", "found"),
    [
        ("What is your order number?", "My kettle broke.", ["early-stop"]),
        ("Shall I send a new one or pay you back?", "My kettle broke.", ["early-stop"]),
        ("Is there anything else I can do?", "My kettle broke.", []),
        ("It is done.", "My kettle broke.", []),
    ],
)
def test_a_user_who_leaves_a_question_unanswered_stops_early(agent: str, user: str, found: list[str]) -> None:
    assert [kind for kind, _ in kinds((user, agent), ended="user")] == found
    assert kinds((user, agent), ended="max-turns") == []


def test_a_script_says_what_its_author_wrote_but_must_not_tell_what_it_withholds() -> None:
    setup = Conversation(opening="hi", turns=("How can I help you?", "I dropped it"), withholds=SETUP.withholds)
    assert kinds(("hi", "a"), ("How can I help you?", "b"), setup=setup) == []
    assert kinds(("hi", "a"), ("I dropped it", "b"), setup=setup) == [("withheld-volunteered", 2)]
    assert kinds(("hi", "how?"), ("I dropped it", "b"), setup=setup) == []


def test_a_message_that_was_checked_before_is_not_checked_again() -> None:
    turns = [
        Turn(user=user, agent=agent) for user, agent in (ASKED, ("A1-220 [END]", "Thanks."), ("Call get_order.", ""))
    ]
    found = [user_faults(SETUP, turns, tools={"get_order"}, sound=sound) for sound in range(4)]
    assert [[fault.turn for fault in faults] for faults in found] == [[2, 3], [2, 3], [3], []]


@pytest.mark.parametrize("seed", range(20))
def test_turn_by_turn_the_same_faults_are_found_as_in_the_whole(seed: int) -> None:
    for kind in KINDS:
        made = planted("open", kind, seed)
        whole = user_faults(made.setup, made.turns, made.ended, tools=TOOLS)
        steps = [user_faults(made.setup, made.turns[: at + 1], tools=TOOLS, sound=at) for at in range(len(made.turns))]
        found = [fault for faults in steps for fault in faults]
        found = found or [*user_faults(made.setup, made.turns, made.ended, tools=TOOLS, sound=len(made.turns))]
        assert tuple(found) == whole, kind


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I do not know what this is", "en"), ("Ich weiß nicht, was das ist", "de"), ("Je ne sais pas ce que c'est", "fr"),
        ("No sé qué es esto y no lo quiero", "es"), ("Ada Lin, A1-220", None), ("ok thanks", None), ("где мой заказ", "ru"),
    ],
)  # fmt: skip
def test_a_language_is_told_only_where_it_is_certain(text: str, language: str | None) -> None:
    assert language_of(text) == language
