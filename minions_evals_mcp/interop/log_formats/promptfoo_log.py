"""promptfoo's results (a document of version 3, or a line each): each prompt with each provider is a version, each test a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.logs.files import json_lines, parted
from minions_evals_mcp.interop.logs.not_taken import repeated, summed
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, Variant
from minions_evals_mcp.interop.logs.seen_ids import CountedIds
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import is_yaml, whole_document
from minions_evals_mcp.interop.score_rows import vetted
from minions_evals_mcp.scoring.nunjucks.templates import rendered_within
from minions_evals_mcp.sessions.conversation import count, finite, number, objects, without

NAME = "promptfoo"
VERSION = 3
ERROR = 2
RESULTS = "results.results"
LINES = (".jsonl", ".ndjson")
_NOTHING: Json = {}
OF_PROMPTFOO = frozenset({"provider", "config", "rubricPrompt", "contextTransform", "transform"})
"""Keys of an assertion that only a config which a person runs may give."""
_READ = frozenset({
    "testCase", "vars", "response", "success", "score", "namedScores", "gradingResult", "error", "latencyMs", "cost", "tokenUsage",
    "prompt", "provider",
})  # fmt: skip


def is_results(seen: JsonValue) -> bool:
    """Returns whether a JSON document is a file of promptfoo's results."""
    results = obj(obj(seen).get("results"))
    return "version" in results or {"prompts", "results"} <= results.keys()


def is_line(seen: JsonValue) -> bool:
    """Whether a line is a result of promptfoo (`-o results.jsonl`)."""
    return {"testCase", "promptIdx", "testIdx", "success"} <= obj(seen).keys()


def read(path: Path) -> Iterator[Item]:
    """The results one by one, a line each or the list in a document; raises `InvalidRecordError` for another version of it."""
    if path.suffix.lower() in LINES:
        yield from _read_lines(path)
        return
    head, results = _parted(path)
    if head.get("results.version") != VERSION:
        raise InvalidRecordError(
            f"is not version {VERSION} of promptfoo's results", field="results.version", where=str(path)
        )
    yield _log(head, path)
    prompts = [str(prompt.get("raw") or "") for prompt in objects(head.get("results.prompts"))]
    yield from _samples(((f"{path}: results.results.{place}", value) for place, value in enumerate(results)), prompts)


def _parted(path: Path) -> tuple[Json, Iterator[JsonValue]]:
    """The rest of the document, and its results; a document in YAML is held whole."""
    if not is_yaml(path):
        head, pieces = parted(path, frozenset({RESULTS}))
        return head, (piece.value for piece in pieces)
    document = the_object(finite(whole_document(path)), str(path))
    told = obj(document.get("results"))
    listed = told.get("results")
    if not isinstance(listed, list):
        raise InvalidRecordError("must be a list", field=RESULTS, where=str(path))
    beside = {f"results.{key}": value for key, value in told.items() if key != "results"}
    return {**without(document, "results"), **beside}, iter(listed)


def _read_lines(path: Path) -> Iterator[Item]:
    first = next((the_object(line, where) for where, line in json_lines(path)), _NOTHING)
    evaluation = first.get("evalId")
    yield EvaluationLog(NAME, str(evaluation or path.stem), path.stem, own_id=bool(evaluation))
    yield from _samples(json_lines(path), [])


def _samples(results: Iterable[tuple[str, JsonValue]], prompts: list[str]) -> Iterator[LogSample]:
    tried = CountedIds()
    for place, (where, value) in enumerate(results):
        document = the_object(value, where)
        variant = _variant(document, prompts)
        cell = f"{document.get('testIdx', place)}\n{variant.id}"
        tried.add(cell)
        yield _sample(document, variant, tried.count(cell), where)


def _log(head: Json, path: Path) -> EvaluationLog:
    config = obj(head.get("config"))
    task = str(config.get("description") or path.stem)
    about = without(head, "results.version", "results.timestamp", "evalId")
    return EvaluationLog(
        NAME,
        str(head.get("evalId") or path.stem),
        task,
        "",
        head.get("results.timestamp"),
        about,
        own_id=bool(head.get("evalId")),
    )


def _variant(fields: Json, prompts: list[str]) -> Variant:
    """The prompt, as it was before a test's variables were filled in, with the provider that it was given to."""
    provider, prompt = fields.get("provider"), obj(fields.get("prompt"))
    ident = str(obj(provider).get("id", provider))
    label = str(obj(provider).get("label") or ident)
    named = str(prompt.get("label") or "")
    place = count(fields.get("promptIdx")) or 0
    written = prompts[place] if place < len(prompts) else ""
    return Variant(f"{place}-{ident}", f"{label} · {named[:60]}" if named else label, written)


