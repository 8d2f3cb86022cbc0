"""One table set in a TOML settings file whose every other line stays."""

from __future__ import annotations

import json
import re
import tomllib

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError

_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]*?)\s*\]\]?\s*(?:#.*)?$")


def with_toml_entry(text: str, table: str, name: str, entry: Json) -> str:
    """The text with that table set; raises `BadInputError` where it is no TOML, or names the table in a way that is not followed."""
    before = _read(text)
    there = before.get(table)
    if isinstance(there, dict) and there.get(name) == entry:
        return text
    kept = "".join(_without(text, table, name))
    after = f"{kept.rstrip()}\n\n{_section(table, name, entry)}".lstrip("\n")
    servers = before.setdefault(table, {})
    if not isinstance(servers, dict):
        raise BadInputError(f"{table} is no table.")
    servers[name] = entry
    try:
        is_kept = _read(after) == before
    except BadInputError:
        is_kept = False
    if not is_kept:
        raise BadInputError(f"its table {table}.{name} is written in a way that this program does not change.")
    return after


def _read(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"it cannot be read as TOML ({error}).") from None


def _without(text: str, table: str, name: str) -> list[str]:
    """The lines outside the entry's table and the tables under it."""
    inside, kept = False, list[str]()
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header:
            parts = [part.strip().strip("\"'") for part in header[1].split(".")]
            inside = parts[:2] == [table, name]
        if not inside:
            kept.append(line)
    return kept


def _section(table: str, name: str, entry: Json) -> str:
    plain = {key: value for key, value in entry.items() if not isinstance(value, dict)}
    lines = [f"[{table}.{name}]", *(f"{key} = {_value(value)}" for key, value in plain.items())]
    for key, value in entry.items():
        if isinstance(value, dict):
            lines += ["", f"[{table}.{name}.{key}]", *(f"{inner} = {_value(one)}" for inner, one in value.items())]
    return "\n".join(lines) + "\n"


def _value(value: JsonValue) -> str:
    """A text, number, truth value or list, as TOML; a JSON text is a TOML basic string."""
    return json.dumps(value, ensure_ascii=True)
