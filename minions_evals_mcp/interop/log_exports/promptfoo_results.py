"""Results as promptfoo writes them (version 3), of a run or an imported log: one prompt, one column."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj, without_none
from minions_evals_mcp.interop.log_exports.exported_outputs import Export, ExportedOutput, ExportedScore, worth
from minions_evals_mcp.interop.log_exports.writing import one_document, text
from minions_evals_mcp.sessions.conversation import number, objects

VERSION = 3
NO_FAILURE, ASSERTION, ERROR = 0, 1, 2
WHOLE = "score"
"""The name under which the reader keeps promptfoo's verdict on a cell as a whole."""
NOTHING_JUDGED = "nobody judged it"


@dataclass(slots=True)
class _Sums:
    """The sums of the cells, and the number of each case's test in the order in which they came."""

    verdicts: Counter[int] = field(default_factory=Counter[int])
    score: float = 0.0
    cost: float = 0.0
    latency_ms: float = 0.0
    tokens: Counter[str] = field(default_factory=Counter[str])
    tests: dict[str, int] = field(default_factory=dict[str, int])


async def promptfoo_results(export: Export) -> AsyncIterator[str]:
    """The results file, its cells as soon as they were read; its one column, with the sums, comes behind them."""
    sums = _Sums()
    outside: Json = {"evalId": export.id, "config": {"description": export.task}, "shareableUrl": None, "metadata": {}}
    members = "".join(f"{text(name)}: {text(value)}, " for name, value in outside.items())
    yield f'{{{members}"results": '
    inside: Json = {"version": VERSION, "timestamp": export.created}
    async for piece in one_document(
        inside,
        "results",
        export,
        lambda output_told, place: _result(output_told, place, export, sums),
        closing=lambda: _behind(export, sums),
    ):
        yield piece


def _behind(export: Export, sums: _Sums) -> str:
    """The column and the sums."""
    passed, failed, errors = (sums.verdicts[kind] for kind in (NO_FAILURE, ASSERTION, ERROR))
    tokens: Json = {name: sums.tokens[name] for name in ("total", "prompt", "completion")}
    metrics: Json = {
        "score": sums.score, "testPassCount": passed, "testFailCount": failed, "testErrorCount": errors, "assertPassCount": passed,
        "assertFailCount": failed, "totalLatencyMs": sums.latency_ms, "tokenUsage": tokens, "namedScores": {},
        "namedScoresCount": {}, "cost": sums.cost,
    }  # fmt: skip
    prompt: Json = {
        "raw": export.prompt, "label": export.prompt[:200] or export.task, "id": export.version or export.id,
        "provider": export.subject, "metrics": metrics,
    }  # fmt: skip
    stats: Json = {"successes": passed, "failures": failed, "errors": errors, "tokenUsage": tokens}
    return f', "prompts": [{text(prompt)}], "stats": {text(stats)}}}}}'


def _result(output: ExportedOutput, place: int, export: Export, sums: _Sums) -> Json:
    extra = output.extra
    test = obj(obj(output.case.get("extra")).get("testCase"))
    provider: JsonValue = extra.get("provider") or {"id": export.subject or "recorded", "label": ""}
    whole, named, parts = _sorted(output)
    score = output.score if output.score is not None else worth(whole) if whole else None
    passed = output.passed if output.passed is not None else _passed(whole)
    reason = output.reason or (whole.reason if whole else "") or ("" if whole else NOTHING_JUDGED)
    failure = ERROR if output.error is not None else NO_FAILURE if passed else ASSERTION
    grading: Json = {
        "pass": passed, "score": score or 0.0, "reason": reason,
        "namedScores": {score.name: score.value for score in named}, "componentResults": [_component(part) for part in parts],
    }  # fmt: skip
    response: Json = without_none({
        "output": output.output, "finishReason": output.stop_reason, "tokenUsage": _tokens(output), "cost": output.cost,
        "metadata": {"toolCalls": [*map(_call, objects([*output.steps]))]} if output.steps else None,
        **obj(extra.get("response")),
    })  # fmt: skip
    number_ = output.sample if "provider" in extra and isinstance(output.sample, int) else None
    _count(sums, output, failure, score)
    return without_none({
        "id": output.test_run_id or output.agent_run_id or f"{export.id}:{place}",
        "promptIdx": 0, "testIdx": sums.tests.setdefault(output.case_id, len(sums.tests)) if number_ is None else number_,
        "testCase": {**_test(output), **test, "vars": output.inputs}, "vars": output.inputs, "provider": provider,
        "prompt": {"raw": extra.get("prompt") or export.prompt, "label": export.prompt[:200] or export.task},
        "promptId": export.version or export.id, "response": {} if output.output is None else response,
        "success": passed, "score": score or 0.0, "namedScores": {score.name: score.value for score in named},
        "gradingResult": grading, "failureReason": failure, "error": output.error,
        "latencyMs": output.latency_ms or 0, "cost": output.cost, "tokenUsage": _tokens(output), "metadata": {},
        **{
            key: value for key, value in obj(extra.get("rest")).items()
            if key not in {"promptIdx", "testIdx", "id", "promptId"}
        },
    })  # fmt: skip


