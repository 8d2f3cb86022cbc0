"""The records made of a log's samples: a test case each, a version for what was tried, an agent-run for each output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.step_shapes import steps_of
from minions_evals_mcp.domain.values import iso, known_sum, utc
from minions_evals_mcp.interop.logs.sample import EvaluationLog, LogSample, Produced, Variant
from minions_evals_mcp.scoring.assertions.kinds.foreign_scorer import FOREIGN_SCORER
from minions_evals_mcp.sessions.conversation import finite

LONGEST_NAME = 60
IMPORTED = "imported"
UNREAD = "unread-checks"
"""The tag of a case some of whose checks mean nothing here: it is a draft, so that fewer checks pass nothing in silence."""
_MOMENT: TypeAdapter[datetime] = TypeAdapter(datetime)


def version_id(log: EvaluationLog, variant: Variant | None = None) -> str:
    """The id of the version that stands for what the log tried, or for one of several things that it tried."""
    return _id("log", log.format, slug(log.task, 30), slug(log.id, 40), *([slug(variant.id, 24)] if variant else []))


def benchmark_id(log: EvaluationLog) -> str:
    """The id of the benchmark that the cases of the log's task make up."""
    return _id("log", log.format, slug(log.task, 60))


def version(log: EvaluationLog, variant: Variant | None = None) -> Json:
    """Returns what was tried, as a prompt version: two logs are two versions, to be compared."""
    subject = (variant.subject if variant else log.subject) or "an unnamed subject"
    prompt = variant.prompt if variant else ""
    fields: Json = {
        "content": prompt or f"{subject} on {log.task} ({log.format} log {log.id})\n\n{{{{input}}}}",
        "description": f"Imported: what the {log.format} log {log.id} recorded of {subject}.",
        "versionNumber": 1,
        "tags": [IMPORTED, log.format],
        "extra": _known(
            {
                "log": _known(
                    {
                        "format": log.format,
                        "id": log.id,
                        "task": log.task,
                        "subject": subject,
                        "created": finite(log.created),
                        "content": log.content or None,
                    }
                ),
                "header": finite(log.extra),
            }
        ),
    }
    return {
        "id": version_id(log, variant),
        "type": "prompt-version",
        "title": f"{subject} on {log.task}",
        "fields": fields,
    }


def records(log: EvaluationLog, sample: LogSample) -> Iterator[Json]:
    """The sample's case and, where something was recorded, its agent-run."""
    case = _case(log, sample)
    yield case
    if sample.produced is not None:
        yield _agent_run(log, sample, sample.produced, str(case["id"]))


def _case(log: EvaluationLog, sample: LogSample) -> Json:
    """The case: of two logs the same one where they ask the same and expect the same."""
    case_fields = _known({
        "inputs": sample.inputs,
        "expectedOutputs": _expected(sample),
        "assertions": [*_assertions(sample)],
        "threshold": sample.threshold,
        "conversation": sample.conversation,
    })  # fmt: skip
    case_fields = {key: finite(value) for key, value in case_fields.items()}
    named = sample.id if sample.case is None else sample.case or None
    names = [] if named is None else [slug(str(named), 40)]
    ident = _id("log", slug(log.task, 30), *names, digest(case_fields)[:12] if names else digest(case_fields)[:20])
    about: Json = {"sample": named, "targets": [*sample.targets], **sample.extra, "unreadChecks": [*sample.unread]}
    fields: Json = {
        "name": sample.name or _name(sample),
        **case_fields,
        **({"group": group} if (group := group_of(sample)) else {}),
        "tags": [IMPORTED, *sample.tags, *([UNREAD] if sample.unread else [])],
        **({"status": "draft"} if sample.unread else {}),
        "extra": finite(_known(about)),
    }
    return {"id": ident, "type": "test-case", "fields": fields}


GROUP_KEYS = (
    "conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId", "dialogue_id", "dialog_id",
    "document_id", "documentId", "doc_id", "context_id", "article_id", "passage_id",
)  # fmt: skip
"""Keys under which logs and data sets name what several samples belong to."""
LONGEST_GROUP = 200


def group_of(sample: LogSample) -> str:
    """What the sample belongs to with others: as its log says, else by the first key of its inputs or notes that names it."""
    metadata = sample.extra.get("metadata")
    held = (sample.inputs, sample.extra, metadata if isinstance(metadata, dict) else {})
    named = (record[key] for record in held for key in GROUP_KEYS if isinstance(record.get(key), str | int))
    return str(sample.group or next(named, ""))[:LONGEST_GROUP].strip()


def _expected(sample: LogSample) -> Json | None:
    if sample.expected is not None:
        return sample.expected
    if sample.assertions or len(sample.targets) != 1:
        return None
    return {"output": sample.targets[0]}


def _assertions(sample: LogSample) -> tuple[Json, ...]:
    """The checks: those of the log, else that any of several targets is in the output."""
    if sample.assertions or sample.expected is not None or len(sample.targets) < 2:
        return sample.assertions
    return ({"type": "contains-any", "value": [*sample.targets]},)


