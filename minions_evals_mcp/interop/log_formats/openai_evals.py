"""OpenAI evals: `samples.jsonl`, and the record log of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import json_lines
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.gathering import LogRow, gathered
from minions_evals_mcp.interop.logs.not_taken import summed
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced, SkippedSample
from minions_evals_mcp.interop.logs.seen_ids import CountedIds
from minions_evals_mcp.interop.logs.shapes import object_under, the_object
from minions_evals_mcp.sessions.conversation import count, inputs_of, objects, texts, without

NAME = "openai-evals"
FILE = "samples"
SCORED = ("match", "metrics")
_OF_EVENT = ("run_id", "event_id", "sample_id", "type", "data", "created_by", "created_at")
ABOUT = frozenset({"spec", "final_report"})
NO_SAMPLES = "an event that is none of a sample's"
_NOTHING: Json = {}
BY_CLASS = {"Match": "starts-with", "Includes": "contains-any"}


def is_samples(seen: JsonValue) -> bool:
    """Returns whether a line is a sample of a data set."""
    return {"input", "ideal"} <= obj(seen).keys()


def is_run(seen: JsonValue) -> bool:
    """Returns whether a line begins the record log of a run."""
    return "eval_name" in obj(obj(seen).get("spec")) or "run_config" in obj(obj(seen).get("spec"))


def read_samples(path: Path) -> Iterator[Item]:
    """The samples of a data set; one whose `ideal` is a list expects any of it."""
    task = path.parent.name if path.stem.startswith(FILE) else path.stem
    yield EvaluationLog(NAME, path.stem, task or FILE)
    for number, (where, line) in enumerate(json_lines(path), 1):
        document = obj(line)
        if not is_samples(line):
            raise InvalidRecordError("a sample has input and ideal", where=where)
        ideal = texts(document["ideal"])
        question = inputs_of(document["input"])
        about = without({**without(document, "input", "ideal"), "ideal": document["ideal"]})
        yield LogSample(number, question, targets=ideal, extra=about, where=where)


def read_run(path: Path) -> Iterator[Item]:
    """The samples of a run: what was recorded of each stands on several lines, which may be far apart."""
    spec: Json = {}
    report: JsonValue = None
    awaited, beside = CountedIds(), list[JsonValue]()
    for _, name, document in _events(path):
        if name is not None:
            awaited.add(name)
        elif document.keys() & ABOUT and (more := without(document, *ABOUT)):
            beside.append(more)
        spec = obj(document.get("spec")) or spec
        report = document.get("final_report", report)
    if not spec:
        raise InvalidRecordError("a log of OpenAI evals begins with its spec", where=str(path))
    yield _log(spec, report, beside, path)
    wanted = _wanted(obj(obj(spec.get("run_config")).get("eval_spec")))
    for where, name, events in gathered(lambda: _events(path), awaited):
        if name is not None:
            yield _recorded(name, events, wanted, where)
        elif not events[0].keys() & ABOUT:
            yield SkippedSample(NO_SAMPLES)


def _wanted(spec: Json) -> str | None:
    """The check that means what the eval's class does; None where there is no such check."""
    wanted = BY_CLASS.get(str(spec.get("cls", "")).rpartition(":")[2])
    return f"i{wanted}" if wanted == BY_CLASS["Includes"] and obj(spec.get("args")).get("ignore_case") else wanted


def _events(path: Path) -> Iterator[LogRow[Json]]:
    """The lines, each with the sample that it is an event of."""
    for where, line in json_lines(path):
        document = the_object(line, where)
        yield LogRow(where, _sample_id(document, where), document)


def _sample_id(document: Json, where: str) -> str | None:
    """Returns whose event it is; raises `InvalidRecordError` for one that does not say so in a text, or not what kind it is."""
    for name in ("sample_id", "type"):
        if not isinstance(document.get(name), str | None):
            raise InvalidRecordError("must be a text", field=name, where=where)
    sample_id = document.get("sample_id")
    return sample_id if isinstance(sample_id, str) else None


