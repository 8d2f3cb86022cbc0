"""Samples of lm-evaluation-harness (`--log_samples`): a line for each document and filter; lmms-eval writes nearly the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj, parsed
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.grouped_rows import groups
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import object_under
from minions_evals_mcp.sessions.conversation import inputs_of, texts, without

NAME = "lm-eval"
NO_FILTER = "none"
_FILE = re.compile(r"samples_(?P<task>.+?)(?:_(?P<day>\d{4}-\d\d-\d\d)T(?P<time>\d\d-\d\d-\d\d(?:\.\d+)?))?")
_REQUEST = re.compile(r"gen_args_\d+")
_DIGESTS = ("doc_hash", "prompt_hash", "target_hash")
_READ = ("doc_id", "doc", "target", "arguments", "input", "resps", "filtered_resps", "filter", "metrics", *_DIGESTS)
_OWN = ("doc_id", "filtered_resps", "filter", "metrics", *_DIGESTS)
"""What each line says of its own."""
_LOWER = re.compile(
    r"(.*_)?(perplexity|bits_per_byte|brier_score|ter|wer|bias|toxicity_score|pct_\w+|difference_male_female)"
    r"|(.*_)?bias_score(_\w+)?|likelihood_diff"
)
"""Metrics of which its tasks say `higher_is_better: false`; a line does not say it."""


def is_samples(seen: JsonValue) -> bool:
    """Whether a line is of such a sample."""
    return {"doc_id", "filtered_resps"} <= obj(seen).keys()


def read(path: Path) -> Iterator[Item]:
    """A sample for each document: its lines are of several filters over one output, whose scores are told apart by the filter."""
    found = _FILE.fullmatch(path.stem)
    task = found["task"] if found else path.stem
    created = f"{found['day']}T{found['time'].replace('-', ':')}" if found and found["day"] else None
    folder = path.resolve().parent.name
    subject = folder.replace("__", "/") if "__" in folder else ""  # the harness names it after the model
    yield EvaluationLog(NAME, path.stem, task, subject, created, own_id=False)
    for where, lines in groups(path, frozenset({""}), _key):
        yield from _samples(lines, where)


def _key(line: Json) -> str | None:
    return json.dumps(line["doc_id"]) if isinstance(line.get("doc_id"), int | str) else None


def _samples(lines: list[Json], where: str) -> Iterator[LogSample]:
    """The tries of one document: each bears each filter at most once."""
    tries: list[list[Json]] = []
    seen: Counter[str] = Counter()
    for line in lines:
        if not is_samples(line) or isinstance(line["doc_id"], bool) or not isinstance(line["doc_id"], int | str):
            raise InvalidRecordError("a line has doc_id, a number or a text, and filtered_resps", where=where)
        name = _filter(line)
        if seen[name] == len(tries):
            tries.append([])
        tries[seen[name]].append(line)
        seen[name] += 1
    checks = recorded_of(NAME, [score for line in lines for score in _scores(line, where)])
    for number, of_try in enumerate(tries, 1):
        yield replace(_sample(of_try, where), epoch=number, assertions=checks)


def _filter(line: Json) -> str:
    return str(line.get("filter") or NO_FILTER)


def _sample(lines: list[Json], where: str) -> LogSample:
    line = lines[0]
    requests, rest = _requests(line, where)
    asked = _asked(line, requests)
    targets = texts(line.get("target"))
    return LogSample(
        id=line["doc_id"],
        inputs=asked.inputs,
        targets=targets,
        expected={"output": targets[0]} if len(targets) == 1 and not asked.choices else None,
        extra=without({"metadata": line.get("doc")}),
        produced=Produced(
            output=asked.output,
            scores=tuple(score for one in lines for score in _scores(one, where)),
            extra=without(
                {
                    "responses": None if asked.output == _only(line.get("resps")) else line.get("resps"),
                    "arguments": _left(requests, asked) or None,
                    "ofArguments": rest or None,
                    "rest": _unread([without(one, *_taken(one, line), *_metrics(one, where)) for one in lines]),
                }
            ),
        ),
        where=where,
    )


def _taken(line: Json, first: Json) -> Iterator[str]:
    """The names that are read; lines of one document say most of them alike, and what one says otherwise is kept."""
    return (name for name in _READ if name in _OWN or line.get(name) == first.get(name))


def _unread(rests: list[Json]) -> JsonValue:
    """What the lines say beside all that, once where they say the same."""
    if all(rest == rests[0] for rest in rests):
        return rests[0] or None
    return [*rests]


def _requests(line: Json, where: str) -> tuple[list[Json], Json]:
    """The arguments of each request, and what else stands there; older versions write lists."""
    held = line.get("arguments")
    if isinstance(held, list):
        listed = [listed_values(request) for request in held]
        return [{f"arg_{place}": part for place, part in enumerate(request)} for request in listed], {}
    named = object_under(line, "arguments", where)
    requests = [object_under(named, name, where) for name in named if _REQUEST.fullmatch(name)]
    return requests, {name: part for name, part in named.items() if not _REQUEST.fullmatch(name)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked, and what of it was answered: the likeliest of `choices`, else what was generated."""

    inputs: Json
    output: JsonValue
    choices: tuple[str, ...] = ()


