"""Text to vector: what an embedder is, and how it takes texts of any length."""

from __future__ import annotations

import re
from array import array
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

Vector = Sequence[float]
"""A direction of meaning; empty for a text that shows nothing, which is similar to nothing."""

REMEMBERED = 1024
LONGEST_REMEMBERED = 2_000


class Embedder(Protocol):
    """Turns texts into vectors. `name` stands in the digest of every score that was measured with it."""

    @property
    def name(self) -> str:
        """The backend and its model."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order; raises `InstrumentError` where the backend fails."""
        ...


class PieceEmbedder:
    """An embedder made of a backend that takes short pieces of text only, at most `batch` in one call.

    A longer text is cut between words; its vector is the mean of its pieces' vectors, weighted by their length.
    Vectors of short texts are remembered: an expected output comes again with every run of its case.
    """

    def __init__(
        self, name: str, embed_pieces: Callable[[Sequence[str]], Awaitable[list[Vector]]], *, piece: int, batch: int
    ) -> None:
        self.name = name
        self._embed_pieces = embed_pieces
        self._piece = piece
        self._batch = batch
        self._known: dict[str, Vector] = {}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order."""
        known = {text: self._known[text] for text in texts if text in self._known}
        new = {text: pieces(text, self._piece) for text in texts if text not in known}
        vectors = iter(await self._in_batches([part for parts in new.values() for part in parts]))
        for text, parts in new.items():
            known[text] = mean([(next(vectors), len(part)) for part in parts])
            self._remember(text, known[text])
        return [known[text] for text in texts]

    async def _in_batches(self, parts: list[str]) -> list[Vector]:
        """The pieces' vectors, in order; pieces of a length go together, as a backend fills all up to the longest."""
        order = sorted(range(len(parts)), key=lambda place: len(parts[place]))
        vectors: dict[int, Vector] = {}
        for at in range(0, len(order), self._batch):
            places = order[at : at + self._batch]
            vectors.update(zip(places, await self._embed_pieces([parts[place] for place in places]), strict=True))
        return [vectors[place] for place in range(len(parts))]

    def _remember(self, text: str, vector: Vector) -> None:
        if len(text) > LONGEST_REMEMBERED:
            return
        if len(self._known) >= REMEMBERED:
            self._known.pop(next(iter(self._known)))  # the oldest
        self._known[text] = vector


def pieces(text: str, longest: int) -> list[str]:
    """The text in pieces of at most `longest` characters, cut between words where there are any; none for a blank one."""
    # A backend's tokenizer takes no half of a surrogate pair, as a model's broken JSON may bring one.
    whole = text.encode("utf-8", "replace").decode().strip()
    return [
        match[0].strip() for match in re.finditer(rf"\S.{{0,{longest - 1}}}(?=\s|$)|\S{{{longest}}}", whole, re.DOTALL)
    ]


def mean(weighted: Sequence[tuple[Vector, int]]) -> Vector:
    """The weighted mean of the vectors; empty for none."""
    if len(weighted) <= 1:
        return weighted[0][0] if weighted else array("f")
    total = sum(weight for _, weight in weighted)
    summed = [0.0] * len(weighted[0][0])
    for vector, weight in weighted:
        summed = [total + part * weight for total, part in zip(summed, vector, strict=True)]
    return array("f", (number / total for number in summed))
