"""Figures of requests that rise where other requests come than before: strange words, longer texts, shorter texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

LEARNT = 200
"""The words of so many first requests are the ones that are known."""
WORD = re.compile(r"[^\W\d_]+")
UNKNOWN, LONGER, SHORTER = "share of unknown words", "length", "shortness"


def figures_of(texts: Sequence[str]) -> Mapping[str, Sequence[float]]:
    """The figures of each request after the first ones that are learnt, the oldest first; none where there are too few.

    Digits do not count: order numbers are new each time. The length is the logarithm of the number of words.
    """
    words = [WORD.findall(text.casefold()) for text in texts]
    known = {word for found in words[:LEARNT] for word in found}
    lengths = [math.log1p(len(found)) for found in words[LEARNT:]]
    return {
        UNKNOWN: [_unknown(found, known) for found in words[LEARNT:]],
        LONGER: lengths,
        SHORTER: [-length for length in lengths],
    }


def _unknown(words: Sequence[str], known: set[str]) -> float:
    different = set(words)
    return len(different - known) / len(different) if different else 0.0
