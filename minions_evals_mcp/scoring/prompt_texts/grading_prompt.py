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
from minions_evals_mcp.scoring.nunjucks import rendered, rendered_within, templates_in, vet_template
from minions_evals_mcp.scoring.nunjucks.values import whole

SEVERAL = "of its messages only one from the system and one from the user, in this order, are carried out"


class Told(NamedTuple):
    """What the model is sent."""

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
    found = _json(template)
    if _is_conversation(found) and _messages(found) is None:
        raise InvalidRecordError(SEVERAL, field="rubricPrompt")


def told(template: str, given: Mapping[str, JsonValue]) -> Told:
    """The template filled with those values; raises `BadInputError` where that cannot be done.

    An object among the values is filled in as JSON, as promptfoo does.
    """
    text = filled(template, given)
    found = _messages(_json(text)) if template.lstrip().startswith("[") else None
    return found or Told(None, text)


def filled(template: str, given: Mapping[str, JsonValue]) -> str:
    """The filled template as one text; raises as `told` does. In one that is JSON each text is filled by itself."""
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
            return [_whole(one) for one in value]
        case dict():
            return {key: _whole(one) for key, one in value.items()}
        case _:
            return value


def _json(text: str) -> list[JsonValue] | Json | None:
    found = perhaps_json(text)
    return found if isinstance(found, list | dict) else None


def _flat(value: JsonValue) -> JsonValue:
    """The value with its objects as texts."""
    match value:
        case dict():
            return _text(value)
        case list():
            return [_text(one) if isinstance(one, list | dict) else one for one in value]
        case _:
            return value


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_conversation(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)


def _messages(value: JsonValue) -> Told | None:
    """The turn that the messages are: a user's, perhaps after the system's, or the system's alone; None for any other."""
    match value:
        case [{"role": "user" | "system" | "developer", "content": str(user)}]:
            return Told(None, user)
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return Told(system, user)
        case _:
            return None