def _log(spec: Json, report: JsonValue, beside: list[JsonValue], path: Path) -> EvaluationLog:
    subjects = ", ".join(texts(spec.get("completion_fns"))) or ", ".join(
        texts(obj(spec.get("run_config")).get("completion_fns"))
    )
    task = str(spec.get("base_eval") or spec.get("eval_name") or path.stem)
    about = without({"spec": spec, "finalReport": report, "beside": beside or None})
    return EvaluationLog(NAME, str(spec.get("run_id") or path.stem), task, subjects, spec.get("created_at"), about)


def _recorded(name: str, events: list[Json], wanted: str | None, where: str) -> LogSample:
    sampling = [obj(event.get("data")) for event in events if event.get("type") == "sampling"]
    scored = [event for event in events if event.get("type") in SCORED]
    match = next((obj(event.get("data")) for event in scored if event.get("type") == "match"), _NOTHING)
    targets = texts(match.get("expected"))
    answer = sampling[-1].get("sampled") if sampling else match.get("sampled", match.get("picked"))
    usage = list(objects([data.get("usage") for data in sampling]))
    scores = tuple(score for event in scored for score in _scores(event, where))
    others: list[JsonValue] = [event for event in events if event not in scored and event.get("type") != "sampling"]
    beside: list[JsonValue] = [rest for event in events if event not in others and (rest := _beside(event))]
    return LogSample(
        id=name,
        inputs=inputs_of(sampling[0].get("prompt")) if sampling else {"input": name},
        targets=targets,
        assertions=_checks(wanted, targets) or _recorded_checks(scores),
        produced=Produced(
            output=_sampled(answer),
            error=_error(events) if answer is None else None,
            scores=scores,
            started=events[0].get("created_at"),
            completed=events[-1].get("created_at"),
            input_tokens=known_sum(count(part.get("prompt_tokens")) for part in usage),
            output_tokens=known_sum(count(part.get("completion_tokens")) for part in usage),
            extra=without(
                {
                    "rest": {"events": others} if others else None,
                    "beside": beside or None,
                    "samplings": len(sampling) if len(sampling) > 1 else None,
                }
            ),
        ),
        where=where,
    )


def _error(events: list[Json]) -> str | None:
    """The error in which a sample without an answer ended, as the run recorded it."""
    told = [obj(event.get("data")) for event in events if event.get("type") == "error"]
    named = ": ".join(str(part) for name in ("type", "message") if told and (part := told[-1].get(name)))
    return named or ("failed" if told else None)


def _unread_tokens(usage: Json) -> Json:
    return without(usage, *summed(usage, "total_tokens", "prompt_tokens", "completion_tokens"))


def _beside(event: Json) -> Json:
    """Returns what an event says beside what is read of every one; of a score's data all is kept with it."""
    data = obj(event.get("data")) if event.get("type") == "sampling" else _NOTHING
    usage = _unread_tokens(obj(data.get("usage")))
    rest = without({**without(data, "prompt", "sampled", "usage"), "usage": usage or None})
    return without({**without(event, *_OF_EVENT), "data": rest or None})


def _sampled(answer: JsonValue) -> JsonValue:
    """The first of what was sampled, as a text."""
    first = next(iter(answer), None) if isinstance(answer, list) else answer
    return content_text(obj(first).get("content")) if isinstance(first, dict) else first


def _scores(event: Json, where: str) -> Iterator[ForeignScore]:
    data = object_under(event, "data", where)
    if event.get("type") == "match":
        yield ForeignScore("match", data.get("correct"), without(data, "correct"))
        return
    for name, value in data.items():
        yield ForeignScore(name, value)


def _recorded_checks(scores: tuple[ForeignScore, ...]) -> tuple[Json, ...]:
    """The recorded match is the verdict; without one the metrics are."""
    return recorded_of(NAME, [score for score in scores if score.name == "match"] or scores)


def _checks(kind: str | None, targets: tuple[str, ...]) -> tuple[Json, ...]:
    if kind is None or not targets:
        return ()
    if kind.endswith("contains-any"):
        return ({"type": kind, "value": [*targets]},)
    if len(targets) == 1:
        return ({"type": kind, "value": targets[0]},)
    any_of: list[JsonValue] = [{"type": kind, "value": target} for target in targets]
    return ({"type": "assert-set", "assert": any_of, "threshold": 1 / len(targets)},)
