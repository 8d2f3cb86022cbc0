"""What `evaluate()` of azure-ai-evaluation writes: rows of `inputs.…` and `outputs.EVALUATOR.…`, with the metrics over all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.logs.files import parted
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.records import LONGEST_NAME
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import the_object
from minions_evals_mcp.sessions.conversation import finite, inputs_of, last_answer, texts, without

NAME = "azure-evaluation"
ROWS = "rows"
GIVEN, GAVE = "inputs.", "outputs."
ANSWERS = ("response", "answer", "output", "completion")
EXPECTED = (
    "ground_truth",
    "expected_response",
    "expected_output",
    "expected",
    "reference",
    "target",
    "ground_truth_answer",
)
TALK = "conversation"
ASKED = ("query", "question")
_VERDICT, _TRUTH = "_result", "_passed"
_ABOUT = (
    "threshold",
    "reason",
    "status",
    "properties",
    "score",
    "sample_input",
    "sample_output",
    "model",
    "finish_reason",
)
_WORDS = {"pass": True, "fail": False, "true": True, "false": False}
_DONE = ("completed", "")
NOT_APPLICABLE = "not applicable"


def is_results(seen: JsonValue) -> bool:
    """Whether a JSON document is such a result."""
    document = obj(seen)
    first = obj(next(iter(listed_values(document.get(ROWS))), None))
    named = any(name.startswith((GIVEN, GAVE)) for name in first)
    return isinstance(document.get(ROWS), list) and (named or {"metrics", "studio_url"} <= document.keys())


def read(path: Path) -> Iterator[Item]:
    """A sample for each row, with what its evaluators said."""
    beside, rows = parted(path, frozenset({ROWS}))
    yield EvaluationLog(NAME, path.stem, NAME, own_id=False, extra=obj(finite(without(beside))))
    tried: Counter[str] = Counter()
    for place, piece in enumerate(rows, 1):
        where = f"{path}: {ROWS}.{place}"
        row = the_object(piece.value, where)
        asked = digest(_under(row, GIVEN))
        tried[asked] += 1
        yield _sample(row, place, tried[asked], where)


def _sample(row: Json, place: int, epoch: int, where: str) -> LogSample:
    given, gave = _under(row, GIVEN), _under(row, GAVE)
    scores = tuple(_scores({name: value for name, value in gave.items() if "." in name}))
    wanted = texts(next((given[name] for name in EXPECTED if name in given), None))
    named = given.get("id")
    return LogSample(
        id=place,
        case="" if named is None else str(named),
        inputs=_inputs(given),
        name=next(
            (" ".join(asked.split())[:LONGEST_NAME] for name in ASKED if isinstance(asked := given.get(name), str)), ""
        ),
        epoch=epoch,
        targets=wanted,
        expected={"output": wanted[0]} if len(wanted) == 1 else None,
        assertions=recorded_of(NAME, scores) if scores else (),
        extra=without({"row": without(row, *(name for name in row if name.startswith((GIVEN, GAVE)))) or None}),
        produced=_produced(given, {name: value for name, value in gave.items() if "." not in name}, scores),
        where=where,
    )


def _produced(given: Json, said: Json, scores: tuple[ForeignScore, ...]) -> Produced:
    """What was answered: by the target of `evaluate` (`outputs.response`), else as the data has it."""
    talk = _talk(given)
    answered = next((held[name] for held in (said, given) for name in ANSWERS if name in held), None)
    about = without(obj(given.get(TALK)), "messages")
    return Produced(
        output=last_answer(talk) if talk else answered,
        messages=tuple(talk),
        scores=scores,
        extra=without({"target": without(said, *ANSWERS) or None, "conversation": about or None}),
    )


def _talk(given: Json) -> list[JsonValue]:
    return listed_values(obj(given.get(TALK)).get("messages"))


def _under(row: Json, head: str) -> Json:
    """The cells of that part of a row; one of a line that failed is NaN, and none."""
    cells = ((name.removeprefix(head), value) for name, value in row.items() if name.startswith(head))
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in cells}


def _inputs(given: Json) -> Json:
    if talk := _talk(given):
        return {"messages": [message for message in talk if obj(message).get("role") == "user"]}
    asked = without(given, "id", *ANSWERS, *EXPECTED)
    return inputs_of(next(iter(asked.values()))) if len(asked) == 1 else asked


def _scores(gave: Json) -> Iterator[ForeignScore]:
    """What each evaluator said: its verdicts, and what else it gave, which decides nothing beside a verdict."""
    evaluators: dict[str, Json] = {}
    for name, value in gave.items():
        evaluator, _, field = name.partition(".")
        evaluators.setdefault(evaluator, {})[field] = value
    for evaluator, fields in evaluators.items():
        metrics = _metrics(fields)
        for metric in metrics:
            yield _judged(evaluator, metric, fields, alone=len(metrics) == 1)
        read = {name for metric in metrics for name in (metric, *(f"{metric}{end}" for end in _ends()))}
        for name, value in fields.items():
            if name not in read:
                about: Json = {} if isinstance(value, bool) and not metrics else {"isGrade": True}
                yield ForeignScore(f"{evaluator}.{name}", finite(value), about)


def _ends() -> tuple[str, ...]:
    return (_VERDICT, _TRUTH, *(f"_{name}" for name in _ABOUT))


def _metrics(fields: Json) -> list[str]:
    """The metrics that have a verdict."""
    named = (name.removesuffix(end) for name in fields for end in (_VERDICT, _TRUTH) if name.endswith(end))
    return [metric for metric in dict.fromkeys(named) if _is_metric(metric, fields)]


def _is_metric(metric: str, fields: Json) -> bool:
    """Whether what is called its verdict is one: `tests_passed` of a function of one's own may be a number, `final_result` a text."""
    if isinstance(fields.get(f"{metric}{_TRUTH}"), bool) or str(fields.get(f"{metric}{_VERDICT}")).lower() in _WORDS:
        return True
    return any(f"{metric}{end}" in fields for end in ("", "_score", "_threshold", "_status"))


def _judged(evaluator: str, metric: str, fields: Json, *, alone: bool) -> ForeignScore:
    """The verdict of a metric; one whose line failed has none, and one that was skipped has no say."""
    name = evaluator if alone else f"{evaluator}.{metric}"
    truth, word, status = (
        fields.get(f"{metric}{_TRUTH}"),
        fields.get(f"{metric}{_VERDICT}"),
        fields.get(f"{metric}_status"),
    )
    passed = truth if isinstance(truth, bool) else _WORDS.get(str(word).lower())
    value = fields.get(metric, fields.get(f"{metric}_score"))
    about: Json = {
        "explanation": fields.get(f"{metric}_reason"), **{part: fields.get(f"{metric}_{part}") for part in _ABOUT if part != "reason"},
        "result": None if str(word).lower() in _WORDS else word, "metric": metric,
    }  # fmt: skip
    if status == "skipped" or NOT_APPLICABLE in (value, str(word).replace("_", " ")):  # older versions call that a pass
        return ForeignScore(name, None, obj(finite(without({**about, "unscored": True, "isGrade": True}))))
    if passed is None or str(status or "").lower() not in _DONE:
        return ForeignScore(name, None, obj(finite(without({**about, "unscored": True, "written": value}))))
    return ForeignScore(name, finite(value), obj(finite(without({**about, "passed": passed}))))
