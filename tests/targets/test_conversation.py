"""Prompts as the conversations that models are sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.targets.conversation import takes_calls, turns

USER, ASSISTANT = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}


@given(st.text())
def test_a_text_is_the_users_one_turn(text: str) -> None:
    said = turns(text + "!")
    assert said is not None
    assert (said.plain, said.text) == ((None, text + "!"), text + "!")


@pytest.mark.parametrize("text", ["[]", "[1]", '{"role": "user", "content": "a"}', '[{"content": "a"}]', "[" * 100_000])
def test_json_that_is_no_list_of_messages_is_a_text(text: str) -> None:
    said = turns(text)
    assert said is not None
    assert said.plain == (None, text)


def test_a_conversation_keeps_its_turns_and_says_what_the_system_says_apart() -> None:
    first, second = {"role": "system", "content": "x"}, {"role": "developer", "content": "y"}
    said = turns(json.dumps([first, PARTS, ASSISTANT, second, USER]))
    assert said is not None
    assert (said.plain, said.messages) == (None, (first, PARTS, ASSISTANT, second, USER))
    assert said.apart() == ("x\n\ny", (PARTS, ASSISTANT, USER))
    assert said.text == "x\na\nb\nb\ny\na"


@pytest.mark.parametrize(
    "message",
    [
        '{"role": "system", "content": "x"}',
        '{"role": "tool", "content": "x"}, {"role": "user", "content": "x"}',
        '{"role": "user", "content": null}',
        '{"role": "user", "content": []}',
        '{"role": "user", "content": "x", "tool_calls": []}',
        '{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}',
        '{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]}',
    ],
)
def test_what_is_no_text_of_a_known_role_is_no_conversation(message: str) -> None:
    assert turns(f"[{message}]") is None


def test_messages_that_call_tools_and_tell_what_they_gave_are_taken_where_the_interface_has_them() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}],
    }
    gave = {"role": "tool", "tool_call_id": "1", "content": "3"}
    said = turns(json.dumps([USER, call, gave]), calls=True)
    assert said is not None
    assert (said.plain, said.messages, said.text) == (None, (USER, call, gave), "a\n\n3")
    assert turns(json.dumps([USER, call, gave])) is None
    assert turns(json.dumps([{**USER, "audio": {}}]), calls=True) is None
    assert [takes_calls("openai", "gpt-x"), takes_calls("openai", "responses:gpt-x"), takes_calls("anthropic", "c")] == [
        True, False, False,
    ]  # fmt: skip
