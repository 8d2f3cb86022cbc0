"""The evidence in a tool log that a skill was used: called by its name, or its SKILL.md read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import json_texts

SKILL_TOOLS = frozenset({"skill", "skills", "use_skill", "load_skill", "activate_skill", "invoke_skill", "read_skill"})
"""Tools by which agents take a skill up, in lower case."""
NAMES = ("skill", "skill_name", "skillName", "name", "command")
"""Arguments of such a tool that name the skill."""
_FILE = re.compile(r"(?<![^\s\\/'\"=:<>|])([^\s\\/'\"=:<>|]{1,255}+)[\\/]{1,4}+skill\.md\b", re.IGNORECASE)
"""The folder of a SKILL.md, whose name is the skill's."""


def uses_skill(calls: Sequence[ToolCall], skill: str) -> bool:
    """Returns whether one of the calls takes that skill up.

    It is a call of a skill tool that names it (alone, or after its plugin: `plugin:skill`), a tool of the skill's own name, or
    one with an argument in which the path of the skill's SKILL.md stands.
    """
    wanted = skill.casefold()
    return any(_takes_up(call, wanted) for call in calls)


def skills_in(calls: Sequence[ToolCall]) -> list[str]:
    """Returns the names of the skills that the calls take up, a name for each call; one that failed takes up none."""
    return [name for call in calls if call.error is None and (name := _named(call))]


def is_named(used: str, skill: str) -> bool:
    """Whether the skill that was used is that one, with or without its plugin's name: `plugin:skill`."""
    return skill.casefold() in {used.casefold(), used.casefold().rpartition(":")[2]}


def _named(call: ToolCall) -> str:
    texts = list(json_texts(call.arguments))
    if call.tool.casefold() not in SKILL_TOOLS:
        return next((found[1] for text in texts if (found := _FILE.search(text))), "")
    told = next((text for key in NAMES if isinstance(text := call.arguments.get(key), str)), next(iter(texts), ""))
    return told.strip().lstrip("/")


def _takes_up(call: ToolCall, skill: str) -> bool:
    tool = call.tool.casefold()
    texts = [text.casefold() for text in json_texts(call.arguments)]
    if tool in SKILL_TOOLS:
        return any(skill in {text.strip(), text.strip().rpartition(":")[2], text.strip().lstrip("/")} for text in texts)
    files = (found[1] for text in texts for found in _FILE.finditer(text))
    return tool.rpartition(":")[2] == skill or skill in files
