"""The choices that an answer names, as Inspect's solver `multiple_choice` reads them (inspect-ai 0.3.285)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WRAPPERS = (
    (re.compile(r"\$\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\$"), r"\1"),
    (re.compile(r"\*\*\s*([A-Za-z\d][A-Za-z\d ,]*?)\s*\*\*"), r"\1"),
    (re.compile(r"(?i)(^|[:,])(\s*)\(([A-Za-z\d])\)(?=\s*(?:,|\.|\n|\Z))"), r"\1\2\3"),
)
_STRICT = re.compile(r"(?im)^ANSWER\s*:\s*([A-Za-z\d ,]+)\s*(?:$|\n|\.)")
_LENIENT = re.compile(r"(?i)ANSWER\s*:\s*([A-Za-z\d ,]+)(?:[^\w]|\n|$|\.)")
LETTERS = 26


def positions(targets: Sequence[str], choices: int) -> list[int] | None:
    """The places that the targets name, in order; None where one names no choice."""
    names = [
        name
        for target in targets
        for token in target.replace(",", " ").split()
        for name in ([token] if token.isnumeric() else token)
    ]
    places = [_place(name) for name in names]
    if not choices or any(place is None or place >= choices for place in places):
        return None
    return sorted(place for place in places if place is not None)


def chosen(text: str, choices: int, *, multiple: bool) -> list[int]:
    """The places of the choices that the text names last, in order; none where it names none that there is."""
    for pattern, plain in _WRAPPERS:
        text = pattern.sub(plain, text)
    answers: list[str] = _STRICT.findall(text) or _LENIENT.findall(text)
    if not answers:
        return []
    allowed = {_name(place): place for place in range(choices)}
    last = answers[-1].strip().rstrip(".").upper()
    return sorted(allowed[name] for name in (_several(last, allowed) if multiple else _single(last, allowed)))


def _several(last: str, allowed: dict[str, int]) -> set[str]:
    plain = last.replace(" AND ", ",").replace(" ", "")
    listed = {name for name in plain.split(",") if name}
    run_together = set(plain)
    return listed if listed <= allowed.keys() else run_together if run_together <= allowed.keys() else set()


def _single(last: str, allowed: dict[str, int]) -> set[str]:
    listed = [name for name in last.split(",") if name]
    return set(listed) if len(listed) == 1 and listed[0] in allowed else set()


def _name(place: int) -> str:
    return chr(ord("A") + place) if place < LETTERS else str(place - LETTERS + 1)


def _place(name: str) -> int | None:
    if len(name) == 1 and name.isalpha():
        return ord(name.upper()) - ord("A")
    return LETTERS - 1 + int(name) if name.isdecimal() and int(name) else None
