"""The variables that a folder's `.env` holds."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
MAX_BYTES = 1_000_000


def written_down(file: Path = Path(".env")) -> dict[str, str]:
    """The variables of the folder's `.env`: programs read it by themselves, and may tell what stands there."""
    if not file.is_file():
        return {}
    with file.open("rb") as held:
        text = held.read(MAX_BYTES).decode("utf-8", "replace")
    lines = (match for line in text.split("\n") if (match := _LINE.fullmatch(line)) is not None)
    return {match[1]: _unquoted(match[2].strip()) for match in lines}


def _unquoted(value: str) -> str:
    quoted = value[:1] in {"'", '"'} and value.find(value[0], 1) > 0
    return value[1 : value.index(value[0], 1)] if quoted else value.partition(" #")[0].strip()
