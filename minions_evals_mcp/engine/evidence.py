"""What checks need of the outside, fetched before they run: searches under a time limit, and likenesses in meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Evidence, Need, RegexNeed, SimilarityNeed, SnippetNeed, Unmet
from minions_evals_mcp.scoring.similarity import cosine


async def fetched(
    wanted: Sequence[Need], *, regexes: RegexSandbox, snippets: Snippets, embedder: Callable[[], Embedder]
) -> Evidence:
    """The evidence for those needs; nothing is started, and no embedder opened, that none of them asks for."""
    if not wanted:
        return NO_EVIDENCE
    patterns = [need for need in wanted if isinstance(need, RegexNeed)]
    pairs = [need for need in wanted if isinstance(need, SimilarityNeed)]
    code = [need for need in wanted if isinstance(need, SnippetNeed)]
    return Evidence(
        regexes=await regexes.search(patterns) if patterns else {},
        similarities=await similarities(pairs, embedder()) if pairs else {},
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
