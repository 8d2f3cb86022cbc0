"""Results of Harbor: `result.json` of a trial, or of a job with its trials or with what its statistics say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_checks, recorded_of
from minions_evals_mcp.interop.logs.sample import (
    EvaluationLog,
    ForeignScore,
    Item,
    LogSample,
    Produced,
    SkippedSample,
    Variant,
)
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import count, number, objects, summed, without

NAME = "harbor"
REWARD = "reward"
UNNAMED = "trials of which the job's statistics name neither a reward nor an exception"
_OF_TRIAL = (
    "id", "task_name", "trial_name", "source", "task_checksum", "agent_info", "verifier_result", "exception_info", "started_at",
    "finished_at", "reward_valid",
)  # fmt: skip

_COUNTED = ("n_input_tokens", "n_output_tokens", "cost_usd")


def is_trial(seen: JsonValue) -> bool:
    """Whether a JSON document is the result of a trial."""
    return {"task_name", "trial_name", "agent_info", "verifier_result"} <= obj(seen).keys()


def is_result(seen: JsonValue) -> bool:
    """Whether a JSON document is the result of a trial, or of a job."""
    document = obj(seen)
    return is_trial(seen) or ("n_total_trials" in document and "evals" in obj(document.get("stats")))


def read(path: Path) -> Iterator[Item]:
    """A sample for each trial; its recorded reward is the verdict, and a trial whose reward is not valid is an error."""
    document = the_object(whole_document(path), str(path))
    if is_trial(document):
        job = obj(document.get("config")).get("job_id") or document.get("id")
        yield _log(document, str(job or path.stem))
        yield _trial(document, 1, str(path))
        return
    trials = objects_under(document, "trial_results", str(path))
    if trials:
        yield _log(trials[0], str(document.get("id") or path.stem), without(document, "trial_results"))
        tried: Counter[tuple[str, str]] = Counter()
        for place, trial in enumerate(trials, 1):
            who = str(trial.get("task_name")), _variant(trial).id
            tried[who] += 1
            yield _trial(trial, tried[who], f"{path}: trial_results.{place}")
        return
    yield from _statistics(document, path)


def _log(trial: Json, job: str, about: Json | None = None) -> EvaluationLog:
    task = str(trial.get("source") or trial.get("task_name") or NAME)
    return EvaluationLog(NAME, job, task, _variant(trial).subject, extra={"job": about} if about else {})


def _variant(trial: Json) -> Variant:
    info = obj(trial.get("agent_info"))
    model = obj(info.get("model_info"))
    named = "/".join(str(part) for part in (model.get("provider"), model.get("name")) if part)
    agent = " ".join(str(part) for part in (info.get("name"), info.get("version")) if part) or "agent"
    subject = f"{agent} with {named}" if named else agent
    return Variant(subject, subject)


def _trial(trial: Json, epoch: int, where: str) -> LogSample:
    task, name = trial.get("task_name"), trial.get("trial_name")
    if not isinstance(task, str) or not isinstance(name, str):
        raise InvalidRecordError("a trial has a task_name and a trial_name", where=where)
    rewards = object_under(object_under(trial, "verifier_result", where), "rewards", where)
    scores = _scores(rewards)
    return LogSample(
        id=name,
        case=task,
        inputs=without({"task": task, "checksum": trial.get("task_checksum")}),
        epoch=epoch,
        name=task,
        assertions=_checks(scores),
        extra=without({"source": trial.get("source")}),
        produced=_produced(trial, scores),
        where=where,
    )


def _scores(rewards: Json) -> tuple[ForeignScore, ...]:
    """The rewards: the one that is called so, or is the only one, is the verdict; of several others nobody knows which decides."""
    deciding = REWARD if REWARD in rewards else next(iter(rewards)) if len(rewards) == 1 else None
    return tuple(
        ForeignScore(name, value, {} if name == deciding else {"isGrade": True}) for name, value in rewards.items()
    )


def _checks(scores: Sequence[ForeignScore]) -> tuple[Json, ...]:
    return recorded_of(NAME, scores) or recorded_checks(NAME, [REWARD])


def _produced(trial: Json, scores: tuple[ForeignScore, ...]) -> Produced:
    error = _error(trial, has_reward=bool(scores))
    steps = [*objects(trial.get("step_results"))]
    whole = obj(trial.get("agent_result"))
    contexts = [whole] if whole else [obj(step.get("agent_result")) for step in steps]
    started, completed = trial.get("started_at"), trial.get("finished_at")
    raised = obj(trial.get("exception_info")) or None
    counts = {"agent_result": without(whole, *_COUNTED) or None} if whole else {}
    kept = without({**without(trial, *_OF_TRIAL), **counts})
    return Produced(
        agent=_variant(trial).subject,
        variant=_variant(trial),
        scores=() if error else scores,
        started=started,
        completed=completed,
        input_tokens=known_sum(count(context.get("n_input_tokens")) for context in contexts),
        output_tokens=known_sum(count(context.get("n_output_tokens")) for context in contexts),
        cost=summed(number(context.get("cost_usd")) for context in contexts),
        error=error,
        extra=without(
            {
                **_unread(trial),
                "trial": trial.get("id"),
                "rest": kept or None,
                "exception": raised,
                "rewards": _given(scores) if error else None,
            }
        ),
    )


def _unread(trial: Json) -> Json:
    """What the agent's and the verifier's part say besides what is read."""
    info = obj(trial.get("agent_info"))
    model = without(obj(info.get("model_info")), "provider", "name")
    agent = without({**without(info, "name", "version", "model_info"), "model_info": model or None})
    return without(
        {"agentInfo": agent or None, "verifier": without(obj(trial.get("verifier_result")), "rewards") or None}
    )


def _given(scores: Sequence[ForeignScore]) -> JsonValue:
    return {score.name: score.value for score in scores} or None


def _error(trial: Json, *, has_reward: bool) -> str | None:
    """Why the trial has no verdict: its reward is not valid, or there is none; what ended the agent alone is no such reason."""
    steps = objects(trial.get("step_results"))
    raised = [obj(trial.get("exception_info")), *(obj(step.get("exception_info")) for step in steps)]
    errors = [error for error in raised if error]
    invalid = any(obj(error.get("policy")).get("has_valid_reward") is False for error in errors)
    if has_reward and not invalid and trial.get("reward_valid") is not False:
        return None
    return "; ".join(map(_said, errors)) or "the verifier recorded no reward"


def _said(error: Json) -> str:
    return ": ".join(str(part) for part in (error.get("exception_type"), error.get("exception_message")) if part)


def _statistics(document: Json, path: Path) -> Iterator[Item]:
    """What a job's statistics say of each trial; a trial stands there by its name, its reward or its exception."""
    stats = object_under(document, "stats", str(path))
    evals = object_under(stats, "evals", str(path))
    job = f"{document.get('id') or path.stem} summary"
    first = next(iter(evals), NAME)
    yield EvaluationLog(
        NAME, job, first.rpartition("__")[2], first, document.get("started_at"), extra={"job": document}
    )
    named = 0
    for name, held in evals.items():
        where = f"{path}: stats.evals.{name}"
        trials = _of_eval(the_object(held, where), where)
        named += len(trials)
        tried: Counter[str] = Counter()
        for trial, (rewards, error) in trials.items():
            task = trial.rpartition("__")[0] or trial
            tried[task] += 1
            scores = _scores(rewards)
            yield LogSample(
                id=trial, case=task, inputs={"task": task}, epoch=tried[task], name=task, assertions=_checks(scores), where=where,
                produced=Produced(
                    variant=Variant(name, name), scores=scores, error=None if scores else error,
                    extra=without({"exception": error if scores else None}),
                ),
            )  # fmt: skip
    unnamed = (count(document.get("n_total_trials")) or 0) - named
    yield from (SkippedSample(UNNAMED) for _ in range(min(unnamed, count(stats.get("n_completed_trials")) or 0)))


def _of_eval(held: Json, where: str) -> dict[str, tuple[Json, str]]:
    """The rewards and the exceptions of each trial."""
    trials: dict[str, tuple[Json, str]] = {}
    for reward, values in object_under(held, "reward_stats", where).items():
        for value, names in obj(values).items():
            try:
                number_of_it = float(value)
            except ValueError:
                raise InvalidRecordError("a reward is a number", field=f"reward_stats.{reward}", where=where) from None
            for name in listed_values(names):
                trials.setdefault(str(name), ({}, ""))[0][reward] = number_of_it
    for kind, names in object_under(held, "exception_stats", where).items():
        for name in listed_values(names):
            rewards, before = trials.get(str(name), ({}, ""))
            trials[str(name)] = rewards, f"{before}; {kind}" if before else kind
    return trials
