"""Some of a benchmark's cases, for a quick look while one works; what they come to is never told as the whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import UNSCORED
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import LATEST, get_job, request_of
from minions_evals_mcp.engine.request import RunRequest, Selection
from minions_evals_mcp.engine.run.run_benchmark import get_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.stats.sequential import case_order
from minions_evals_mcp.store import jobs, records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job

PAGE = 200
CONDITION = re.compile(r"\s*(?P<what>tag=|skill=|status=|text~)\s*(?P<of>.*\S)\s*", re.DOTALL)
Status = Literal["passed", "failed", "new"]
STATUSES: tuple[Status, ...] = ("passed", "failed", "new")


async def select_cases(engine: Engine, request: RunRequest, selection: Selection) -> RunRequest:
    """The request narrowed to the cases that the selection names now; under a key that has a run, to that run's cases.

    It stays as it is where all of the benchmark's cases are selected. Of `rerun_failed` the prompt version is taken over
    where the request has none. Raises `BadInputError` where no case is left, `NotFoundError`.
    """
    if not selection.in_words():
        return request
    before = None if selection.rerun_failed is None else await _run_of(engine, selection.rerun_failed, request)
    meant = selection
    if before is not None and before.key != selection.rerun_failed:
        meant = selection.model_copy(update={"rerun_failed": before.id})
    key = request.key
    job = None if key is None else await engine.store.read(lambda db: jobs.job_by_key(db, key))
    frozen = None if job is None or job.kind != "benchmark" else request_of(job)
    is_same = frozen is not None and _is_same(frozen.selection or "", selection, meant)
    if before is not None and request.prompt_version_ref is None:
        version = (frozen if frozen is not None and is_same else request_of(before)).prompt_version_ref
        request = request.model_copy(update={"prompt_version_ref": version})
    if frozen is not None and is_same:
        return request.model_copy(update={"case_ids": frozen.case_ids, "selection": frozen.selection})
    return await _narrowed(engine, request, meant, before)


def _is_same(words: str, selection: Selection, meant: Selection) -> bool:
    """Returns whether those words are of that selection; what was the latest run when it was made need not be so now."""
    before, _, after = selection.in_words().partition(LATEST)
    if selection.rerun_failed != LATEST:
        return words.startswith(f"{meant.in_words()}: ")
    return re.match(rf"{re.escape(before)}\S+?{re.escape(after)}: ", words) is not None


async def _narrowed(engine: Engine, request: RunRequest, selection: Selection, before: Job | None) -> RunRequest:
    benchmark = await get_benchmark(engine, request.subject_id)
    tests = [_condition(text) for text in selection.conditions()]
    kept_ids: list[str] = []
    active = 0
    failed = None if before is None else await engine.store.read(partial(_not_passed, job_id=before.id))
    for at in range(0, len(benchmark.fields.test_case_ids), PAGE):
        part = benchmark.fields.test_case_ids[at : at + PAGE]
        page = await engine.store.read(lambda db, part=part: _cases(db, part))
        active += len(page)
        fitting = [case for case in page if failed is None or case.id in failed]
        for test in tests:
            fitting = await engine.store.read(partial(_fitting, cases=fitting, test=test))
        kept_ids += [case.id for case in fitting]
    chosen = _cut(kept_ids, selection)
    if not chosen:
        raise BadInputError(
            f"no case of {request.subject_id} matches: {selection.in_words()}.",
            remedy=f"{Next('show', {'id': request.subject_id}, 'shows its cases')}.",
        )
    if len(chosen) == active:
        return request
    words = f"{selection.in_words()}: {len(chosen)} of {active} cases"
    return request.model_copy(update={"case_ids": tuple(chosen), "selection": words})


async def _run_of(engine: Engine, ident: str, request: RunRequest) -> Job:
    newest = partial(jobs.newest_of, kind="benchmark", subject_id=request.subject_id)
    job = (await engine.store.read(newest) if ident == LATEST else None) or await get_job(engine, ident)
    if job.kind != "benchmark" or job.subject_id != request.subject_id:
        raise BadInputError(
            f"{ident} is not a run of the benchmark {request.subject_id}.",
            remedy=f"{Next('runs', reason='shows runs and their benchmarks')}.",
        )
    return job


def _cases(db: Db, idents: Sequence[str]) -> list[Record[TestCase]]:
    """Those of the cases that would be run, in order."""
    cases_by_id = records.get_all(db, idents, TestCase)
    cases = [cases_by_id[ident] for ident in idents if ident in cases_by_id]
    return [case for case in cases if case.deleted_at is None and case.fields.status == "active"]


def _not_passed(db: Db, *, job_id: str) -> set[str]:
    """The cases of a job that failed in some trial or have no verdict."""
    return runs.failed_cases(db, job_id) | jobs.cases_with(db, job_id, (*UNSCORED, "skipped"))


Test = Callable[[Db, Sequence[Record[TestCase]]], Iterable[Record[TestCase]]]


def _fitting(db: Db, *, cases: Sequence[Record[TestCase]], test: Test) -> list[Record[TestCase]]:
    return list(test(db, cases))


def _condition(text: str) -> Test:
    match = CONDITION.fullmatch(text)
    if match is None:
        raise BadInputError(
            f"invalid condition {text!r}.",
            remedy=(
                "Use tag=TAG, skill=SKILL, status=passed|failed|new or text~WORDS. Separate several with commas; all must"
                " match."
            ),
        )
    of = match["of"]
    if match["what"] == "tag=":
        return partial(_tagged, tag=of)
    if match["what"] == "skill=":
        return partial(_of_skill, skill=of)
    if match["what"] == "text~":
        return partial(_saying, words=of.casefold())
    if of not in STATUSES:
        raise BadInputError(f"unknown status {of!r}.", remedy=f"Use {', '.join(STATUSES)}.")
    return partial(_standing, status=of)


def _tagged(_: Db, cases: Sequence[Record[TestCase]], *, tag: str) -> list[Record[TestCase]]:
    return [case for case in cases if tag in case.tags or tag in case.fields.tags]


def _of_skill(_: Db, cases: Sequence[Record[TestCase]], *, skill: str) -> list[Record[TestCase]]:
    return [case for case in cases if case.fields.skill_id == skill]


def _saying(_: Db, cases: Sequence[Record[TestCase]], *, words: str) -> list[Record[TestCase]]:
    return [case for case in cases if words in _text(case).casefold()]


def _text(case: Record[TestCase]) -> str:
    return "\n".join((case.id, case.fields.name, case.fields.description, canonical(case.fields.inputs)))


def _standing(db: Db, cases: Sequence[Record[TestCase]], *, status: Status) -> list[Record[TestCase]]:
    newest = runs.newest_verdicts(db, [case.id for case in cases])
    wanted = {"passed": True, "failed": False, "new": None}[status]
    return [case for case in cases if newest.get(case.id) is wanted]


def _cut(idents: list[str], selection: Selection) -> list[str]:
    if selection.sample is not None:
        drawn = set(case_order(idents, selection.seed or 0)[: selection.sample])
        idents = [ident for ident in idents if ident in drawn]
    return idents[: selection.limit]
