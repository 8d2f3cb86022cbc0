"""A `rubricPrompt`: what a person's own Nunjucks template tells the model that grades.

Whose words are whose is settled by the template: what fills it is never rendered again, and in a template that is JSON
each message is filled by itself, so that nothing in an output begins another. A template that becomes JSON only when it
is filled (`[{"role": "user", "content": {{ output | dump }}}]`) is read as messages where it begins with a bracket.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.lenient import parsed
from minions_evals_mcp.scoring.nunjucks.templates import rendered, rendered_within, templates_in, vet_template
from minions_evals_mcp.scoring.nunjucks.values import whole

SEVERAL = "of its messages only one from the system and one from the user, in this order, are carried out"


class FilledPrompt(NamedTuple):
    """The messages that the model is sent."""

    system: str | None
    user: str


def vet_words(template: str) -> None:
    """Refuses a template that is blank, that Nunjucks would render otherwise, or that makes several turns.

    Raises `UnsupportedError` for the second, `InvalidRecordError` for the others.
    """
    if not template.strip():
        raise InvalidRecordError("must say something", field="rubricPrompt")
    for part in templates_in(template):
        vet_template(part)
    messages = _json(template)
    if _is_conversation(messages) and _messages(messages) is None:
        raise InvalidRecordError(SEVERAL, field="rubricPrompt")


def filled_prompt(template: str, given: Mapping[str, JsonValue]) -> FilledPrompt:
    """The template filled with those values; raises `BadInputError` where that cannot be done.

    An object among the values is filled in as JSON, as promptfoo does.
    """
    text = filled(template, given)
    messages = _messages(_json(text)) if template.lstrip().startswith("[") else None
    return messages or FilledPrompt(None, text)


def filled(template: str, given: Mapping[str, JsonValue]) -> str:
    """The filled template as one text; raises as `filled_prompt` does. In one that is JSON each text is filled by itself."""
    values = {name: _flat(value) for name, value in given.items()}
    whole = _json(template)
    return rendered(template, values) if whole is None else _text(rendered_within(whole, values))


def perhaps_json(text: str) -> JsonValue:
    """The value of a text that is JSON, else the text; whole numbers are integers, as JavaScript writes them."""
    try:
        return _whole(parsed(text))
    except (ValueError, RecursionError):
        return text


def _whole(value: JsonValue) -> JsonValue:
    match value:
        case float():
            return whole(value)
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case _:
            return value


def _json(text: str) -> list[JsonValue] | Json | None:
    document = perhaps_json(text)
    return document if isinstance(document, list | dict) else None


def _flat(value: JsonValue) -> JsonValue:
    """The value with its objects as texts."""
    match value:
        case dict():
            return _text(value)
        case list():
            return [_text(item) if isinstance(item, list | dict) else item for item in value]
        case _:
            return value


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_conversation(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(message, dict) and "role" in message for message in value)
    )


def _messages(value: JsonValue) -> FilledPrompt | None:
    """The turn that the messages are: a user's, perhaps after the system's, or the system's alone; None for any other."""
    match value:
        case [{"role": "user" | "system" | "developer", "content": str(user)}]:
            return FilledPrompt(None, user)
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return FilledPrompt(system, user)
        case _:
            return None
