"""Agent Skills' `evals/evals.json`: prompts for a skill, and in plain words what a good answer does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import parted
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample
from minions_evals_mcp.interop.logs.shapes import the_object
from minions_evals_mcp.sessions.conversation import texts, without

NAME = "skill-evals"
LISTS = frozenset({"evals", ""})
PROMPTS = ("prompt", "query", "input", "task")
OWN_PROMPTS = frozenset({"prompt", "query"})
SKILL = frozenset({"skill_name", "skill"})
"""What tells evaluations of a skill from other lists of inputs with what is expected of them."""
EXPECTED = ("expected_output", "expected", "expected_behavior", "success_criteria")
CHECKS = ("assertions", "expectations", "expect", "checks")
WORDS = ("text", "description", "assertion", "expectation", "value", "check", "name")


def is_evals(seen: JsonValue) -> bool:
    """Returns whether a JSON document lists evaluations of a skill."""
    listed = obj(seen).get("evals", seen)
    first = obj(next(iter(listed_values(listed)), None))
    if _prompt(first) is None:
        return False
    asked = first.keys() & OWN_PROMPTS and first.keys() & {*CHECKS, *EXPECTED, "should_trigger"}
    return bool(asked) or (
        "evals" in obj(seen) and bool(obj(seen).keys() & SKILL or first.keys() & {*OWN_PROMPTS, *CHECKS})
    )


def read(path: Path) -> Iterator[Item]:
    """The prompts as cases; what is expected is prose, which a model judges."""
    head, listed = parted(path, LISTS)
    skill = str(head.get("skill_name") or head.get("skill") or _folder(path))
    yield EvaluationLog(NAME, skill, skill, extra=head)
    for place, piece in enumerate(listed, 1):
        where = f"{path}: evals.{place}"
        sample = _sample(the_object(piece.value, where), place, where)
        beside = without(head, "skill_name", "skill")
        yield replace(sample, extra={**sample.extra, "suite": beside}) if beside else sample


def _folder(path: Path) -> str:
    """The skill's folder, in which `evals/evals.json` stands."""
    inside = path.absolute().parent
    return (inside.parent if inside.name == "evals" else inside).name or path.stem


def _prompt(fields: Json) -> str | None:
    return next((text for key in PROMPTS if isinstance(text := fields.get(key), str) and text.strip()), None)


def _sample(fields: Json, place: int, where: str) -> LogSample:
    prompt = _prompt(fields)
    if prompt is None:
        raise InvalidRecordError(f"an evaluation has a prompt ({', '.join(PROMPTS)})", where=where)
    expected = [text for key in EXPECTED for text in texts(fields.get(key))]
    wanted = [words for key in CHECKS for check in listed_values(fields.get(key)) if (words := _words(check))]
    assertions: list[Json] = [{"type": "llm-rubric", "value": words} for words in (*expected, *wanted)]
    return LogSample(
        id=fields.get("id", place),
        inputs={"input": prompt},
        name=str(fields.get("name") or ""),
        assertions=tuple(assertions),
        extra=without(fields, *PROMPTS, "name"),
        where=where,
    )


def _words(check: JsonValue) -> str:
    """Returns what a check says, be it a sentence or an object that holds one."""
    if isinstance(check, str):
        return check.strip()
    return next((text for key in WORDS if isinstance(text := obj(check).get(key), str) and text.strip()), "")
