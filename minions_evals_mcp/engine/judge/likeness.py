"""How an output compares with what its case expected: measured before anybody judges."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import SIMILARITY, TestCase
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.embedding.tokens import token_counts
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.evidence import similarities
from minions_evals_mcp.scoring.checks import SimilarityNeed, Unmet
from minions_evals_mcp.scoring.history import Compared, Likeness, compared, likeness
from minions_evals_mcp.scoring.similarity import normalised


def expects_text(case: TestCase) -> bool:
    """Whether outputs of the case are compared with a text; a pattern is looked for instead."""
    return compared_with(case, Observed(output={})) is not None


def compared_with(case: TestCase, seen: Observed) -> Compared | None:
    """The case's expected texts beside the output's; what timed out or failed produced nothing."""
    if not case.expected_outputs:
        return None
    output = {} if seen.timed_out or seen.agent_error is not None else seen.output
    return compared(case.expected_outputs, output, patterns=case.pass_rule != SIMILARITY)


async def likeness_of(engine: Engine, case: TestCase, seen: Observed) -> Likeness | None:
    """The metrics of an output, None where its case expects no text. Equal texts are not embedded, and not counted."""
    texts = compared_with(case, seen)
    if texts is None:
        return None
    if texts.expected == texts.actual:
        return likeness(texts, (), tokens=(0, 0))
    measured = await _measured(texts, engine.embedder()) if texts.unequal else []
    expected, actual = await token_counts((texts.expected, texts.actual))
    return likeness(texts, measured, tokens=(expected, actual))


async def _measured(texts: Compared, embedder: Embedder) -> list[float] | str:
    """The similarity of each unequal pair after normalisation, or why it could not be measured."""
    pairs = [SimilarityNeed(normalised(actual), normalised(expected)) for expected, actual in texts.unequal]
    wanted = [pair for pair in pairs if pair.text != pair.other]
    found = await similarities(wanted, embedder) if wanted else {}
    measured: list[float] = []
    for pair in pairs:
        likeness_or_reason = found.get(pair, 1.0)
        if isinstance(likeness_or_reason, Unmet):
            return likeness_or_reason.reason
        measured.append(likeness_or_reason)
    return measured
