"""The ways in which a unit of work (one case, one trial) ends: a closed union. A broken instrument is never a bad answer."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.conversations import Player, TalkFacts
from minions_evals_mcp.domain.definitions import Json, JudgeType
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.domain.values import Amount, Count, Id, Unit, Value
from minions_evals_mcp.domain.worlds import WorldEvidence
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked

IMPLICIT = "implicit:"
"""Before a test case's id: the criterion of a case that has none."""


class AnswerFacts(Value):
    """The part of an answer beside its text that a config's code is given: who gave it, and what else it said, in promptfoo's words.

    `offered` are the tools and functions that a model was offered. `whole`: nothing else was said, so that what is missing in
    `response` is not there. `trace` is that of the call, where the config traces its calls.
    """

    provider: Json = {}
    response: Json = {}
    offered: Json = {}
    whole: bool = False
    trace: Annotated[Json, Field(exclude_if=lambda held: not held)] = {}


class Observed(Value):
    """An output and what was measured while it was made. Milliseconds, tokens, US dollars; None is unknown.

    `tool_calls` is None where nobody recorded them, empty where it is known that none was made. `made_from` is the
    digest of target, prompt version and inputs, `asked` that of what the case asked and in which world; `reused_from` the
    test-run for which it was made; `group` is that of its agent-run. `recorded_scores` are those that another tool recorded for
    the output, as its log wrote them. `world` is the end of the world that the agent acted on; `tool_calls` are then the calls
    that the world saw. `conversation` is how one went that was had with the agent. `heard` are the messages of a user in a
    recorded conversation of more than one.
    """

    output: Json
    agent_run_id: Id | None = None
    prompt_version_ref: Id | None = None
    produced_by: str | None = None
    execution_id: str | None = None
    latency_ms: Amount | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Amount | None = None
    finish_reason: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    agent_error: str | None = None
    stderr: str = ""
    made_from: str | None = None
    asked: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    reused_from: str | None = None
    timed_out: bool = False
    group: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    told: Annotated[AnswerFacts | None, Field(exclude_if=lambda value: value is None)] = None
    recorded_scores: Annotated[tuple[Json, ...], Field(exclude_if=lambda scores: not scores)] = ()
    world: Annotated[WorldEvidence | None, Field(exclude_if=lambda value: value is None)] = None
    conversation: Annotated[TalkFacts | None, Field(exclude_if=lambda value: value is None)] = None
    heard: Annotated[tuple[str, ...], Field(exclude_if=lambda said: not said)] = ()


class Verdict(Value):
    """One criterion's score and why, as a judge gave it; not yet tied to a run."""

    criterion_id: Id
    score: float
    min_score: float
    max_score: float
    rationale: str
    judged_by: str
    judged_by_type: JudgeType
    confidence: Unit | None
    handed_in_by: str | None = None
    is_imported: bool = False
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: float | None = 0.0
    duration_ms: Annotated[Amount | None, Field(exclude_if=lambda value: value is None)] = None
    answered_by: str | None = None


class Expected(NamedTuple):
    """A case's expected output; with `patterns`, `/…/` is looked for and compared with nothing."""

    outputs: Json
    patterns: bool


@frozen_type
class Passed:
    """A run that passed, with its judgments."""

    run: Record[TestRun]
    judgments: tuple[Record[EvalJudgment], ...]
    metrics: tuple[MetricScore, ...] = ()


@frozen_type
class Failed:
    """A run that failed, with its judgments and the failure without which it cannot be kept (HR3)."""

    run: Record[TestRun]
    judgments: tuple[Record[EvalJudgment], ...]
    failure: Record[EvalFailure]
    metrics: tuple[MetricScore, ...] = ()


@frozen_type
class Unfinished:
    """The reason of a missing verdict, in words that may be a stranger's: no secret of ours stands in them."""

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", masked(self.reason))


@frozen_type
class JudgeErrored(Unfinished):
    """The judge failed: no verdict follows. `fatal` means that no other call to it can succeed either.

    `unanswered`: no reply came, however often it was asked, and nothing about the output explains it.
    """

    fatal: bool = False
    unanswered: bool = False


@frozen_type
class TargetErrored(Unfinished):
    """The target failed: there is no output to judge. `fatal` and `unanswered` as above."""

    fatal: bool = False
    unanswered: bool = False


@frozen_type
class UserErrored:
    """The player of the user spoiled the conversation, as often as it was made: no verdict follows. The last one is kept."""

    observed: Observed
    reason: str


@frozen_type
class Skipped(Unfinished):
    """Nothing was run, and why."""


@frozen_type
class NotJudgeable:
    """The judge says that this output cannot be judged by that criterion."""

    criterion_id: str
    reason: str

    @property
    def sentence(self) -> str:
        """The reason, beside the criterion where somebody wrote one."""
        is_written = self.criterion_id and not self.criterion_id.startswith(IMPLICIT)
        return f"{self.criterion_id}: {self.reason}" if is_written else self.reason


@frozen_type
class Awaiting:
    """The output waits for the caller's or a person's verdicts, asked for in the packet with that digest."""

    observed: Observed
    packet_digest: str
    asks: JudgeType
    packet: JsonValue


@frozen_type
class AwaitingUser:
    """The conversation waits for what its user says next, asked for in the packet with that digest of the caller or of a person."""

    packet_digest: str
    asks: Player


Ended = Passed | Failed | JudgeErrored | TargetErrored | UserErrored | Skipped | NotJudgeable | Awaiting | AwaitingUser


class UnitKey(NamedTuple):
    """The unit and its job: the case's position in it (from 0) and the trial (from 1)."""

    job_id: str
    position: int
    trial: int

    @property
    def run_id(self) -> str:
        """The id of the test-run that this unit becomes: the same however often it is tried."""
        return f"{self.job_id}:{self.position + 1}.{self.trial}"
