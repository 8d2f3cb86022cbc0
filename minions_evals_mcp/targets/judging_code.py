"""The code that answers in a model's place where a config's assertion names it as the judge: a function, a program, an application."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.models.replies import Completion, FailedReply, FaultKind, Reply, TokenUsage
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.prompted import RenderedPrompt, Responder

OBJECTS = frozenset({"llm-rubric"})
"""What may be answered with an object; elsewhere promptfoo takes a text only."""


@dataclass(frozen=True, slots=True)
class JudgingCode:
    """A responder in the form of a model's client: one call for each question, and no second try."""

    responder: Responder
    provider: str = "code"
    fault_counts: Counter[FaultKind] = field(default_factory=Counter["FaultKind"])

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """Returns what it answers to the words of the request."""
        prompt = RenderedPrompt(request.user, request.variables, request.user, label=request.label)
        seen = await self.responder.answer(prompt, TargetQuestion(request.model, None, None, deadline_s))
        if isinstance(seen, TargetErrored):
            return FailedReply("deadline" if seen.unanswered else "permanent", seen.reason, seen.fatal, (), 1)
        output = seen.output.get("output")
        if not isinstance(output, str) and not (isinstance(output, dict) and request.label in OBJECTS):
            return FailedReply(
                "malformed", f"it answered {request.label} with no text", fatal=False, faults=(), attempts=1
            )
        text = output if isinstance(output, str) else canonical(output)
        return Completion(text, request.model, "stop", _usage(seen), seen.latency_ms or 0.0, seen.cost_usd, 1, ())

    async def aclose(self) -> None:
        """Nothing is held open."""


def _usage(seen: Observed) -> TokenUsage | None:
    if seen.input_tokens is None and seen.output_tokens is None:
        return None
    return TokenUsage(seen.input_tokens or 0, seen.output_tokens or 0)
