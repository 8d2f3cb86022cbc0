"""Files that a reader or writer hands over."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import BadInputError

T = TypeVar("T")


def read_notes(path: Path, form: TypeAdapter[T], option: str) -> T:
    """What the JSON file holds in its form; raises `BadInputError` that names the option and the place."""
    try:
        return form.validate_json(read_text(path, option))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInputError(f"{option} {path}: {place}: {first['msg']}.", remedy="--help shows their form.") from None


def read_text(path: Path, option: str) -> str:
    """The text of the file; raises `BadInputError` that names the option."""
    try:
        return bounded_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{option} {path}: {error}.", remedy="Name a UTF-8 file.") from None
