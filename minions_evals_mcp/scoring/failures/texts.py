"""Getting at the text of JSON values, and quoting it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress

from pydantic import JsonValue

FENCE = "```"
LONGEST_TASK = 600
_JSON_BEGINS = re.compile(r"\s*(?:```|[\[{\"\-\dtfn])")
_STRAIGHT = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


CUT = 120


def cut(text: str, limit: int = CUT) -> str:
    """The text on one line, at most `limit` characters."""
    line = " ".join(text[: 2 * limit].split())
    return _ended(line if len(line) > limit else " ".join(text[: 8 * limit].split()), limit)


def _ended(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1] + "…"


def seen_apart(texts: Sequence[str]) -> list[str]:
    """The texts as `cut` shows them; where two that differ look alike, what nobody sees in them is written out."""
    looks = [*map(_look, texts)]
    if len(set(looks)) > 1 and all(map(str.isascii, texts)):  # an ASCII text looks as it is cut, but for its end
        return [_ended(look, CUT) for look in looks]
    if len(set(texts)) < 2 or len(set(looks)) > 1:
        return [cut(text) for text in texts]
    return [cut(_written_out(_short(text))) for text in texts]


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ODD_BLANKS = re.compile(r"^ +| +$| {2,}")


def _look(text: str) -> str:
    """The text as a reader sees it, in whatever characters."""
    text = _short(text)
    return " ".join((text if text.isascii() else unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))).split())


def _short(text: str) -> str:
    return text[: 8 * CUT]


def _written_out(text: str) -> str:
    """The text with blanks at its ends, and several in a row, as `␠`, and what prints as nothing or onto its neighbour as an escape."""
    plain = (char if char.isprintable() and not unicodedata.combining(char) else ascii(char)[1:-1] for char in text)
    return _ODD_BLANKS.sub(lambda blanks: "␠" * len(blanks[0]), "".join(plain))


def told_apart(texts: Sequence[str], room: int) -> list[str]:
    """The texts as they are, or from shortly before the first place where they differ if less than a third of `room` is left there."""
    if len(set(texts)) < 2 or max(map(len, texts)) <= room:
        return [*texts]
    least = room * 2 // 3
    if len({text[:least] for text in texts}) > 1:
        return [*texts]
    shared = _shared_beginning(texts)
    start = shared - room // 3
    space = texts[0].find(" ", start, shared)
    return [f"…{text[start if space < 0 else space + 1 :]}" for text in texts]


def _shared_beginning(texts: Sequence[str]) -> int:
    """So many characters at the beginning are the same in all; of two texts, the least and the greatest, what all share."""
    first, last = min(texts), max(texts)
    low, high = 0, len(first)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if last.startswith(first[:middle]) else (low, middle - 1)
    return low


def straight(text: str) -> str:
    """The text with typewriter apostrophes."""
    return text if text.isascii() else text.translate(_STRAIGHT)


def leaves(value: JsonValue, name: str = "") -> Iterator[tuple[str, str | int | float | bool | None]]:
    """Every scalar in the value, in order, under the nearest key above it; as deep as the value goes."""
    pending: list[tuple[str, JsonValue]] = [(name, value)]
    while pending:
        key, held_value = pending.pop()
        if isinstance(held_value, dict):
            pending.extend(reversed(held_value.items()))
        elif isinstance(held_value, list):
            pending.extend((key, item) for item in reversed(held_value))
        else:
            yield key, held_value


def instructions(inputs: dict[str, JsonValue]) -> Iterator[str]:
    """The texts of the input that may be instructions: no long ones, which are material."""
    return (leaf for _, leaf in leaves(inputs) if isinstance(leaf, str) and len(leaf) <= LONGEST_TASK)


def flat(value: JsonValue) -> str:
    """The value as lines of `key: scalar`: text in which numbers, dates and words can be looked for."""
    return "\n".join(f"{key}: {leaf}" for key, leaf in leaves(value) if leaf is not None)


def unfenced(text: str) -> str:
    """The text without the one code fence around it, if there is one."""
    bare = text.strip()
    if len(bare) < 2 * len(FENCE) or not (bare.startswith(FENCE) and bare.endswith(FENCE)):
        return bare
    first, newline, rest = bare[len(FENCE) : -len(FENCE)].partition("\n")
    return rest.strip() if newline else first.strip()


def parsed(text: str) -> JsonValue:
    """The JSON value that the text is, one code fence stripped; raises `ValueError`, for too deep a nesting too."""
    try:
        return json.loads(unfenced(text), parse_constant=_refused)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def prose(text: str) -> str:
    """Returns what the text says to a reader: the scalars of JSON, else everything outside code fences."""
    if _JSON_BEGINS.match(text):
        with suppress(ValueError):
            return "\n".join(str(leaf) for _, leaf in leaves(parsed(text)) if leaf is not None)
    return "\n".join(text.split(FENCE)[::2])


_DOCSTRING = re.compile(r"(?m)^[ \t]*[rRbBuUfF]{0,2}(\"{3}|'{3})[\s\S]{0,20000}?\1")
_CODE_LINE = re.compile(
    r"\s*+(?:(?:async )?def \w+\(|class \w+[(:]|import \w|from [\w.]+ import |return\b|raise \w|elif |else:|try:|except\b.*:|with .+:$"
    r"|(?:if|for|while) .+[:{]$|function \w*\(|(?:const|let|var) \w+ ?=|(?:public|private|static) |#include|@\w+|//|/\*|[{}\])]+[;,]?$"
    r"|[\w.\[\]]+ ?(?:[-+*/]|:)?= ?\S|[\w.]+\(.*\)[;:]?$|.*[;{]$)"
)
_LEADING_NUMBER = re.compile(
    r"(?m)^[ \t]*(?:[-*#>]+[ \t]*)?(?:\d{1,3}(?:\.\d{1,3})+[.):]?(?=[ \t]+[A-Z])|\d{1,3}[.)](?=\s|$))"
)
_DOTTED = re.compile(r"(?<![\d.$€£])\d{1,3}(?:\.\d{1,3}){1,4}(?![\d%]|\.\d)")
_BETWEEN = re.compile(r"[\s,;]*(?:(?:and|und|et|y|e|to|or)\b)?[\s,;]*")
_FEWEST_SECTIONS = 3


def stated(text: str, longest: int) -> str:
    """What the text states to a reader: its prose without code, doc comments and the numbers of sections."""
    said = prose(text)[:longest]
    return said if _is_json(text) else _without_sections(_without_code(said))


def _is_json(text: str) -> bool:
    if not _JSON_BEGINS.match(text):
        return False
    with suppress(ValueError):
        parsed(text)
        return True
    return False


def _without_code(text: str) -> str:
    """The text without doc comments; without its lines of code, where most lines are code."""
    text = _DOCSTRING.sub(" ", text)
    lines = text.split("\n")
    code = [bool(_CODE_LINE.match(line)) for line in lines]
    written = sum(bool(line.strip()) for line in lines)
    if not written or 2 * sum(code) < written:
        return text
    return "\n".join(line for line, is_code in zip(lines, code, strict=True) if not is_code and not _is_comment(line))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", "*", "/*"))


def _without_sections(text: str) -> str:
    """The text without numbers that only say which section a line or a list is about."""
    text = _LEADING_NUMBER.sub(" ", text)
    found = list(_DOTTED.finditer(text))
    left_out: set[int] = set()
    row: list[int] = []
    for at, match in enumerate(found):
        if row and not _follows(text, found[row[-1]], match):
            row = []
        row.append(at)
        if len(row) >= _FEWEST_SECTIONS:
            left_out.update(row)
    for at in sorted(left_out, reverse=True):
        text = f"{text[: found[at].start()]} {text[found[at].end() :]}"
    return text


def _follows(text: str, before: re.Match[str], after: re.Match[str]) -> bool:
    """True where the second number is the section after the first, and only a comma or the like stands between them."""
    if not _BETWEEN.fullmatch(text[before.end() : after.start()]):
        return False
    one, other = ([int(part) for part in match[0].split(".")] for match in (before, after))
    return other == [*one, 1] or any(
        other[:at] == one[:at] and other[at] == one[at] + 1 and set(other[at + 1 :]) <= {1}
        for at in range(min(len(one), len(other)))
    )


def _refused(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON")