def answered(log: EvaluationLog, sample: LogSample) -> LogSample:
    """The sample; one for which the log holds neither output, calls nor error ended in an error, unless a recorded score judges it."""
    if sample.produced is None or _judged_there(sample) or not _is_silent(sample, sample.produced):
        return sample
    return replace(sample, produced=replace(sample.produced, error=f"{log.format} recorded no output"))


def _is_silent(sample: LogSample, produced: Produced) -> bool:
    held = (produced.error, produced.stop_reason, _outputs(sample, produced))
    return not any(held) and _steps(produced) is None


def _judged_there(sample: LogSample) -> bool:
    """Whether nothing but what the other tool recorded judges the sample."""
    deciding = [assertion for assertion in sample.assertions if assertion.get("weight") != 0]
    recorded = [assertion for assertion in deciding if assertion.get("type") == FOREIGN_SCORER]
    return bool(recorded and recorded == deciding and sample.produced and sample.produced.scores)


def _agent_run(log: EvaluationLog, sample: LogSample, produced: Produced, case_id: str) -> Json:
    started, completed = moment(produced.started), moment(produced.completed)
    about: Json = {
        "format": log.format,
        "log": log.id,
        "sample": sample.id,
        "epoch": sample.epoch,
        "case": case_id,
        "inputTokens": produced.input_tokens,
        "outputTokens": produced.output_tokens,
        "latencyMs": produced.latency_ms,
        "startedAt": produced.started,
        "completedAt": produced.completed,
    }
    scores: list[JsonValue] = [score.wire() for score in produced.scores]
    fields: Json = _known({
        "agentId": slug(produced.agent or (produced.variant.subject if produced.variant else log.subject) or log.format, 100),
        "promptVersionRef": version_id(log, produced.variant),
        "triggeredAt": started,
        "completedAt": completed,
        "inputs": finite(sample.inputs),
        "outputs": {"output": None} if _is_silent(sample, produced) else _outputs(sample, produced),
        "tokensUsed": known_sum((produced.input_tokens, produced.output_tokens)),
        "cost": produced.cost,
        "status": "success" if produced.error is None else "failed",
        "errorMessage": produced.error,
        "group": group_of(sample) or None,
        "stopReason": produced.stop_reason,
        "extra": finite(_known({"log": _known(about), "foreignScores": scores, "messages": [*produced.messages], **produced.extra})),
    })  # fmt: skip
    steps = _steps(produced)
    if steps is not None:  # a log without calls is a log
        fields["toolCallsLog"] = steps
    tried = [slug(produced.variant.id, 24)] if produced.variant else []
    place = [] if log.known_samples else [slug(log.id, 30)]
    ident = _id("log", log.format, *place, *tried, slug(str(sample.id), 30), str(sample.epoch))
    return {"id": ident, "type": "agent-run", "fields": fields}


def _outputs(sample: LogSample, produced: Produced) -> Json:
    """What was answered; the whole conversation where the case is one."""
    said: Json = {} if produced.output is None else {"output": finite(produced.output)}
    return said if sample.conversation is None else {**said, "messages": finite([*produced.messages])}


def _steps(produced: Produced) -> JsonValue:
    """The calls, in whatever shape they are written; None where the log says nothing of them."""
    if produced.tools is not None:
        return finite([*produced.tools])
    if not produced.messages:
        return None
    try:
        return finite([*_dumped(steps_of([*produced.messages]))])
    except ValueError:  # a message that is no call in any known shape: the conversation is kept as it is
        return None


def _dumped(steps: object) -> Iterable[JsonValue]:
    assert isinstance(steps, list)
    return steps  # pyright: ignore[reportUnknownVariableType]  mappings, as they were read from JSON


def _known(mapping: Json) -> Json:
    """The mapping without what is not there."""
    return {key: value for key, value in mapping.items() if value is not None and value not in ([], {})}


def _name(sample: LogSample) -> str:
    name = sample.inputs.get("input", sample.inputs.get("messages", sample.inputs))
    text = " ".join(name.split()) if isinstance(name, str) else f"sample {sample.id}"
    text = text or f"sample {sample.id}"
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def moment(value: JsonValue) -> str | None:
    """The moment as ISO-8601 in UTC: of a text, or of seconds or milliseconds since 1970; None where it is none."""
    if isinstance(value, bool) or value is None or value == "":
        return None
    try:
        moment_read = _MOMENT.validate_python(value)
        return iso(utc(moment_read if moment_read.tzinfo is not None else moment_read.replace(tzinfo=UTC)))
    except (ValidationError, ValueError, OverflowError):
        return None


def slug(text: str, most: int) -> str:
    """The text as a part of an id; with a digest where that loses something."""
    plain = re.sub(r"[^A-Za-z0-9._@/-]+", "-", text.strip()).strip("-")
    return plain if plain == text and len(plain) <= most else f"{plain[: most - 9]}-{digest(text)[:8]}".lstrip("-")


def _id(*parts: str) -> str:
    """An id of those parts, with a digest in place of what is too long."""
    plain = ":".join((parts[0], "/".join(parts[1:])))
    plain = re.sub(r"[^A-Za-z0-9._:/@-]+", "-", plain)
    return plain if len(plain) <= 128 else f"{plain[:111]}-{digest(list(parts))[:16]}"
