"""A test case that somebody wrote of a text, and why it cannot be one."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.discovery.groups import same_requests
from minions_evals_mcp.scoring.failures.texts import flat, leaves

INPUT = "input"
"""The key of the inputs where the prompt names none."""
SAME_CASE_FROM = 0.7
"""The cosine from which two written cases about the same thing are one: they differ in what is asked about it more often than traces."""


@frozen_type
class WrittenCase:
    """A case as its writer gave it. `quote`: words of the source from which the expected answer follows."""

    kind: str
    inputs: Json
    expected: str | None = None
    quote: str = ""
    assertions: tuple[Assertion, ...] = ()
    why: str = ""
    passage_id: str = ""

    @property
    def asked(self) -> str:
        """What the user asks, as a text."""
        return text_of(self.inputs)


def text_of(inputs: Json) -> str:
    """What a case asks, as a text."""
    texts = [leaf for _, leaf in leaves(inputs) if isinstance(leaf, str)]
    return "\n".join(texts) or flat(inputs)


def fault_of(
    written: WrittenCase, sources: Iterable[str], variables: Sequence[str], checks: Collection[str] | None = None
) -> str:
    """Why no case can be made of it: what it quotes is nowhere, an input is missing, it judges nothing; empty where one can.

    `checks`: the types of assertions that its writer may use, any where it is None.
    """
    missing = [name for name in variables if name not in written.inputs]
    if missing:
        return f"inputs: {', '.join(missing)} is missing, which the prompt takes"
    if not written.asked.strip():
        return "inputs: they are empty"
    quote = _plain(written.quote)
    if quote and not any(quote in _plain(source) for source in sources):
        return f"quote: “{written.quote[:60]}” is not in the source"
    if not written.assertions and written.expected is None:
        return "assertions: there are none, and no expected answer to compare with"
    for place, assertion in enumerate(written.assertions, start=1):
        if checks is not None and assertion.type not in checks:
            return f"assertion {place}: {assertion.type} is none that a model may write"
        try:
            vet(assertion)
        except EvalsError as error:
            return f"assertion {place}: {error.args[0]}"
    return ""


def _plain(text: str) -> str:
    """The text in one case, with single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def repeated(
    asked: Mapping[str, tuple[str, str]], vectors: Mapping[str, Sequence[float]], before: Iterable[str]
) -> dict[str, str]:
    """Of each case that asks what another one asks, that other's id. `asked`: kind and text of each; `before` are kept already.

    A case repeats only one of its kind, or one that has none: an attack that wraps an ordinary question is not that question.
    """
    known = set(before)
    meant: dict[str, str] = {}
    for kind in sorted({kind for kind, _ in asked.values() if kind}):
        texts = {ident: text for ident, (own, text) in asked.items() if own in (kind, "")}
        for group in same_requests(texts, vectors, shared=SAME_CASE_FROM):
            first = next((ident for ident in group if ident in known), group[0])
            meant.update((ident, first) for ident in group if ident != first and ident not in known)
    return meant
