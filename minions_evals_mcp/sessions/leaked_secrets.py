"""Secrets that stand in what a coding agent read, wrote or printed: known by their look alone, for the process that made them is gone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.known_secrets import KEY_LOOKS, with_each_text

SHORTEST = 12
"""A shorter value beside a telling name may well be a plain word."""
_KEY_BLOCK = re.compile(r"-{5}BEGIN ([A-Z ]{0,40}PRIVATE KEY)-{5}((?:[^-]|-(?!-{4})){1,20000})-{5}END \1-{5}")
_OF_ADDRESS = re.compile(r"://[^\s/:@\"']{0,200}:([^\s/@\"'$<>{}]{6,500})@")
_OF_HEADER = re.compile(
    r"\b(?:authorization|x-api-key|api-key)[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?([^\s\"',;$<>{}()]+)",
    re.IGNORECASE,
)
_OF_VARIABLE = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,40}_){0,12}(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)(?:_[A-Z0-9]{1,40}){0,6}"
    r"\s?=\s?[\"']?([^\s\"'$<>{}()]+)"
)
_OF_FIELD = re.compile(
    r"[\"']?\b(?:api[_-]?key|access[_-]?key|secret[_-]?(?:access[_-]?)?key|client[_-]?secret|private[_-]?key|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|session[_-]?token|password|passwd|passphrase|secret)[\"']?\s*[:=]\s*[\"']([^\s\"'$<>{}()]+)[\"']",
    re.IGNORECASE,
)
_NAMED = (_OF_HEADER, _OF_VARIABLE, _OF_FIELD)


def without_secrets(value: JsonValue) -> JsonValue:
    """The value with `[secret DIGEST]` for each secret, wherever it stands: one that is told by its name once is one everywhere."""
    found = {secret for text in _texts(value) for secret in _secrets(text)}
    if not found:
        return value
    marks = {
        secret: f"[secret {hashlib.sha256(secret.encode('utf-8', 'replace')).hexdigest()[:8]}]" for secret in found
    }
    pattern = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
    return with_each_text(value, lambda text: pattern.sub(lambda match: marks[match[0]], text))


def _secrets(text: str) -> Iterator[str]:
    for match in KEY_LOOKS.finditer(text):
        yield match[0]
    for match in _KEY_BLOCK.finditer(text):
        yield match[2]
    for match in _OF_ADDRESS.finditer(text):
        yield match[1]
    for pattern in _NAMED:
        for match in pattern.finditer(text):
            if _is_opaque(match[1]):
                yield match[1]


def _is_opaque(value: str) -> bool:
    """Whether this is no word, path or expression: long, with letters and digits."""
    return (
        len(value) >= SHORTEST
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not value.startswith(("/", "./", "~", "http://", "https://", "[secret"))
    )


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _texts(part)
        case dict():
            for name, part in value.items():
                yield name
                if isinstance(part, str):
                    yield f'{name}="{part}"'
                yield from _texts(part)
        case _:
            pass
