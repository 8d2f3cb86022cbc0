"""An instruction under way: what was done so far, within which bounds, and what the model wants next."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import anyio
from pydantic import TypeAdapter

from agent.instructions.allowed_messages import VERBS, Bearings, system
from agent.message_work import InstructionBounds, MessageWork
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import InstrumentError, StoppedError
from minions_evals_mcp.judges.llm import reply_text
from minions_evals_mcp.judges.verdict_reading import Flaw, in_form, verdict_in
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.models.replies import Completion, FailedReply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.report.plain import shortened

MAX_TOKENS = 2048
SHOWN = 4000
PROPERTIES: Json = {
    "reason": {"type": "string"}, "verb": {"type": "string", "enum": list(VERBS)}, "arguments": {"type": "string"},
}  # fmt: skip
SCHEMA: Json = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["reason", "verb", "arguments"],
    "additionalProperties": False,
}


class ModelTurn(Value):
    """One reply of the model: the next step, and why."""

    reason: str
    verb: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Done:
    """A step, and what came of it."""

    said: str
    result: str


@dataclass(slots=True)
class InstructionWork:
    """An instruction under way. `done` is what the model is told of; `made` are the steps that were messages."""

    asked: MessageWork
    model: ModelRef
    bounds: InstructionBounds
    until: float
    done: list[Done] = field(default_factory=list[Done])
    made: list[Json] = field(default_factory=list[Json])
    cost_usd: float = 0.0

    @property
    def next_id(self) -> str:
        """The id of the message that the next step is: the same after a crash."""
        return f"step:{text_digest(self.asked.message.id)}:{len(self.made) + 1}"

    def left(self) -> Bearings:
        """Returns what may still be spent; raises `StoppedError` at the bounds of an instruction, which stand here alone."""
        seconds = self.until - anyio.current_time()
        over = (
            f"{self.bounds.steps} steps" if len(self.done) >= self.bounds.steps
            else f"${self.bounds.cost_usd:g}" if self.cost_usd >= self.bounds.cost_usd
            else f"{self.bounds.seconds:g} s" if seconds <= 0 else ""
        )  # fmt: skip
        if over:
            raise StoppedError(f"the instruction was not finished after {over}.", remedy="Ask for less at a time.")
        return Bearings(self.asked.by(None), self.model, self.bounds.cost_usd - self.cost_usd, seconds)

    def note(self, step_line: str, result: str) -> None:
        """Tells the model of a step and what came of it."""
        self.done.append(Done(shortened(step_line, SHOWN), shortened(result, SHOWN)))

    def history(self, mark: str) -> str:
        """The steps so far, each result between two marks."""
        steps = (
            f"Step {number}: {step.said}\n{mark}\n{step.result}\n{mark}" for number, step in enumerate(self.done, 1)
        )
        return "\n\n".join(steps) or "No step is taken yet."


_TURN = TypeAdapter(ModelTurn)


async def next_turn(work: InstructionWork, text: str, *, deadline_s: float) -> ModelTurn | None:
    """The model's next step; nothing where its reply breaks the form, of which it is told."""
    engine = work.asked.engine
    mark = engine.new_mark()
    request = ModelRequest(
        model=work.model.model,
        system=system(engine.skills, mark=mark),
        user=f"The instruction:\n{text}\n\n{work.history(mark)}\n\nWhat is the next step?",
        max_tokens=MAX_TOKENS,
        schema=SCHEMA,
    )
    reply = await engine.models.client(work.model).complete(request, deadline_s=deadline_s)
    if isinstance(reply, FailedReply):
        raise InstrumentError(f"{work.model}: {reply.kind}: {reply.reason}")
    work.cost_usd += reply.cost_usd or 0.0
    if not isinstance(reply, Completion):
        work.note("a reply", "It was cut off or withheld.")
        return None
    turn = verdict_in(reply_text(reply), partial(in_form, _TURN, properties=PROPERTIES), ModelTurn.model_dump_json)
    if isinstance(turn, Flaw):
        work.note("a reply", f"It is not in the form that was asked for: {turn.reason}")
        return None
    return turn
