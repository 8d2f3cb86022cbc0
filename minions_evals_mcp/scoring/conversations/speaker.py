"""Who speaks in a message: one who serves, or one who is served. Pure.

A logistic regression over hashed n-grams of words, of their shapes and of characters. `python -m tests.bench.conversations.speaker` learns
the weights and says from what.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from struct import unpack_from
from zlib import crc32

from minions_evals_mcp.bounded_files import read_bytes

WEIGHTS = Path(__file__).with_name("speaker.weights")
"""Two floats, the intercept and the size of a step, then for each bucket its weight in steps, a signed byte."""
BUCKETS = 1 << 16
READ = 1_000
"""The number of characters of a message that are read."""
WORDS_IN_A_ROW, SHAPES_IN_A_ROW = (1, 2), (1, 2, 3)
GRAM_BYTES = (6, 8)
"""Of 3 and 4 characters in UTF-16."""
OF_CHARACTERS = 7
"""What the hash of an n-gram of characters begins with, so that the same letters as an n-gram of words fall elsewhere."""
TOGETHER = 8.0
"""What the character n-grams of a message count together, by the root of their number; an n-gram of words counts 1."""
_COMMON = """
    0 a about account add address again all also am an and another any are as at available be before but bye can change
    check confirm correct could day did do done else everything find fine first for free from get go good got great have
    hello help here hi how i if in information instead is it its just know last like made make may me more morning much my
    name need new nice no not nothing now number of oh ok okay on one only or other our out perfect phone please prefer
    problem right same see set should so some sorry sure take tell than thank thanks that the there thing this time to today
    too try up us use very wait want was way we what when which who will with would yes you your
"""
"""English words that stand for themselves in the shape of a sentence; of any other only its ending is left."""
_ENDINGS = ("ed", "ing", "ly", "s")
_FULL_FORMS = tuple(
    (re.compile(short), full)
    for short, full in (
        (r"\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"'ll\b", " will"), (r"'ve\b", " have"),
        (r"'re\b", " are"), (r"'m\b", " am"), (r"'d\b", " would"), (r"(?<=[a-z])'s\b", " is"),
    )
)  # fmt: skip
_FIGURE = re.compile(r"\d++")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？।؟])\s*|\n++")
_WORD = re.compile(r"[^\W\d_]++(?:'[^\W\d_]++)?|\d++|[?？؟¿]")


def serving_log_odds(text: str) -> float:
    """The natural logarithm of the odds that one who serves says this; below zero for one who is served."""
    intercept, step, weights = _weights()
    return intercept + step * sum(weights[bucket] * value for bucket, value in features(text).items())


def features(text: str) -> dict[int, float]:
    """What the message counts in each bucket."""
    small = _FIGURE.sub("0", text[:READ].lower().replace("\u2019", "'"))
    line = f" {' '.join(small.split())} ".encode("utf-16-le", "replace")
    characters = {
        crc32(line[at : at + size], OF_CHARACTERS) % BUCKETS
        for size in GRAM_BYTES
        for at in range(0, len(line) - size + 1, 2)
    }
    counted = dict.fromkeys(characters, TOGETHER / len(characters) ** 0.5 if characters else 0.0)
    for words in _sentences(small):
        counted |= dict.fromkeys(map(_bucket, _of_sentence(words)), 1.0)
    return counted


def _sentences(text: str) -> Iterator[list[str]]:
    for short, full in _FULL_FORMS:
        text = short.sub(full, text)
    yield from filter(None, map(_WORD.findall, _SENTENCE_END.split(text)))


def _of_sentence(words: list[str]) -> Iterator[str]:
    for size in WORDS_IN_A_ROW:
        yield from (f"={gram}" for gram in _grams(["<", *words, ">"], size))
    if all(map(str.isascii, words)):
        for size in SHAPES_IN_A_ROW:
            yield from _grams(["<", *map(_shape, words), ">"], size)


def _shape(word: str) -> str:
    if word in _common() or word == "?":
        return word
    return next((f"x{end}" for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), "x")


def _grams(words: Sequence[str], size: int) -> Iterator[str]:
    return (" ".join(words[at : at + size]) for at in range(len(words) - size + 1))


@cache
def _common() -> frozenset[str]:
    return frozenset(_COMMON.split())


def _bucket(gram: str) -> int:
    return crc32(gram.encode("utf-8", "replace")) % BUCKETS


@cache
def _weights() -> tuple[float, float, array[int]]:
    stored = read_bytes(WEIGHTS)
    intercept, step = unpack_from("<2f", stored)
    return intercept, step, array("b", stored[8:])
