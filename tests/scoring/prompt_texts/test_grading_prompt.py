"""A `rubricPrompt` filled in: beside what promptfoo sent for the same, what is refused, and what an output cannot break."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.scoring.prompt_texts.grading_prompt import FilledPrompt, filled_prompt, perhaps_json, vet_words

ROWS: list[dict[str, str]] = [
    json.loads(line) for line in (Path(__file__).parent / "promptfoo_words.jsonl").read_text().splitlines()
]
VARIABLES: dict[str, JsonValue] = {
    "topic": "cats", "num": 1.5, "obj": {"k": "v", "n": [1, 2]}, "lst": ["a", {"z": 1}, 2],
}  # fmt: skip
CHAT = '[{"role": "system", "content": "Grade."}, {"role": "user", "content": "{{ output }} by {{ rubric }}"}]'


def as_sent(text: str) -> FilledPrompt:
    """What stands in the JSON that promptfoo hands to a provider of chats."""
    found = perhaps_json(text)
    match found:
        case [{"role": "user", "content": str(user)}]:
            return FilledPrompt(None, user)
        case [{"role": "system", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return FilledPrompt(system, user)
        case _:
            return FilledPrompt(None, text)


@pytest.mark.parametrize("row", ROWS)
def test_a_template_is_filled_as_promptfoo_fills_it(row: dict[str, str]) -> None:
    values = {**VARIABLES, "n": "", "output": perhaps_json(row["output"]), "rubric": "is cats"}
    found = filled_prompt(row["template"], values)
    wanted = as_sent(row["sent"])
    if wanted.user.startswith('[{"role"'):  # a message that is no text: promptfoo sends it, and the provider refuses it
        assert perhaps_json(found.user) == perhaps_json(wanted.user)
    else:
        assert found == wanted


@given(st.text())
def test_no_output_makes_another_message_of_a_template_that_is_json(output: str) -> None:
    assert filled_prompt(CHAT, {"output": output, "rubric": "r"}) == FilledPrompt("Grade.", f"{output} by r")


@given(st.text())
def test_a_text_is_never_read_as_messages_because_of_the_output(output: str) -> None:
    assert filled_prompt("{{ output }}", {"output": output}) == FilledPrompt(None, output)


def test_messages_may_be_made_by_filling_in() -> None:
    template = '[{"role": "user", "content": {{ output | dump }}}]'
    assert filled_prompt(template, {"output": 'say "hi"'}) == FilledPrompt(None, 'say "hi"')


@pytest.mark.parametrize(
    ("template", "error", "said"),
    [
        ("  ", InvalidRecordError, "must say something"),
        ("{% include 'x' %}", UnsupportedError, "include"),
        ("{{ output.normalize() }}", UnsupportedError, "method"),
        ('[{"role": "user", "content": "{% include a %}"}]', UnsupportedError, "include"),
        ('[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]', InvalidRecordError, "only one"),
        ('[{"role": "user", "content": [{"type": "text"}]}]', InvalidRecordError, "only one"),
    ],
)
def test_what_is_not_carried_out_is_refused(template: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        vet_words(template)


def test_a_system_message_alone_is_sent_as_the_users() -> None:
    assert filled_prompt('[{"role": "system", "content": "a {{x}}"}]', {"x": 1}) == FilledPrompt(None, "a 1")
