"""What checks need of the outside, fetched before they run: searches under a time limit, and likenesses in meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import (
    NO_EVIDENCE,
    Evidence,
    Need,
    RegexNeed,
    SimilarityNeed,
    SnippetNeed,
    Unmet,
    opened,
)
from minions_evals_mcp.scoring.similarity import cosine


async def fetched(
    wanted: Sequence[Need],
    *,
    regexes: RegexSandbox,
    snippets: Snippets,
    embedder: Callable[[], Embedder],
    own_embedder: Callable[[str], Embedder] | None = None,
) -> Evidence:
    """The evidence for those needs and for what stands behind their transforms; the grades of models are left out.

    Nothing is started, and no embedder opened, that none of them asks for. Without `own_embedder` an assertion's own
    is not to be had.
    """
    evidence = NO_EVIDENCE
    while wanted:
        part = await _at_hand(wanted, regexes, snippets)
        part = replace(part, similarities=await _likenesses(wanted, embedder, own_embedder))
        evidence = (
            Evidence(
                regexes={**evidence.regexes, **part.regexes},
                similarities={**evidence.similarities, **part.similarities},
                snippets={**evidence.snippets, **part.snippets},
            )
            if evidence is not NO_EVIDENCE
            else part
        )
        wanted = opened(wanted, part)
    return evidence


def with_opened(wanted: Sequence[Need], evidence: Evidence) -> list[Need]:
    """Those needs and all that stood behind their transforms."""
    found, part = list(wanted), list(wanted)
    while part := opened(part, evidence):
        found.extend(part)
    return found


async def _likenesses(
    wanted: Sequence[Need], embedder: Callable[[], Embedder], own_embedder: Callable[[str], Embedder] | None
) -> dict[SimilarityNeed, float | Unmet]:
    """How alike the pairs are to the embedder that each names."""
    pairs = [need for need in wanted if isinstance(need, SimilarityNeed)]
    found: dict[SimilarityNeed, float | Unmet] = {}
    for name, several in groupby(sorted(pairs, key=_embedder), _embedder):
        if not name:
            found |= await similarities([*several], embedder())
        elif own_embedder is not None:
            found |= await similarities([*several], own_embedder(name))
        else:
            found |= dict.fromkeys(several, Unmet("it names an embedder of its own, which is not asked here"))
    return found


def _embedder(pair: SimilarityNeed) -> str:
    return pair.embedder


async def _at_hand(wanted: Sequence[Need], regexes: RegexSandbox, snippets: Snippets) -> Evidence:
    patterns = [need for need in wanted if isinstance(need, RegexNeed)]
    code = [need for need in wanted if isinstance(need, SnippetNeed)]
    return Evidence(
        regexes=await regexes.search(patterns) if patterns else {},
        snippets=await snippets.fetch(code) if code else {},
    )


async def similarities(pairs: Sequence[SimilarityNeed], embedder: Embedder) -> dict[SimilarityNeed, float | Unmet]:
    """How alike each pair is, in one call for all; where the embedder fails, why that cannot be told."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.text, pair.other)))
    try:
        vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    except InstrumentError as error:
        return dict.fromkeys(pairs, Unmet(error.message))
    return {pair: cosine(vectors[pair.text], vectors[pair.other]) for pair in pairs}
