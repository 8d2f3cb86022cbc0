"""Documents of other tools that are held whole: JSON and YAML."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp import bounded_files
from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.interop.logs.files import whole_json
from minions_evals_mcp.interop.parsing import parse_yaml

YAMLS = frozenset({".yaml", ".yml"})
LARGEST_YAML = 8_000_000
"""So many bytes of YAML are read: it takes a hundred times as long as JSON."""
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def is_yaml(path: Path) -> bool:
    """Whether its name says that it is YAML."""
    return path.suffix.lower() in YAMLS


def whole_document(path: Path) -> JsonValue:
    """The document; raises `InvalidRecordError` for what is none, or is too large."""
    with legible(path):
        if is_yaml(path) and path.stat().st_size > LARGEST_YAML:
            most = LARGEST_YAML // 1_000_000
            raise InvalidRecordError(f"YAML of more than {most} MB is not read. Write it as JSON", where=str(path))
        text = bounded_files.read_text(path)
    return _loaded(text, str(path)) if is_yaml(path) else whole_json(text, str(path))


def _loaded(text: str, where: str) -> JsonValue:
    try:
        return _JSON.validate_python(parse_yaml(text, where))
    except ValidationError as error:
        raise InvalidRecordError(f"no YAML: {str(error).splitlines()[0]}", where=where) from None
