"""Agent Skills: a skill's folder (`SKILL.md`), and the cases beside it (`evals/evals.json`) as they stand in its convention.

The convention (agentskills.io) has no schema: a list of evals, or a mapping that holds one under `evals`, each a `prompt` with
an `expected_output` in prose, `files`, and statements about the output under one of several names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_json, parse_yaml
from minions_evals_mcp.skills.front_matter import closing_line

SKILL_FILE = "SKILL.md"
EVALS = Path("evals") / "evals.json"
PROMPTS = ("prompt", "query", "input")
SAYS = ("assertions", "expectations", "expect", "must_have", "must_contain", "criteria")
SAYS_NOT = ("must_not_have", "must_not_contain", "fail")
TEXTS = ("text", "statement", "description", "check", "assertion", "expectation")
"""Under which of its keys a statement that is a mapping says what it states."""
MOST_FRONT = 200
MAX_NAME = 64
SKILL_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""A skill's name by the Agent Skills specification: the name of its folder too."""


class SkillEval(Value):
    """One eval: what the agent is asked, the files that it is given, and the statements that must hold of its output.

    `assertions` are checks by rule that stand among the statements; `should_trigger` whether the skill is meant to be used,
    None where the file does not say.
    """

    id: str
    prompt: str
    name: str = ""
    expected_output: str = ""
    files: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    assertions: tuple[JsonValue, ...] = ()
    should_trigger: bool | None = None
    extra: Json = {}

    @property
    def is_judged(self) -> bool:
        """Returns whether anything is said of what the output should be."""
        return bool(self.statements or self.assertions or self.expected_output)


class SkillEvals(Value):
    """The evals of one file, and the skill that it names."""

    skill: str
    evals: tuple[SkillEval, ...]


def skill_name(folder: Path) -> str:
    """The name in the front matter of the folder's SKILL.md; raises `BadInputError` where there is none."""
    path = folder / SKILL_FILE
    try:
        lines = bounded_files.read_text(path).splitlines()[:MOST_FRONT]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{path} cannot be read: {error}.", remedy=f"A skill is a folder with a {SKILL_FILE}."
        ) from None
    closed = closing_line(lines)
    if closed is None:
        raise BadInputError(f"{path}:1: a skill begins with front matter between two lines of ---.")
    front = parse_yaml("\n".join(lines[1:closed]), str(path))
    name = cast("dict[str, object]", front).get("name") if isinstance(front, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise InvalidRecordError("a skill needs a name", field="name", where=str(path))
    if len(name) > MAX_NAME or SKILL_NAME.fullmatch(name) is None:
        raise InvalidRecordError(
            f"{name[:MAX_NAME]!r} is not a skill name: use 1 to {MAX_NAME} lowercase letters, digits and single hyphens",
            field="name",
            where=str(path),
        )
    return name


def read_evals(path: Path) -> SkillEvals:
    """The evals of the file; raises `InvalidRecordError` naming the file, the eval and what in it does not fit."""
    try:
        text = bounded_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.", remedy="Name a skill's evals.json.") from None
    document = cast("JsonValue", parse_json(text, str(path)))
    named = document if isinstance(document, dict) else {}
    listed = named.get("evals", named.get("cases")) if named else document
    if not isinstance(listed, list) or not listed:
        raise InvalidRecordError(
            'evals are a list, or `{"evals": […]}`, with at least one', field="evals", where=str(path)
        )
    evals = tuple(_eval(row, number, path) for number, row in enumerate(listed, 1))
    seen = set[str]()
    for skill_eval in evals:
        if skill_eval.id in seen:
            raise InvalidRecordError(f"duplicate id {skill_eval.id!r}", field="id", where=str(path))
        seen.add(skill_eval.id)
    skill = named.get("skill_name", named.get("skill"))
    return SkillEvals(skill=skill if isinstance(skill, str) else "", evals=evals)


def _eval(wire: JsonValue, number: int, path: Path) -> SkillEval:
    where = f"{path}: eval {number}"
    if not isinstance(wire, dict):
        raise InvalidRecordError("an eval is a mapping with a prompt", where=where)
    prompt = next((wire[name] for name in PROMPTS if isinstance(wire.get(name), str)), None)
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidRecordError("an eval needs a prompt", field="prompt", where=where)
    held = [*_listed(wire, SAYS, where)]
    statements = [*(statement_read for statement in held if (statement_read := _text(statement, where)) is not None)]
    statements += [
        f"The output does not do or say this: {_text(statement, where)}" for statement in _listed(wire, SAYS_NOT, where)
    ]
    triggers = wire.get("should_trigger", wire.get("shouldTrigger"))
    files = wire.get("files") or []
    if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
        raise InvalidRecordError("files are paths from the skill's folder", field="files", where=where)
    expected = wire.get("expected_output", wire.get("expected"))
    known = {*PROMPTS, *SAYS, *SAYS_NOT, "id", "name", "files", "expected_output", "expected", "should_trigger"}
    return SkillEval(
        id=str(wire.get("id", number)),
        prompt=prompt,
        name=str(wire.get("name") or ""),
        expected_output=expected if isinstance(expected, str) else "",
        files=tuple(cast("list[str]", files)),
        statements=tuple(statements),
        assertions=tuple(assertion for assertion in held if _is_assertion(assertion)),
        should_trigger=triggers if isinstance(triggers, bool) else None,
        extra={key: value for key, value in wire.items() if key not in known},
    )


def _listed(wire: Mapping[str, JsonValue], names: Iterable[str], where: str) -> Iterator[JsonValue]:
    for name in names:
        held = wire.get(name) or []
        if not isinstance(held, list):
            raise InvalidRecordError("statements stand in a list", field=name, where=where)
        yield from held


def _is_assertion(statement: JsonValue) -> bool:
    return isinstance(statement, dict) and isinstance(statement.get("type"), str) and "value" in statement


def _text(statement: JsonValue, where: str) -> str | None:
    """Returns what a statement says; None where it is a check by rule."""
    if _is_assertion(statement):
        return None
    text = statement
    if isinstance(statement, dict):
        text = next((statement[name] for name in TEXTS if isinstance(statement.get(name), str)), None)
    if not isinstance(text, str) or not text.strip():
        raise InvalidRecordError(f"a statement is a text, or says one as {', '.join(TEXTS)}", where=where)
    return text
