"""The front matter of a skill's file, between two lines of ---: who it is for, and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, to_json
from yaml.reader import ReaderError

from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.skills.skill import P

Trigger = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
"""The type of a message or an event."""


def _each_once(triggers: tuple[Trigger, ...]) -> tuple[Trigger, ...]:
    """A trigger that came twice would have its work done twice."""
    if len(set(triggers)) < len(triggers):
        raise ValueError("duplicate entry")
    return triggers


Triggers = Annotated[tuple[Trigger, ...], Field(strict=False, min_length=1), AfterValidator(_each_once)]


class FrontMatter(Value):
    """The head of a skill, and what has it done."""

    name: Text
    description: Text
    triggers: Triggers
    license: str | None = None
    compatibility: str | None = None


def closing_line(lines: Sequence[str]) -> int | None:
    """Returns where the front matter of a skill's file ends, as an index into its lines; None where it begins with none."""
    if not lines or lines[0].strip() != "---":
        return None
    return next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)


def front_matter(path: Path, lines: list[str], kind: type[P]) -> tuple[FrontMatter, P]:
    """The head and the parameters; raises `BadInputError` naming file and line of what does not parse."""
    head = dict(_mapping(path, "\n".join(lines)))
    parameters = head.pop("parameters", {})
    if isinstance(metadata := head.pop("metadata", None), dict):
        triggers, parameters = _out_of_metadata({**metadata}, parameters)  # pyright: ignore[reportUnknownArgumentType]  as above
        head = {**({} if triggers is None else {"triggers": triggers}), **head}
    return _typed(path, lines, FrontMatter, head), _typed(path, lines, kind, parameters)


@lru_cache(maxsize=64)
def _mapping(path: Path, text: str) -> dict[str, object]:
    """Returns what the YAML says, which nobody changes: an engine that is opened again in this process does not read it again."""
    try:
        _refuse_repeated_keys(path, yaml.compose(text, Loader=yaml.CSafeLoader))
        document: object = yaml.load(text, Loader=yaml.CSafeLoader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 2
        raise BadInputError(f"{path}:{line}: no YAML: {error.reason}.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise BadInputError(f"{path}:{line}: no YAML: {error.problem}.") from None
    except ValueError as error:  # 2026-13-31 looks like a date and is none
        raise BadInputError(f"{path}:2: no YAML: {error}.") from None
    if not isinstance(document, dict):
        raise BadInputError(f"{path}:2: the front matter must be a mapping.")
    return dict(document)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]  checked by the models of `front_matter`


def _out_of_metadata(metadata: dict[str, object], parameters: object) -> tuple[object, object]:
    """Triggers and parameters as Agent Skills have them: under `metadata`, each a text; triggers between spaces."""
    own_triggers = metadata.pop("triggers", None)
    triggers = own_triggers.replace(",", " ").split() if isinstance(own_triggers, str) else own_triggers
    plain = {key: _plain(value) if isinstance(value, str) else value for key, value in metadata.items()}
    given: dict[str, object] = {**parameters} if isinstance(parameters, dict) else {}  # pyright: ignore[reportUnknownArgumentType]  as above
    return triggers, {**plain, **given}


@lru_cache(maxsize=256)
def _plain(text: str) -> object:
    """The number or truth that a text in quotes says; else the text."""
    try:
        document: object = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return text
    return document if isinstance(document, bool | int | float) else text


def _refuse_repeated_keys(path: Path, root: yaml.Node | None) -> None:
    """YAML keeps the last of two equal keys in silence: refused at the top and in the parameters."""
    if not isinstance(root, yaml.MappingNode):
        return
    for mapping in (root, *(value for _, value in root.value if isinstance(value, yaml.MappingNode))):
        seen: set[str] = set()
        for key, _ in mapping.value:
            name = str(key.value)
            if name in seen:
                raise BadInputError(f"{path}:{key.start_mark.line + 2}: duplicate key {name!r}.")
            seen.add(name)


def _typed(path: Path, lines: list[str], kind: type[P], value: object) -> P:
    try:
        return kind.model_validate_json(to_json(value, fallback=str))
    except ValidationError as error:
        gravest = min(error.errors(include_url=False), key=_is_not_unknown)
        name = str(gravest["loc"][0]) if gravest["loc"] else "parameters"
        line = line_of(["---", *lines], name)
        if line == 1 and name == "parameters":
            line = line_of(["---", *lines], "metadata")
        raise BadInputError(f"{path}:{line}: {name}: {_in_words(gravest)}.") from None
    except ValueError:  # pydantic's own error for a value that cannot be JSON
        raise BadInputError(
            f"{path}:2: not valid YAML: it is nested too deeply, or an alias refers to itself."
        ) from None


def _is_not_unknown(detail: ErrorDetails) -> bool:
    """Unknown keys come first: a misspelt one is also missing, and this says where it stands."""
    return detail["type"] != "extra_forbidden"


def _in_words(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "extra_forbidden":
            return "unknown parameter"
        case "missing":
            return "is missing"
        case _:
            return detail["msg"].removeprefix("Value error, ")


def line_of(lines: list[str], key: str) -> int:
    """The line (from 1) of the first key of that name, else the first line."""
    return line_starting(lines, f"{key}:")


def line_starting(lines: list[str], start: str) -> int:
    """The line (from 1) of the first that begins so, else the first line."""
    return next((number for number, line in enumerate(lines, 1) if line.strip().startswith(start)), 1)
