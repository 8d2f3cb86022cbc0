"""The share of a text that is worded otherwise than what it rests on: the more, the likelier it says what nothing bears out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from minions_evals_mcp.scoring.failures.failed import Signal
from minions_evals_mcp.scoring.failures.material import ValueMaterial
from minions_evals_mcp.scoring.failures.mentions import squeezed

FEWEST_PAIRS = 20
"""A text of fewer pairs of words is too short for its wording to say anything."""
MOST_PAIRS = 20_000
OWN_HALF = 0.5
"""The share of own pairs above which a text is told; on the tuned half of FaithBench half of the texts lie above."""
OWN_WORDING = 0.3
"""A weak sign: who puts things in words of their own need not invent. It decides nothing by itself."""
_SENTENCE = re.compile(r"[^.!?\n]+")

Pair = tuple[str, str]


def is_long(text: str) -> bool:
    """Returns whether the text has enough pairs of words for its wording to say anything."""
    return next(islice(pairwise(squeezed(text).split()), FEWEST_PAIRS - 1, None), None) is not None


def own_wording(text: str, grounds: Sequence[ValueMaterial]) -> Iterator[Signal]:
    """The signal of a text of which more than half of the pairs of neighbouring words stand nowhere in its grounds."""
    pairs = list(islice(pairwise(squeezed(text).split()), MOST_PAIRS))
    known = {pair for ground in grounds for pair in pairwise(ground.words.split())}
    share = sum(pair not in known for pair in pairs) / max(1, len(pairs))
    if share > OWN_HALF:
        farthest = max(islice(_SENTENCE.findall(text), MOST_PAIRS), key=lambda sentence: _own(sentence, known))
        yield Signal(
            "own words", f"{share:.0%} of its words have no source, least of all “{farthest.strip()}”", OWN_WORDING
        )


def _own(sentence: str, known: set[Pair]) -> int:
    """Returns how many of its pairs stand nowhere."""
    return sum(pair not in known for pair in pairwise(squeezed(sentence).split()))
