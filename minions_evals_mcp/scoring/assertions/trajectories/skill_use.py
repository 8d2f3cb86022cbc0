"""The evidence in a tool log that a skill was used: called by its name, or its SKILL.md read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall

SKILL_TOOLS = frozenset({"skill", "skills", "use_skill", "load_skill", "activate_skill", "invoke_skill", "read_skill"})
"""Tools by which agents take a skill up, in lower case."""


def uses_skill(calls: Sequence[ToolCall], skill: str) -> bool:
    """Returns whether one of the calls takes that skill up.

    It is a call of a skill tool that names it (alone, or after its plugin: `plugin:skill`), a tool of the skill's own name, or
    one with an argument in which the path of the skill's SKILL.md stands.
    """
    wanted = skill.casefold()
    return any(_takes_up(call, wanted) for call in calls)


def _takes_up(call: ToolCall, skill: str) -> bool:
    tool = call.tool.casefold()
    texts = [text.casefold() for text in _texts(call.arguments)]
    if tool in SKILL_TOOLS:
        return any(skill in {text.strip(), text.strip().rpartition(":")[2], text.strip().lstrip("/")} for text in texts)
    return tool.rpartition(":")[2] == skill or any(f"{skill}/skill.md" in text for text in texts)


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case _:
            return
