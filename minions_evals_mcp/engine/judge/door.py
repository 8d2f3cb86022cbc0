"""The door for judging: a page of examinations is answered from evidence that is fetched for all of them at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

from minions_evals_mcp.embedding.embedder import Embedder, Vector
from minions_evals_mcp.embedding.local import is_local
from minions_evals_mcp.embedding.wordnet import synonyms
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import (
    NO_EVIDENCE,
    Evidence,
    GradeNeed,
    Likeness,
    Need,
    RegexNeed,
    ServiceNeed,
    SimilarityNeed,
    SnippetNeed,
    SynonymNeed,
    Unmet,
    opened,
)
from minions_evals_mcp.scoring.verdicts.examination import Examination

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

V = TypeVar("V")
Asked = GradeNeed | ServiceNeed
"""What is paid for, and kept where a run's outputs are judged."""


Questions = Sequence[tuple[Examination[Any], Sequence[Asked]]]
"""Of each examination, what it asks of models and services."""
Graders = Callable[[Questions, Evidence], Awaitable[list[Evidence]]]
"""Asks models and services: the evidence of each examination with what they say, and why one could not be had."""


@frozen_type
class Judges:
    """The sources of evidence: searches under a time limit, confined code, likeness in meaning, and models.

    Without `own_embedder` an assertion's own embedder is not to be had, without `graders` no model's grade and no
    service's answer. `apart`: answers are worked out in a thread, for callers that must not be kept waiting.
    """

    regexes: RegexSandbox
    snippets: Snippets
    embedder: Callable[[], Embedder]
    own_embedder: Callable[[str], Embedder] | None = None
    graders: Graders | None = None
    apart: bool = False


def judges_of(engine: Engine, *, graders: Graders | None = None, apart: bool = False) -> Judges:
    """Returns what an open engine fetches evidence from."""
    return Judges(engine.regexes, engine.snippets, engine.embedder, graders=graders, apart=apart)


async def judge(page: Sequence[Examination[V]], judges: Judges) -> list[V]:
    """The verdict of each examination, in order. What several need is fetched once, and nothing is started for none."""
    wanted = [examination.needs() for examination in page]
    evidence = await fetched([*chain.from_iterable(wanted)], judges)
    graded: Sequence[Evidence] = [evidence] * len(page)
    if judges.graders is not None and any(wanted):
        grades = [(examination, asked_needs(needs, evidence)) for examination, needs in zip(page, wanted, strict=True)]
        if any(needs for _, needs in grades):
            graded = await judges.graders(grades, evidence)
    answered = partial(_answered, page, graded)
    return await anyio.to_thread.run_sync(answered) if judges.apart else answered()


def _answered(page: Sequence[Examination[V]], evidence: Sequence[Evidence]) -> list[V]:
    return [examination.answer(its) for examination, its in zip(page, evidence, strict=True)]


async def fetched(wanted: Sequence[Need], judges: Judges) -> Evidence:
    """The evidence for those needs and for what stands behind their transforms; the grades of models are left out."""
    evidence = NO_EVIDENCE
    while wanted:
        part = await _at_hand(wanted, judges)
        part = replace(part, similarities=await _likenesses(wanted, judges))
        evidence = part if evidence is NO_EVIDENCE else _joined(evidence, part)
        wanted = opened(wanted, part)
    return evidence


def _joined(evidence: Evidence, part: Evidence) -> Evidence:
    return Evidence(
        regexes={**evidence.regexes, **part.regexes},
        similarities={**evidence.similarities, **part.similarities},
        snippets={**evidence.snippets, **part.snippets},
        synonyms={**evidence.synonyms, **part.synonyms},
    )


def asked_needs(wanted: Sequence[Need], evidence: Evidence) -> list[Asked]:
    """The grades and answers among those needs and all that stood behind their transforms."""
    questions: list[Asked] = []
    while wanted:
        questions += [need for need in wanted if isinstance(need, GradeNeed | ServiceNeed)]
        wanted = opened(wanted, evidence)
    return questions


def grade_needs(wanted: Sequence[Need], evidence: Evidence) -> list[GradeNeed]:
    """The grades of models alone."""
    return [need for need in asked_needs(wanted, evidence) if isinstance(need, GradeNeed)]


async def _likenesses(wanted: Sequence[Need], judges: Judges) -> dict[SimilarityNeed, float | Unmet]:
    """Returns how alike the pairs are to the embedder that each names."""
    pairs = [need for need in wanted if isinstance(need, SimilarityNeed)]
    measured: dict[SimilarityNeed, float | Unmet] = {}
    for name, several in groupby(sorted(pairs, key=_embedder), _embedder):
        if not name:
            measured |= await similarities([*several], judges.embedder())
        elif judges.own_embedder is not None:
            measured |= await similarities([*several], judges.own_embedder(name))
        else:
            measured |= dict.fromkeys(several, Unmet("it names its own embedder, which is not used here"))
    return measured


def _embedder(pair: SimilarityNeed) -> str:
    return pair.embedder


async def _at_hand(wanted: Sequence[Need], judges: Judges) -> Evidence:
    patterns = [need for need in wanted if isinstance(need, RegexNeed)]
    code = [need for need in wanted if isinstance(need, SnippetNeed)]
    words = [need for need in wanted if isinstance(need, SynonymNeed)]
    return Evidence(
        synonyms=await anyio.to_thread.run_sync(synonyms, words) if words else {},
        regexes=await judges.regexes.search(patterns) if patterns else {},
        snippets=await judges.snippets.fetch(code) if code else {},
    )


async def similarities(pairs: Sequence[SimilarityNeed], embedder: Embedder) -> dict[SimilarityNeed, float | Unmet]:
    """Returns how alike each pair is, in one call for all; where the embedder fails, why that cannot be told.

    A text that it refuses costs its own pair only: the pairs are then measured one by one, until it fails twice in a row.
    """
    try:
        return await _measured(pairs, embedder)
    except InstrumentError as error:
        if len(pairs) == 1:
            return dict.fromkeys(pairs, Unmet(error.message_text))
    measured: dict[SimilarityNeed, float | Unmet] = {}
    failures: list[Unmet] = []
    for pair in dict.fromkeys(pairs):
        similarity = failures[-1] if len(failures) > 1 else (await similarities([pair], embedder))[pair]
        failures = [*failures, similarity] if isinstance(similarity, Unmet) else []
        measured[pair] = similarity
    return measured


async def _measured(pairs: Sequence[SimilarityNeed], embedder: Embedder) -> dict[SimilarityNeed, float | Unmet]:
    from minions_evals_mcp.scoring.likeness.similarity import cosine, distance, dot, unit  # noqa: PLC0415  most ask for none

    measures: dict[Likeness, Callable[[Vector, Vector], float]] = {
        "cosine": cosine, "dot": dot, "euclidean": distance,
    }  # fmt: skip
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.text, pair.other)))
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    if is_local(embedder.name) and any(pair.measure != "cosine" for pair in pairs):
        vectors = {text: unit(vector) for text, vector in vectors.items()}  # as long as others' are; the angle stays
    return {pair: measures[pair.measure](vectors[pair.text], vectors[pair.other]) for pair in pairs}
