"""The step that makes a request again: to start a refused run once it can run, or to resume one under its key."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.request_fields import OF_A_CONFIG, OF_A_FUNCTION, OWN_TARGETS
from minions_evals_mcp.engine.budget import HIGHER
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import InstrumentError, StoppedError
from minions_evals_mcp.next_steps import WORKS, Next, Value
from minions_evals_mcp.store.jobs import Job

OPERATIONS: Mapping[str, tuple[str, str]] = {
    "test-case": ("run-test-case", "test_case_id"),
    "benchmark": ("run-benchmark", "benchmark_id"),
    "comparison": ("compare", "benchmark_id"),
    "ab-test": ("ab-test", "test_case_id"),
    "trial": ("try-version", "benchmark_id"),
}
"""The operation that starts a job of each kind, and what its subject is called there."""
SETTINGS: Mapping[str, str] = {
    "agentRunId": "agent_run_id", "promptVersionRef": "prompt_version_ref", "versionA": "version_a", "versionB": "version_b",
    "target": "target", "recorded": "recorded", "judge": "judge", "trials": "trials", "fresh": "fresh", "cache": "cache",
    "sequential": "sequential", "tieThreshold": "tie_threshold", "branchIds": "branch_ids", "promptVersion": "prompt_version_ref",
    "winnerCriteria": "winner_criteria", "iterations": "iterations", "caseIds": "case_ids", "triggeredBy": "triggered_by",
    "version": "version", "against": "against", "sealed": "sealed",
}  # fmt: skip
"""What a resumed run must be given again, by its name in the stored request."""
DEFAULTS: Mapping[str, JsonValue] = {
    "judge": "auto", "trials": 1, "iterations": 1, "winnerCriteria": "best_quality", "triggeredBy": "command-line",
}  # fmt: skip
WORK_SHOWN, CORRECTED = f"{WORKS}.", "Correct the target."
"""What helps where a key or service failed, and where the user's own code or address did."""


def ask_again(request: RunRequest, case_ids: object, reason: str) -> Next:
    """The step that asks for that run again."""
    kind = "test-case" if case_ids in ((request.subject_id,), [request.subject_id]) else "benchmark"
    return _asked(kind, request.subject_id, request.frozen(), None, reason)


def resume_step(job: Job, reason: str = "resumes it", *, max_cost_usd: float | None = None) -> Next:
    """The step that resumes the job under its key, with every argument that it was started with."""
    return resume_of(job.kind, job.subject_id, job.spec, job.key, reason, max_cost_usd=max_cost_usd)


def resume_of(
    kind: str, subject_id: str, spec: Mapping[str, JsonValue], key: str, reason: str = "", *, max_cost_usd: float | None = None
) -> Next:  # fmt: skip
    """As `resume_step`, of a job's parts."""
    model = spec.get("judgeModel")
    more: dict[str, Value] = {"judge_model": model} if isinstance(model, str) and kind != "ab-test" else {}
    if max_cost_usd is not None:
        more["max_cost_usd"] = max_cost_usd
    return _asked(kind, subject_id, cast("Json", spec["request"]), key, reason, more)


def what_helps(job: Job, *, of_target: bool) -> str:
    """What helps after an error of the instrument: a target of the user's own they correct, of keys and services `doctor` knows."""
    target = cast("Json", job.spec["request"]).get("target")
    is_own = isinstance(target, str) and target.startswith((*OWN_TARGETS, OF_A_FUNCTION))
    return CORRECTED if of_target and is_own else WORK_SHOWN


def how_to_resume(job: Job, reason: str, max_cost_usd: float | None) -> str:
    """How a stopped run is resumed, with twice its cost cap where that stopped it."""
    if HIGHER not in reason or max_cost_usd is None:
        return f"Progress is saved: {resume_step(job)}."
    again = resume_step(job, "resumes it with twice the cost cap", max_cost_usd=2 * max_cost_usd)
    return f"Progress is saved: {again}. Without the key, everything is run again."


@contextmanager
def resumed_as(whole: Next) -> Generator[None]:
    """Raises what stops a part of a larger work with the step that resumes the whole: the part's own resumes no more."""
    try:
        yield
    except (StoppedError, InstrumentError) as error:
        helps = "".join(f" {said}" for said in (WORK_SHOWN, CORRECTED) if said in error.remedy_text)
        raise type(error)(error.message_text, remedy=f"Progress is saved: {whole}.{helps}") from error


def _asked(
    kind: str, subject: str, wire: Mapping[str, JsonValue], key: str | None, reason: str, more: Mapping[str, Value] | None = None
) -> Next:  # fmt: skip
    target = wire.get("target")
    if isinstance(target, str) and target.startswith(OF_A_CONFIG):
        return Next("eval", {"config": "CONFIG", **({} if key is None else {"key": key})}, reason)
    again: dict[str, Value] = {} if key is None else {"key": key}
    rejudged = wire.get("rejudgeRunId")
    if isinstance(rejudged, str):
        judge: dict[str, Value] = {"judge": str(wire["judge"])} if wire.get("judge") != DEFAULTS["judge"] else {}
        return Next("rejudge", {"run_id": rejudged, "benchmark_id": subject, **judge, **(more or {}), **again}, reason)
    operation, name = OPERATIONS[kind]
    if kind == "ab-test":
        name = "benchmark_id" if wire.get("benchmarkId") else name
    given = {
        argument: cast("Value", wire[setting])
        for setting, argument in SETTINGS.items()
        if wire.get(setting) not in (None, False, [], DEFAULTS.get(setting))
    }
    return Next(operation, {name: subject, **given, **(more or {}), **again}, reason)
