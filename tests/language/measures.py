"""Figures of a text: the length of its paragraphs, its semicolons, how it addresses the reader."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
FRONT = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
INDENTED = re.compile(r"(?:\A|\n\n)(?: {4}\S.*(?:\n\s*)?)+")
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.) ", re.MULTILINE)
WORD = re.compile(r"[\w'’-]*\w")
YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
ODD = re.compile(r"\b(?:stands?|stood|tells?|told|says?|said)\b", re.IGNORECASE)
MAX_PARAGRAPH = 60
MAX_SEMICOLONS = 2.0
MIN_YOU = 12.0
MAX_ODD = 2.0


@dataclass(frozen=True)
class Figures:
    """What is measured of one text; shares are per 1,000 words."""

    words: int
    paragraph: int
    semicolons: float
    you: float
    odd: float

    def faults(self) -> list[str]:
        """Limits that the text exceeds."""
        long = [f"p90 paragraph {self.paragraph} words > {MAX_PARAGRAPH}"] if self.paragraph > MAX_PARAGRAPH else []
        many = [f"{self.semicolons:.1f} semicolons per 1,000 words > {MAX_SEMICOLONS}"]
        return long + (many if self.semicolons > MAX_SEMICOLONS else [])


def prose(text: str) -> str:
    """The text without front matter, comments, code and the targets of links."""
    for pattern in (FRONT, COMMENT, FENCED):
        text = pattern.sub("", text)
    return LINK.sub(r"\1", CODE.sub("code", INDENTED.sub("\n\n", text)))


def paragraphs(text: str) -> list[str]:
    """Paragraphs and list items, without headings and tables."""
    lines = [line for line in prose(text).split("\n") if not line.lstrip().startswith(("#", "|", "!!!", "???"))]
    parts = re.split(r"\n\s*\n", ITEM.sub("\n\n", "\n".join(lines)))
    return [part for part in parts if WORD.search(part)]


def figures(text: str, parts: list[str] | None = None) -> Figures:
    """Measures a text; `parts` are its paragraphs where they are not Markdown's."""
    whole = prose(text)
    words = max(1, len(WORD.findall(whole)))
    lengths = sorted(len(WORD.findall(part)) for part in (paragraphs(text) if parts is None else parts)) or [0]
    per = 1000 / words
    return Figures(
        words,
        lengths[min(len(lengths) - 1, int(0.9 * len(lengths)))],
        len(re.findall(r";", whole)) * per,
        len(YOU.findall(whole)) * per,
        len(ODD.findall(whole)) * per,
    )
