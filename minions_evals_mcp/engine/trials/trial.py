"""The trial that an optimiser requests: is this version better, on the cases that it may learn from, and on those that decide?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.seals import BudgetLeft, SealedVerdict
from minions_evals_mcp.domain.values import Id, Text, Value, VersionName
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.compare.approve_prompt_version import barred_for_agents
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, start_comparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.new_version import new_version
from minions_evals_mcp.engine.request import ComparisonRequest, JudgeChoice
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import silent
from minions_evals_mcp.engine.seals.exposures import budget_of, sealed_verdict, vet_can_decide
from minions_evals_mcp.engine.version_chain import find_ref, prompt_chain, version_record
from minions_evals_mcp.errors import BadInputError, InstrumentError, SealedError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs, seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.seals import Seal


class TrialRequest(Value):
    """A candidate to be tried on a benchmark of which a part is sealed.

    `version`: the candidate, or with `content` the latest version of its prompt, behind which the text is kept as a new one.
    `against`: the version to beat; else the one in use. `sealed`: ask the sealed part, too, which spends the budget;
    `max_attempts`: not beyond the so manyth answer about it. A trial of equal settings under the same `key` is the same trial.
    """

    benchmark_id: Id
    version: VersionName
    content: Text | None = None
    against: VersionName | None = None
    sealed: bool = False
    max_attempts: Annotated[int, Field(ge=1)] | None = None
    judge: JudgeChoice = "auto"
    target: str | None = None
    trials: Annotated[int, Field(ge=1, le=1000)] = 1
    triggered_by: Text = "optimiser"
    key: Text | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    max_seconds: Annotated[float, Field(gt=0)] | None = None


class TrialAnswer(Value):
    """The result of a trial: the whole of the open part, the verdict alone of the sealed one, and the budget that is left.

    `open` is null where all of the benchmark is sealed, `sealed` where it was not asked, `budget` where nothing is sealed.
    `mayBeApproved`: it improved where that decides, and whoever asks could approve it on this evidence.
    """

    version: str
    against: str
    open: ComparisonSummary | None
    sealed: SealedVerdict | None
    budget: BudgetLeft | None
    may_be_approved: bool
    in_words: str


async def compare_sealed(engine: Engine, request: ComparisonRequest, *, progress: Progress = silent) -> SealedVerdict:
    """The verdict of a comparison on a sealed benchmark, which is all that is told of it; the same key is the same answer.

    Raises `SealedError` where the benchmark is not sealed, or where nothing could decide a further attempt.
    """
    if request.sequential:
        raise SealedError("a sealed benchmark is not looked at case by case.", remedy="Leave sequential out.")
    verdict = None if request.key is None else await _told_under(engine, request.key)
    if verdict is None:
        await engine.store.read(lambda db: _vet_budget(db, request.benchmark_id, most=None))
        job = await (await start_comparison(engine, request)).finish(progress)
        verdict = await sealed_verdict(engine, job.id)
    if verdict is None:
        raise InstrumentError(
            f"the comparison on {request.benchmark_id} has no verdict yet.", remedy="Ask again under the same key."
        )
    return verdict


async def try_version(engine: Engine, request: TrialRequest, *, progress: Progress = silent) -> TrialAnswer:
    """The trial of a candidate version: open part first, then, where it is asked and there is budget, the sealed part.

    Raises as `compare_prompt_versions` does, before anything runs where the budget does not reach.
    """
    opened, seal = await engine.store.read(lambda db: _parts(db, request.benchmark_id))
    if request.sealed:
        await engine.store.read(lambda db: _vet_budget(db, request.benchmark_id, most=request.max_attempts))
    version = await _candidate(engine, request)
    against = await engine.store.read(lambda db: _against(db, version, request.against))
    summary, verdict = None, None
    if opened is not None:
        made = await compare_prompt_versions(
            engine, _comparison_request(request, opened, version, against, "open"), progress=progress
        )
        if made is None:
            raise BadInputError("a trial does not wait for judgments.", remedy="Use judge auto, heuristic or llm.")
        summary = await summarize_comparison(engine, made.id)
    if request.sealed and seal is not None:
        comparison_request = _comparison_request(request, seal.benchmark_id, version, against, "sealed")
        verdict = await compare_sealed(engine, comparison_request, progress=progress)
    budget = None if seal is None else await engine.store.read(lambda db: budget_of(db, seal))
    return TrialAnswer(
        version=version, against=against, open=summary, sealed=verdict, budget=budget,
        may_be_approved=await _may_be_approved(engine, verdict or (summary if budget is None else None)),
        in_words=_in_words(summary, verdict, budget),
    )  # fmt: skip


async def _may_be_approved(engine: Engine, deciding: ComparisonSummary | SealedVerdict | None) -> bool:
    if deciding is None or deciding.verdict != "improved":
        return False
    if engine.speaker.is_person:
        return True
    return await barred_for_agents(engine, deciding.version_b, deciding.comparison_id) is None


def _in_words(summary: ComparisonSummary | None, verdict: SealedVerdict | None, budget: BudgetLeft | None) -> str:
    sentences: list[str] = []
    if summary is not None:
        sentences.append(f"Open cases: {summary.verdict} ({summary.score_delta:+.3f}).")
    if verdict is not None:
        sentences.append(f"Sealed cases: {verdict.in_words}")
    elif budget is not None:
        sentences.append(
            f"Sealed cases: not asked; attempt {budget.attempt} is next, {budget.left:.3g} of the error is left."
        )
    return " ".join(sentences)


async def _told_under(engine: Engine, key: str) -> SealedVerdict | None:
    job = await engine.store.read(lambda db: jobs.job_by_key(db, key))
    return None if job is None else await sealed_verdict(engine, job.id)


def _parts(db: Db, benchmark_id: str) -> tuple[str | None, Seal | None]:
    """The open benchmark, if there is one, and the seal on it or on its part."""
    seal = seals.seal_of(db, benchmark_id)
    return (benchmark_id if seal is None else seal.open_benchmark_id), seal


def _vet_budget(db: Db, benchmark_id: str, *, most: int | None) -> None:
    seal = seals.seal_of(db, benchmark_id)
    if seal is None:
        raise SealedError(
            f"nothing of {benchmark_id} is sealed.",
            remedy=f"{Next('seal', {'benchmark_id': benchmark_id, 'share': 0.3}, 'seals a part of it')}.",
        )
    budget = vet_can_decide(db, seal)
    if most is not None and budget.attempt > most:
        raise SealedError(
            f"maxAttempts is {most}, and the next answer about {seal.benchmark_id} is attempt {budget.attempt}.",
            remedy="Try the candidate on the open part: leave sealed out.",
        )


async def _candidate(engine: Engine, request: TrialRequest) -> str:
    """The candidate's id; its text is kept as a new version where it is given."""
    if request.content is None:
        return await engine.store.read(lambda db: find_ref(db, request.version))
    version = await engine.store.read(lambda db: _same_text(db, request.version, request.content or ""))
    if version is not None:
        return version
    latest = await engine.store.read(lambda db: prompt_chain(db, request.version).latest.id)
    return (await new_version(engine, latest, request.content, changelog=f"tried by {request.triggered_by}")).id


def _same_text(db: Db, name: str, content: str) -> str | None:
    """The version of that prompt that says the same already."""
    for ident in prompt_chain(db, name).version_ids:
        version = version_record(db, ident)
        if version is not None and version.fields.content.strip() == content.strip():
            return ident
    return None


def _against(db: Db, version: str, named: str | None) -> str:
    other = current_version(db, version) if named is None else find_ref(db, named)
    if other == version:
        raise BadInputError(f"{version} is the version in use: there is nothing to try it against.")
    return other


def _comparison_request(
    request: TrialRequest, benchmark_id: str, version: str, against: str, part: str
) -> ComparisonRequest:
    return ComparisonRequest(
        benchmark_id=benchmark_id, version_a=against, version_b=version, judge=request.judge, target=request.target,
        trials=request.trials, triggered_by=request.triggered_by,
        key=None if request.key is None else f"{request.key}:{part}",
        max_cost_usd=request.max_cost_usd, max_seconds=request.max_seconds,
    )  # fmt: skip
