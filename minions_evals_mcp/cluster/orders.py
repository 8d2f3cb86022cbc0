"""Messages between coordinator and workers: plain values, none of them a secret."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.budget import PricedCall
from minions_evals_mcp.engine.judge.compose import OutputVersion, RunDefaults
from minions_evals_mcp.engine.judge.kept_verdicts import Wanted
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.judges.task import Said
from minions_evals_mcp.models.replies import Reply
from minions_evals_mcp.store.jobs import UnitRow, VerdictKey
from minions_evals_mcp.store.talks import TalkRow
from minions_evals_mcp.store.unit_rows import Ending
from minions_evals_mcp.targets.command import CommandSettings
from minions_evals_mcp.targets.http import HttpSettings


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """The set-up of the coordinator's engine, as far as workers must be set up alike. Keys are not in it."""

    judge_model: str | None
    judge_together: bool
    judge_empty: bool
    concurrency: int
    call_timeout_s: float
    embedder: str
    trust_code: bool
    application: HttpSettings | CommandSettings | None = None


@dataclass(frozen=True, slots=True)
class Orders:
    """All that a worker needs to carry out units of a run; `start` is another each time that the run is taken up."""

    job_id: str
    start: str
    setup: EngineSetup
    request: RunRequest
    frame: RunDefaults
    lease_s: float
    """So long a worker may say nothing of its units before they go to another."""

    @property
    def name(self) -> str:
        """Returns what this start of the run is called on the cluster."""
        return f"minions-evals-{self.job_id}-{self.start}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Units that go to a worker together, with the prompt versions that they are asked with or were made with."""

    id: str
    units: tuple[Unit, ...]
    known: Mapping[str, Record[PromptVersion] | None] = field(default_factory=dict[str, "Record[PromptVersion] | None"])
    outputs: Mapping[str, OutputVersion] = field(default_factory=dict[str, OutputVersion])
    is_live: bool = False
    """Whether each of its endings is sent back when it is there: what calls a model or an application."""


@dataclass(frozen=True, slots=True)
class Back:
    """The results of some units of a chunk: how they ended, those that were judged as rows; and those that stay open."""

    chunk: str
    ended: Sequence[tuple[UnitKey, Ending]] = ()
    left: Sequence[UnitKey] = ()


@dataclass(frozen=True, slots=True)
class WorkerError:
    """The error that broke the worker's side of the run."""

    message: str
    remedy: str
    is_bad_input: bool


@dataclass(frozen=True, slots=True)
class KeepOutput:
    """An output that was made, to be kept before it is judged."""

    row: UnitRow


@dataclass(frozen=True, slots=True)
class KeepVerdict:
    """A verdict that was paid for, to be kept before its run is complete."""

    key: UnitKey
    about: VerdictKey
    answer: Verdict | NotJudgeable
    at: datetime


@dataclass(frozen=True, slots=True)
class KeepTalk:
    """How far a conversation is, to be kept."""

    row: TalkRow


@dataclass(frozen=True, slots=True)
class AskKept:
    """The question which of these verdicts are kept already"""

    wanted: Sequence[Wanted]


@dataclass(frozen=True, slots=True)
class AskCall:
    """May this call be made?"""

    call: PricedCall


Question = AskKept | AskCall


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A question, under the number by which the worker knows the answer."""

    number: int
    question: Question


@dataclass(frozen=True, slots=True)
class SettledCall:
    """The outcome of a call, without its text."""

    call: PricedCall
    reply: Reply


@dataclass(frozen=True, slots=True)
class Freed:
    """A call is over."""

    call: PricedCall


@dataclass(frozen=True, slots=True)
class OwnCost:
    """The cost of an output as the user's own application says it; None where it does not."""

    usd: float | None


@dataclass(frozen=True, slots=True)
class Alive:
    """The worker still works on these chunks, and said so at that moment of its own clock."""

    chunks: Sequence[str]
    at: float


@dataclass(frozen=True, slots=True)
class Renewed:
    """The coordinator heard the worker of that moment; those of its chunks are another's by now."""

    at: float
    gone: Collection[str]


Matter = Back | KeepOutput | KeepVerdict | KeepTalk | CallRequest | SettledCall | Freed | OwnCost | WorkerError
"""What is to be done in the order in which a worker sends it."""
Message = Matter | Alive
"""What a worker sends."""
Answer = list[tuple[Said, datetime] | None] | str
"""The verdicts that are kept; or why a call may not be made, empty where it may."""
Told = Chunk | Renewed | tuple[int, Answer]
"""What the coordinator says to a worker: an answer goes by the number of its question."""