def _sample(fields: Json, variant: Variant, epoch: int, where: str) -> LogSample:
    test = obj(fields.get("testCase"))
    variables = obj(fields.get("vars")) or obj(test.get("vars"))
    if "success" not in fields and "gradingResult" not in fields:
        raise InvalidRecordError("a result says success", where=where)
    assertions, unread = _checks(test, variables)
    threshold = test.get("threshold")
    return LogSample(
        id=fields.get("testIdx"),
        inputs=variables,
        epoch=epoch,
        name=str(test.get("description") or ""),
        assertions=tuple(assertions),
        threshold=float(threshold) if isinstance(threshold, int | float) and not unread else None,
        unread=tuple(unread),
        extra=without({"testCase": without(test, *([] if obj(test.get("vars")) != variables else ["vars"])) or None}),
        produced=_produced(fields, variant, where),
        where=where,
    )


def _checks(test: Json, variables: Json) -> tuple[list[Json], list[str]]:
    """The checks that mean the same here, and the names of those that do not."""
    assertions: list[Json] = []
    unread: list[str] = []
    for place, written in enumerate(objects(test.get("assert"))):
        try:
            held = obj(rendered_within(without(written), variables))
            if finite(held) != held:
                raise InvalidRecordError("NaN and infinities are no values of a check")
            if held.keys() & OF_PROMPTFOO:
                raise InvalidRecordError("only a config gives this")
            vetted(held, place)
            assertions.append(held)
        except (BadInputError, ValueError):  # half a surrogate pair, too: no text that can be compared
            unread.append(str(written.get("type", "assertion")))
    return assertions, unread


def _produced(fields: Json, variant: Variant, where: str) -> Produced:
    response, usage = obj(fields.get("response")), obj(fields.get("tokenUsage"))
    failed = fields.get("failureReason") == ERROR or (fields.get("error") is not None and "output" not in response)
    prompt = obj(fields.get("prompt"))
    cached = without(response, "output", "tokenUsage", "cost", "finishReason")
    called = obj(response.get("metadata")).get("toolCalls")
    return Produced(
        output=response.get("output"),
        tools=tuple(_step(call) for call in objects(called)) if isinstance(called, list) else None,
        scores=tuple(_scores(fields, where)),
        variant=variant,
        input_tokens=count(usage.get("prompt")),
        output_tokens=count(usage.get("completion")),
        cost=number(fields.get("cost")),
        latency_ms=number(fields.get("latencyMs")),
        error=str(fields.get("error") or "failed") if failed else None,
        stop_reason=stop if isinstance(stop := response.get("finishReason"), str) else None,
        extra=without({
            "prompt": prompt.get("raw"), "ofPrompt": without(prompt, "raw", "label") or None, "provider": fields.get("provider"),
            "tokenUsage": without(usage, *summed(usage, "total", "prompt", "completion")) or None,
            "rest": without(fields, *_READ) or None, "response": cached or None,
        }),
    )  # fmt: skip


def _step(call: Json) -> Json:
    """A call as promptfoo's providers of agents write it, in our words."""
    known = {
        "tool": call.get("name") or "tool",
        "arguments": obj(call.get("input", call.get("arguments"))),
        "id": call.get("id"),
    }
    failed, output = call.get("is_error") is True, call.get("output", call.get("result"))
    came = {"error": value_text(output) or "failed"} if failed else {"result": output}
    rest = without(call, "id", "name", "input", "arguments", "output", "result", "is_error", "parentToolUseId")
    return without({**known, **came, "parentId": call.get("parentToolUseId"), "extra": rest or None})


def _scores(fields: Json, where: str) -> Iterator[ForeignScore]:
    """The verdict as a whole, the named scores, and each assertion's."""
    grading = object_under(fields, "gradingResult", where)
    again = repeated(grading, {"pass": fields.get("success"), "score": fields.get("score")})
    rest = without(grading, *again, "reason", "namedScores", "componentResults", "assertion")
    whole = {"passed": fields.get("success"), "explanation": grading.get("reason"), "rest": rest or None}
    yield ForeignScore("score", fields.get("score"), without(whole))
    for name, value in object_under(fields, "namedScores", where).items():
        yield ForeignScore(name, value, {"named": True})
    for part in objects_under(grading, "componentResults", where):
        kind = str(obj(part.get("assertion")).get("type", "assertion"))
        about = without(
            {
                "passed": part.get("pass"),
                "explanation": part.get("reason"),
                "assertion": part.get("assertion"),
                "rest": without(part, "pass", "score", "reason", "assertion") or None,
            }
        )
        yield ForeignScore(kind, part.get("score"), {"component": True, **about})