def _call(step: Json) -> Json:
    """The call as promptfoo's own providers of agents write it."""
    error, result, parent = step.get("error"), step.get("result"), step.get("parent_id", step.get("parentId"))
    return without_none({
        "id": step.get("id"), "name": step.get("tool"), "input": obj(step.get("arguments")),
        "output": error if result is None else result, "is_error": error is not None, "parentToolUseId": parent,
    })  # fmt: skip


def _passed(whole: ExportedScore | None) -> bool:
    """Returns whether the verdict is a pass: what was said, else a full score."""
    if whole is None:
        return False
    return whole.passed if whole.passed is not None else (worth(whole) or 0.0) >= 1.0


def _count(sums: _Sums, output: ExportedOutput, failure: int, score: float | None) -> None:
    sums.verdicts[failure] += 1
    sums.score += score or 0.0
    sums.cost += output.cost or 0.0
    sums.latency_ms += output.latency_ms or 0.0
    sums.tokens.update({name: value for name, value in (_tokens(output) or {}).items() if isinstance(value, int)})


def _test(output: ExportedOutput) -> Json:
    """The case as a test; its checks as they stand here."""
    known = {
        "description": output.name,
        "assert": output.case.get("assertions"),
        "threshold": output.case.get("threshold"),
    }
    return without_none({key: value for key, value in known.items() if value not in ("", [])})


def _sorted(output: ExportedOutput) -> tuple[ExportedScore | None, list[ExportedScore], list[ExportedScore]]:
    """The verdict as a whole (made here, else promptfoo's own), named scores, and the scores of single checks."""
    ours = [score for score in output.scores if not score.foreign]
    theirs = [score for score in output.scores if score.foreign]
    if ours:
        return ours[0], ours[1:], [ours[0], *theirs]
    whole = next((score for score in theirs if score.name == WHOLE), None)
    if whole is None:  # another tool's scores: the first is the verdict, and stands among its parts with its name
        return next(iter(theirs), None), [], theirs
    rest = [score for score in theirs if score is not whole]
    return (
        whole,
        [score for score in rest if score.about.get("named")],
        [score for score in rest if not score.about.get("named")],
    )


def _component(score: ExportedScore) -> Json:
    value = number(score.value)
    passed = score.passed if score.passed is not None else _passed(score) if score.foreign else bool(value)
    assertion = score.about.get("assertion", {"type": score.name})
    metadata: Json = (
        {"foreign": score.foreign} if value is not None else {"foreign": score.foreign, "value": score.value}
    )
    return {
        "pass": passed,
        "score": worth(score) or 0.0,
        "reason": score.reason,
        "assertion": assertion,
        "metadata": metadata,
    }


def _tokens(output: ExportedOutput) -> Json | None:
    if output.input_tokens is None and output.output_tokens is None:
        return None
    prompt, completion = output.input_tokens or 0, output.output_tokens or 0
    return {"total": prompt + completion, "prompt": prompt, "completion": completion}