def _asked(line: Json, requests: list[Json]) -> _Asked:
    contexts = [_text(request.get("arg_0")) for request in requests]
    endings = [request.get("arg_1") for request in requests]
    responses = listed_values(line.get("resps"))
    if not requests:
        said = _only(line.get("resps")) if responses else _only([line["filtered_resps"]])
        return _Asked({"input": line.get("input") or line.get("doc")}, said)
    measured = [_likelihood(response) for response in responses]
    if not all(isinstance(ending, str) for ending in endings):
        if len(requests) == 1 and "arg_1" not in requests[0]:
            return _Asked({"input": contexts[0]}, measured[0] if measured else None)
        return _Asked(_prompt(contexts), _only(line.get("resps")))
    if len(requests) == 1:
        return _Asked({"input": contexts[0], "continuation": endings[0]}, measured[0] if measured else None)
    # Mutual information asks for each ending without its context, too.
    asked = [place for place, context in enumerate(contexts) if context] or [*range(len(contexts))]
    same = len({contexts[place] for place in asked}) == 1
    choices = tuple(str(endings[place]) if same else f"{contexts[place]}{endings[place]}" for place in asked)
    inputs: Json = {**({"input": contexts[asked[0]]} if same else {}), "choices": [*choices]}
    return _Asked(inputs, _likeliest(choices, [_number(measured[place : place + 1]) for place in asked]), choices)


def _likeliest(choices: tuple[str, ...], likelihoods: list[float | None]) -> str | None:
    known = [(value, -place) for place, value in enumerate(likelihoods) if value is not None]
    return choices[-max(known)[1]].strip() if len(known) == len(choices) else None


def _number(measured: list[JsonValue]) -> float | None:
    value = obj(next(iter(measured), None)).get("logLikelihood")
    return value if isinstance(value, float) else None


def _likelihood(response: JsonValue) -> JsonValue:
    """The log-likelihood of a request's ending, and whether the model alone would have said it; the harness writes both as texts."""
    first = next(iter(listed_values(response)), None)
    value, *greedy = listed_values(first) or [first]
    with suppress(ValueError, TypeError, OverflowError):
        number = float(value)  # pyright: ignore[reportArgumentType]  what is no number raises
        return {"logLikelihood": number, **({"isGreedy": str(greedy[0]) == "True"} if greedy else {})}
    return None


def _text(argument: JsonValue) -> str:
    """A context: a text, or a chat as one text in a list."""
    held = argument[0] if isinstance(argument, list) and len(argument) == 1 else argument
    return held if isinstance(held, str) else "" if held is None else json.dumps(held, ensure_ascii=False)


def _prompt(contexts: list[str]) -> Json:
    """The prompt of a generation, a chat as its messages; several prompts as they are."""
    if len(contexts) != 1:
        return {"input": [*contexts]}
    messages = parsed(contexts[0])
    if isinstance(messages, list) and messages and all("role" in obj(one) for one in messages):
        return inputs_of(messages)
    return {"input": contexts[0]}


def _only(responses: JsonValue) -> JsonValue:
    """The one response to the one request; several as they are."""
    while isinstance(responses, list) and len(responses) == 1:
        responses = responses[0]
    return responses


def _left(requests: list[Json], asked: _Asked) -> list[JsonValue]:
    """What the requests say beside what was asked: how it was generated."""
    said = ("arg_0", "arg_1") if asked.choices or "continuation" in asked.inputs else ("arg_0",)
    left = [without(request, *said) for request in requests]
    return [*left] if any(left) else []


def _metrics(line: Json, where: str) -> tuple[str, ...]:
    """The names of the line's metrics; older versions do not list them, then all that is not known is one."""
    if "metrics" not in line:
        return tuple(name for name in line if name not in _READ)
    named = line["metrics"]
    if not isinstance(named, list):
        raise InvalidRecordError("must be a list", field="metrics", where=where)
    return tuple(str(name) for name in named if name not in _READ)


def _scores(line: Json, where: str) -> Iterator[ForeignScore]:
    """The line's scores, by the harness's own names where a filter was at work (`exact_match,strict-match`)."""
    name = _filter(line)
    for metric in _metrics(line, where):
        about: Json = {"answer": _only([line.get("filtered_resps")])}
        if _LOWER.fullmatch(metric):
            about["lowerIsBetter"] = True
        yield ForeignScore(metric if name == NO_FILTER else f"{metric},{name}", line.get(metric), without(about))
