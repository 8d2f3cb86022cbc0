"""The payloads of messages to the agent: one type for each, its payload, and what it is about."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, cast

from pydantic import Field, ValidationError, model_validator

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.incoming.omitted import without_omitted
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.domain.request_fields import AgentRunId, TestCaseId
from minions_evals_mcp.domain.values import Id, Text, Value, Visible, known_names, unknown_key
from minions_evals_mcp.engine.request import JudgeChoice
from minions_evals_mcp.errors import InvalidRecordError, UnsupportedError
from minions_evals_mcp.judges.packets import GivenJudgment
from minions_evals_mcp.messages.derived import payload_of
from minions_evals_mcp.messages.testing_api import VERBS


class AgentRunCompleted(Value):
    """An agent has produced something: a recorded agent-run by its id, or the whole record. Judged by `testCaseId`, else by
    every active test case with the same inputs."""

    agent_run_id: AgentRunId | None = None
    agent_run: Json | None = None
    test_case_id: TestCaseId | None = None
    judge: JudgeChoice = "auto"

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.agent_run_id is None) == (self.agent_run is None):
            raise ValueError("agentRunId: give agentRunId or agentRun, not both")
        return self

    def carried(self, new_id: str, *, now: datetime) -> Record[AgentRun]:
        """The record in `agentRun`; raises `InvalidRecordError` naming what does not fit."""
        try:
            record = record_from_wire(self.agent_run, new_id=new_id, now=now)
        except InvalidRecordError as error:
            raise error.at("payload.agentRun") from None
        run = of_type(record, AgentRun)
        if run is None:
            raise InvalidRecordError(f"is a {record.type}, not an agent-run", field="payload.agentRun.type")
        return run


class ApprovalDecided(Value):
    """A person's answer to an approval-request: its id, or run and digest. Its judgments are the scores; "approved" alone is none."""

    approval_request_id: Id | None = None
    run_id: Id | None = None
    digest: Text | None = None
    decision: Literal["approved", "rejected", "expired"] = "approved"
    decided_by: Text
    decision_notes: str = ""
    judgments: Annotated[tuple[GivenJudgment, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _says_what_it_answers(self) -> Self:
        if self.approval_request_id is None and (self.run_id is None or self.digest is None):
            raise ValueError("approvalRequestId: give it, or give runId and digest")
        return self


class Instruction(Value):
    """The instruction, in plain words."""

    text: Visible


class EventSeen(Value):
    """An event of the engine, as the agent puts it to itself."""

    subject_id: Text
    detail: Json


class SkillDue(Value):
    """A skill that somebody added is to be carried out, because that message came; as the agent puts it to itself."""

    skill: Text
    message_id: Text
    message_type: Text
    message: Json


class ScheduleDue(Value):
    """A benchmark whose schedule has come round, as the agent puts it to itself."""

    benchmark_id: Id


P = TypeVar("P", bound=Value)


@dataclass(frozen=True, slots=True)
class MessageKind(Generic[P]):
    """A type of message: its payload, and what it is about; nothing where that is the message itself."""

    payload: type[P]
    topic: Callable[[P], str | None]


def _agent_run_topic(payload: AgentRunCompleted) -> str | None:
    ident = (payload.agent_run or {}).get("id")
    return payload.agent_run_id or (ident if isinstance(ident, str) else None)


def _no_topic(payload: Instruction) -> None:
    del payload


KINDS: dict[str, MessageKind[Any]] = {
    "run-test-case": MessageKind(payload_of("run-test-case"), lambda payload: payload.test_case_id),
    "run-benchmark": MessageKind(payload_of("run-benchmark"), lambda payload: payload.benchmark_id),
    "compare-prompts": MessageKind(payload_of("compare-prompts"), lambda payload: payload.benchmark_id),
    "classify-failure": MessageKind(payload_of("classify-failure"), lambda payload: payload.run_id),
    "detect-trend": MessageKind(payload_of("detect-trend"), lambda payload: payload.benchmark_id),
    "agent-run-completed": MessageKind(AgentRunCompleted, _agent_run_topic),
    "approve-prompt-version": MessageKind(
        payload_of("approve-prompt-version"), lambda payload: payload.prompt_version_ref
    ),
    "approval-decided": MessageKind(ApprovalDecided, lambda payload: payload.run_id or payload.approval_request_id),
    "instruction": MessageKind(Instruction, _no_topic),
    **{name: MessageKind(verb.payload, verb.topic) for name, verb in VERBS.items()},
}
"""What may be sent."""

OWN: dict[str, MessageKind[Any]] = {
    "test-run-recorded": MessageKind(EventSeen, lambda payload: payload.subject_id),
    "benchmark-run-recorded": MessageKind(
        EventSeen, lambda payload: str(payload.detail.get("benchmarkId", payload.subject_id))
    ),
    "schedule": MessageKind(ScheduleDue, lambda payload: payload.benchmark_id),
    "skill-due": MessageKind(SkillDue, lambda payload: f"{payload.skill}:{payload.message_id}"),
}
"""What the agent puts to itself: events of the engine, and schedules."""


def kind_of(name: str) -> MessageKind[Any]:
    """The kind of that name among those that may be sent; raises `UnsupportedError`."""
    kind = KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, KINDS, 1)
        hint = f"Did you mean {near[0]}?" if near else known_names(name, KINDS, "docs/reference/messages.md")
        raise UnsupportedError(f"unknown message type {name!r}.", remedy=hint)
    return kind


def payload_as(kind: type[P], payload: Json, *, message: str) -> P:
    """The typed payload; raises `InvalidRecordError` naming the message and the field that does not fit."""
    try:
        return kind.model_validate_json(json.dumps(without_omitted(kind, payload)))
    except ValidationError as error:
        detail = min(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
        problem = "is missing" if detail["type"] == "missing" else detail["msg"]
        if detail["type"] == "extra_forbidden":
            problem = unknown_key(kind, detail["loc"])
        field, reason = _placed(".".join(str(part) for part in detail["loc"]), problem.removeprefix("Value error, "))
        raise InvalidRecordError(reason, field=f"payload{field}", record=message) from None


def _placed(path: str, problem: str) -> tuple[str, str]:
    """A rule over several fields names its field in front of a colon."""
    if path:
        return f".{path}", problem
    name, colon, rest = problem.partition(": ")
    return (f".{name}", rest) if colon else ("", problem)


def topic_of(kind: MessageKind[Any], payload: Value, ident: str) -> str:
    """Returns what the message is about: messages about one topic keep their order."""
    about = cast("Callable[[Value], str | None]", kind.topic)
    return about(payload) or ident
