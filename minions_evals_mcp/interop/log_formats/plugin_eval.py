"""Results of `claude plugin eval`: each run of each case, with the plugin and without it, as two versions to compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, Variant
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import number, without

NAME = "claude-plugin-eval"
ARMS = ("without", "with")
NOT_RECORDED = "the results hold no output"
SKIPPED = "its paid graders were skipped"


def is_results(first: JsonValue) -> bool:
    """Whether a JSON value is the results of `claude plugin eval`."""
    document = obj(first)
    return "claudeVersion" in document and "suite" in document and "cases" in document


def read(path: Path) -> Iterator[Item]:
    """Each run of each case and arm; the scored graders' recorded results are the verdict, by their weights."""
    document = the_object(whole_document(path), str(path))
    suite = obj(document.get("suite"))
    plugins = [obj(plugin) for plugin in listed_values(suite.get("plugins"))]
    names = ", ".join(f"{plugin.get('name')} {plugin.get('version') or ''}".strip() for plugin in plugins) or "plugin"
    host = f"Claude Code {document.get('claudeVersion')}"
    variants = {
        "with": Variant("with", f"{host} with {names}"),
        "without": Variant("without", f"{host} without {names}"),
    }
    started = document.get("startedAt")
    task = "+".join(str(plugin.get("name")) for plugin in plugins) or path.stem
    yield EvaluationLog(
        NAME, str(started or path.stem), task, names, started,
        extra=without({"suite": suite, "rest": without(document, "suite", "cases", "startedAt")}), own_id=started is not None,
    )  # fmt: skip
    threshold = number(suite.get("threshold"))
    for case_number, case in enumerate(objects_under(document, "cases", str(path)), 1):
        where = f"{path}: cases.{case_number}"
        if not isinstance(case.get("name"), str):
            raise InvalidRecordError("must be a text", field="name", where=where)
        yield from _samples(case, variants, threshold, where)


def _samples(case: Json, variants: dict[str, Variant], threshold: float | None, where: str) -> Iterator[LogSample]:
    arms = obj(case.get("arms"))
    scored = _scored(case, arms)
    checks: tuple[Json, ...] = tuple(
        {**check, "weight": weight, "metric": name}
        for name, weight in scored.items()
        for check in recorded_checks(NAME, [name])
    )
    for arm in ARMS:
        for epoch, run in enumerate(objects_under(arms, arm, where), 1):
            yield LogSample(
                id=case["name"],
                inputs={"prompt": case.get("promptMarkdown")},
                epoch=epoch,
                name=str(case["name"]),
                assertions=checks,
                threshold=1.0 if threshold is None else threshold,
                extra=without(
                    {
                        "case": without(case, "name", "arms", "promptMarkdown"),
                        "arms": without(arms, *ARMS) or None,
                    }
                ),
                produced=_produced(run, variants[arm], scored),
                where=f"{where}.{arm}.{epoch}",
            )


def _scored(case: Json, arms: Json) -> dict[str, float]:
    """The graders that count, with their weights: those that a run says it scored, which are none that only one arm has."""
    named = {
        str(grader.get("name")): number(grader.get("weight")) for grader in map(obj, listed_values(case.get("graders")))
    }
    runs = [obj(run) for arm in ARMS for run in listed_values(arms.get(arm))]
    graded = [obj(grader) for run in runs for grader in listed_values(run.get("graders"))]
    counts = {str(grader.get("name")) for grader in graded if _counts(grader)}
    weights = {str(grader.get("name")): number(grader.get("weight")) for grader in graded}
    return {
        name: next((weight for weight in (named.get(name), weights.get(name)) if weight is not None), 1.0)
        for name in sorted(counts)
    }


def _counts(grader: Json) -> bool:
    return grader.get("scored") is not False and grader.get("withOnly") is not True


def _produced(run: Json, variant: Variant, scored: dict[str, float]) -> Produced:
    graders = [obj(grader) for grader in listed_values(run.get("graders"))]
    error = str(run["error"]) if run.get("error") else SKIPPED if run.get("skippedPaidGraders") is True else None
    seen = next((grader["evidence"] for grader in graders if isinstance(grader.get("evidence"), str)), None)
    seconds = number(run.get("durationSeconds"))
    return Produced(
        output=seen,
        scores=() if error else tuple(_score(grader) for grader in graders),
        agent="claude-code",
        variant=variant,
        started=run.get("startedAt"),
        cost=number(run.get("costUsd")),
        latency_ms=None if seconds is None else seconds * 1000,
        error=error,
        stop_reason=None if error or seen is not None else NOT_RECORDED,
        extra=without(
            {
                "rest": without(run, "graders", "error", "costUsd", "startedAt", "durationSeconds"),
                "scored": [*scored],
            }
        ),
    )


def _score(grader: Json) -> ForeignScore:
    """A grader's result; a judge's votes stand beside it."""
    about = without(grader, "name", "passed", "explanation")
    return ForeignScore(
        str(grader.get("name")),
        grader.get("passed"),
        without({"explanation": grader.get("explanation"), "grader": about}),
    )
