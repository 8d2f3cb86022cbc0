"""Records that belong to other toolboxes: read as copies, or asked for through the outbox; never edited by us."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from minions_evals_mcp.domain.definitions import EMPTY, Fields, Json, Texts
from minions_evals_mcp.domain.step_shapes import REMEDY, SHAPE, steps_of
from minions_evals_mcp.domain.values import Amount, Count, Id, Text, Timestamp, Unit, Value
from minions_evals_mcp.errors import InvalidRecordError


def _is_absent(value: object) -> bool:
    return value is None or value == {}


class ToolCall(Value):
    """One step of an agent run. `error` is set where the call failed; `result` is whatever the tool gave back.

    `parentId` is the `id` of the step within which it was made, `extra` what the agent's log says beside all that.
    """

    tool: Text
    arguments: Json = {}
    result: JsonValue = None
    error: str | None = None
    duration_ms: Annotated[float, Field(ge=0)] | None = None
    id: Annotated[str | None, Field(exclude_if=_is_absent)] = None
    started_at: Annotated[Timestamp | None, Field(strict=False, exclude_if=_is_absent)] = None
    parent_id: Annotated[str | None, Field(exclude_if=_is_absent)] = None
    agent: Annotated[str | None, Field(exclude_if=_is_absent)] = None
    tokens_used: Annotated[Count | None, Field(exclude_if=_is_absent)] = None
    extra: Annotated[Json, Field(exclude_if=_is_absent)] = {}


ToolLog = Annotated[
    tuple[ToolCall, ...], BeforeValidator(steps_of), Field(strict=False, description=f"Each step: {SHAPE}")
]
"""The steps of a run, however the agent's tools wrote them."""
_LOG: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(ToolLog, config=ConfigDict(defer_build=True))


def tool_calls_of(given: object) -> tuple[ToolCall, ...]:
    """The calls that a log holds, in any of the shapes that `steps_of` reads.

    Raises `InvalidRecordError` saying which of them does not fit, and what a step is.
    """
    if not isinstance(given, list | tuple):
        raise InvalidRecordError(f"tool calls are no list: {REMEDY}")
    try:
        return _LOG.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place, problem = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        reason = problem if REMEDY in problem else f"{place}: {problem}; {REMEDY}"
        raise InvalidRecordError(f"tool calls: {reason}") from None


class AgentRun(Fields):
    """An agent's output (minions-agents). `cost` is in US dollars.

    `tool_calls_log` is None where nobody recorded the calls; a log without calls is empty. `stop_reason` says why the agent
    came to its end ("end_turn", "max_turns", …); `extra` is what its toolbox says beside all that. `group` names what it has
    in common with other runs (a conversation, a document): it counts where the test case names none.
    """

    slug: ClassVar[str] = "agent-run"

    agent_id: Id
    prompt_version_ref: Id | None = None
    triggered_by: str | None = None
    triggered_at: Timestamp | None = None
    completed_at: Timestamp | None = None
    inputs: Json = EMPTY
    outputs: Json = EMPTY
    tool_calls_log: ToolLog | None = None
    tokens_used: Count | None = None
    cost: Amount | None = None
    status: Literal["running", "success", "failed", "pending-approval"] = "success"
    error_message: str | None = None
    stop_reason: Annotated[str | None, Field(exclude_if=_is_absent)] = None
    group: Annotated[Text | None, Field(exclude_if=_is_absent)] = None
    extra: Annotated[Json, Field(exclude_if=_is_absent)] = EMPTY

    @property
    def lacks_output(self) -> bool:
        """Whether the run claims success, holds nothing to judge and does not say why: no output, log, error or stop reason."""
        held = (self.outputs, self.error_message, self.stop_reason)
        return self.status == "success" and not any(held) and self.tool_calls_log is None


FOREIGN_SCORES = "foreignScores"
"""The key of `extra` under which the scores of another tool are kept; more may be added."""


