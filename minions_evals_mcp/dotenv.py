"""The variables that a folder's `.env` holds."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)[^\S\n]*=[^\S\n]*(.*?)\s*$", re.MULTILINE)


def written_down(file: Path = Path(".env")) -> dict[str, str]:
    """The variables of the folder's `.env`: programs read it by themselves, and may tell what stands there."""
    if not file.is_file():
        return {}
    return {name: _unquoted(value) for name, value in _LINE.findall(file.read_text("utf-8", "replace"))}


def _unquoted(value: str) -> str:
    quoted = value[:1] in {"'", '"'} and value.find(value[0], 1) > 0
    return value[1 : value.index(value[0], 1)] if quoted else value.partition(" #")[0].strip()
