"""DeepEval's test runs (`test_run_….json`, `.latest_run_full.json`), and what `evaluate()` returns, written as JSON.

Both are test cases with the verdicts of its metrics; what `evaluate()` returns has its names in Python's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import parted
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import objects_under, the_object
from minions_evals_mcp.sessions.conversation import count, last_answer, number, objects, texts, without

NAME = "deepeval"
CASES = ("testCases", "conversationalTestCases")
WRAPPED = "testRunData"
RETURNED = ("test_results", "test_cases", "conversational_test_cases")
"""Lists under Python's names: what `evaluate()` returns, and the cases of a run as its models are written."""
CALLS = ("toolsCalled", "tools_called", "mcpToolsCalled", "mcp_tools_called")
LISTS = frozenset({*RETURNED, *CASES, *(f"{WRAPPED}.{name}" for name in CASES)})
_READ = (
    "name", "input", "actualOutput", "expectedOutput", "metricsData", "turns", "toolsCalled", "tokenCost", "inputTokenCount",
    "outputTokenCount", "completionTime", "context", "retrievalContext", "expectedTools",
)  # fmt: skip


def is_run(seen: JsonValue) -> bool:
    """Returns whether a JSON document is a test run."""
    document = obj(seen)
    held = obj(document.get(WRAPPED)) or document
    firsts = (obj(next(iter(listed_values(held.get(name))), None)) for name in RETURNED)
    return any(name in held for name in CASES) or any("metrics_data" in first for first in firsts)


def read(path: Path) -> Iterator[Item]:
    """The test cases; what the run says of itself may stand behind them, and is read first."""
    beside, cases = parted(path, LISTS)
    head: Json = {name.rpartition(".")[2]: value for name, value in beside.items()}
    model = obj(head.get("hyperparameters")).get("model")
    yield EvaluationLog(
        NAME,
        path.stem,
        str(head.get("identifier") or head.get("testFile") or NAME),
        model if isinstance(model, str) else "",
        None,
        head,
        own_id=False,
    )
    digests: dict[str, str] = {}
    for place, piece in enumerate(cases):
        where = f"{path}: {piece.path}.{place}"
        document = _renamed(the_object(piece.value, where))
        order = document.get("order")  # may be null, or counted anew for each data set
        ident = str(place if order is None else order)
        content = digest(document)
        if digests.setdefault(ident, content) != content:
            ident = f"{ident}, place {place}"
        yield _sample(document, ident, where)


def _sample(document: Json, ident: str, where: str) -> LogSample:
    turns = objects_under(document, "turns", where)
    if not isinstance(document.get("input"), str) and not turns:
        raise InvalidRecordError("a test case has an input, or turns", where=where)
    inputs: Json = (
        {"input": document["input"]}
        if not turns
        else {
            "messages": [
                {"role": "user", "content": turn.get("content")} for turn in turns if turn.get("role") == "user"
            ]
        }
    )
    context = {name: document.get(name) for name in ("context", "retrievalContext") if document.get(name)}
    expected = texts(document.get("expectedOutput"))
    wanted = [name for tool in objects(document.get("expectedTools")) if isinstance(name := tool.get("name"), str)]
    produced = _produced(document, turns, where)
    return LogSample(
        id=ident,
        inputs={**inputs, **context},
        name=str(document.get("name") or ""),
        targets=expected,
        expected={"output": expected[0]} if len(expected) == 1 else None,
        assertions=recorded_of(NAME, produced.scores),
        extra=without({"expectedTools": document.get("expectedTools"), "tools": [*wanted] or None}),
        produced=produced,
        where=where,
    )


def _renamed(document: Json) -> Json:
    """The test case under the names that a test run's file has; those that `evaluate()` returns say the same in Python's way."""
    if "metrics_data" not in document:
        return document
    return {_camel(name): value for name, value in document.items() if value is not None and name != "conversational"}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return "order" if name == "index" else head + "".join(map(str.capitalize, rest))


def _produced(fields: Json, turns: list[Json], where: str) -> Produced:
    called = listed_values(fields.get("toolsCalled"))
    seconds = number(fields.get("completionTime"))
    return Produced(
        output=fields.get("actualOutput") if not turns else last_answer(turns),
        messages=messages_of(turns),
        tools=tuple(call_of(obj(call)) for call in called) if "toolsCalled" in fields else None,
        scores=tuple(_score(score) for score in objects_under(fields, "metricsData", where)),
        cost=number(fields.get("tokenCost")),
        input_tokens=count(fields.get("inputTokenCount")),
        output_tokens=count(fields.get("outputTokenCount")),
        latency_ms=None if seconds is None else seconds * 1000,
        extra=without({"rest": without(fields, *_READ) or None}),
    )


def messages_of(turns: Iterable[Json]) -> tuple[Json, ...]:
    """The turns as chats are written: the calls of an answer, then their results, then the answer."""
    return tuple(message for place, turn in enumerate(turns) for message in _messages(turn, place))


def _messages(turn: Json, place: int) -> Iterator[Json]:
    called = [call_of(call) for name in CALLS for call in objects(turn.get(name))]
    if called:
        yield {
            "role": "assistant",
            "content": "",
            "tool_calls": [_called(call, f"{place}.{at}") for at, call in enumerate(called)],
        }
    for at, call in enumerate(called):
        if (result := call.get("result")) is not None:
            said = result if isinstance(result, str) else canonical(result)
            yield {"role": "tool", "tool_call_id": f"{place}.{at}", "content": said}
    yield without(turn, *CALLS)


def _called(call: Json, ident: str) -> Json:
    function: Json = {"name": call["tool"], "arguments": canonical(call.get("arguments"))}
    return {**obj(call.get("extra")), "id": ident, "type": "function", "function": function}


def call_of(call: Json) -> Json:
    """The call of a tool in our words; what else it says stays beside."""
    known = {
        "tool": call.get("name") or "tool",
        "arguments": obj(next((call[name] for name in _ARGUMENTS if name in call), None)),
        "result": call.get("output", call.get("result")),
    }
    rest = without(call, "name", *_ARGUMENTS, "output", "result")
    return without({**known, "extra": rest or None})


_ARGUMENTS = ("inputParameters", "input_parameters", "args")


def _score(metric: Json) -> ForeignScore:
    about = {
        "passed": metric.get("success"),
        "explanation": metric.get("reason"),
        **without(metric, "name", "score", "success", "reason"),
    }
    return ForeignScore(str(metric.get("name")), metric.get("score"), without(about))