def has_more_scores(kept: AgentRun, arriving: AgentRun) -> bool:
    """Whether the arriving output is the kept one with more scores of its own tool, and says nothing else."""
    before, after = kept.extra.get(FOREIGN_SCORES, []), arriving.extra.get(FOREIGN_SCORES, [])
    as_kept = {**arriving.extra, FOREIGN_SCORES: before} == {**kept.extra, FOREIGN_SCORES: before}
    if not isinstance(before, list) or not isinstance(after, list) or not as_kept:
        return False
    return after[: len(before)] == before and kept.model_copy(update={"extra": arriving.extra}) == arriving


KNOWN_OF_A_RUN = frozenset(
    name for key, info in AgentRun.model_fields.items() for name in (key, info.alias or to_camel(key))
)
"""The keys of an agent-run; what its toolbox says beside them is kept under `extra`."""


class AgentMessage(Fields):
    """A message between agents (minions-agents)."""

    slug: ClassVar[str] = "agent-message"

    from_agent_id: Id
    to_agent_id: Id
    type: Text
    payload: Json = {}
    sent_at: Timestamp
    status: Literal["pending", "received", "processed", "failed"] = "pending"


class PromptVersion(Fields):
    """One version of a prompt (minions-prompts); versions are chained by `follows` relations, newer to older.

    `extra` is what the log of another tool, which tried it, says beside all that.
    """

    slug: ClassVar[str] = "prompt-version"

    content: Text
    description: str = ""
    version_number: Annotated[int, Field(ge=1)]
    changelog: str = ""
    variables: Texts = ()
    tags: Texts = ()
    prompt_id: Id | None = None
    extra: Annotated[Json, Field(exclude_if=_is_absent)] = {}


class QualityGate(Value):
    """The least score (0–1) that a skill must reach on a benchmark."""

    benchmark_id: Id
    min_score: Unit


class SkillDefinition(Fields):
    """A skill and the gates that it must pass (minions-skills)."""

    slug: ClassVar[str] = "skill-definition"

    name: Text
    prompt_ref: Id | None = None
    quality_gates: Annotated[tuple[QualityGate, ...], Field(strict=False)] = ()


class ProposalDraft(Fields):
    """An agent run's output by another name (minions-proposals), with scores by criterion name."""

    slug: ClassVar[str] = "proposal-draft"

    title: Text
    content: str = ""
    scores: dict[str, float] = {}
    agent_run_id: Id | None = None


class ContextRef(Value):
    """The subject of a task."""

    type: Text
    id: Id


class Task(Fields):
    """Work that is asked for (minions-tasks)."""

    slug: ClassVar[str] = "task"

    title: Text
    description: str = ""
    status: Literal["backlog", "todo", "in-progress", "blocked", "done", "cancelled"] = "todo"
    priority: Literal["critical", "high", "medium", "low"] = "medium"
    assignee_id: Id | None = None
    created_by: str | None = None
    created_at: Timestamp | None = None
    due_at: Timestamp | None = None
    tags: Texts = ()
    context_ref: ContextRef | None = None


class ApprovalRequest(Fields):
    """A decision that is asked of a person (minions-approvals)."""

    slug: ClassVar[str] = "approval-request"

    title: Text
    description: str = ""
    requested_by: Text
    requested_at: Timestamp
    required_by: Timestamp | None = None
    context_ref_type: Text
    context_ref_id: Text
    payload: Json = {}
    decision: Literal["pending", "approved", "rejected", "expired"] = "pending"
    decided_by: str | None = None
    decided_at: Timestamp | None = None
    decision_notes: str = ""


class MemoryItem(Fields):
    """Something an agent should remember (minions-memory)."""

    slug: ClassVar[str] = "memory-item"

    agent_id: Id
    scope: Literal["private", "fleet", "session"] = "private"
    key: Text
    value: JsonValue
    confidence: Unit
    source_ref_type: Text
    source_ref_id: Text
    created_at: Timestamp
    expires_at: Timestamp | None = None
