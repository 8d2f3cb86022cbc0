"""A coding agent as the responder to a config's prompts: its program is given the prompt, and its session is the answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import AnswerFacts, Observed, TargetErrored
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.targets.command import SHOWN_OF_STDERR, Finished, beside, ended, finished
from minions_evals_mcp.targets.exchange import HostStream, TargetQuestion
from minions_evals_mcp.targets.host_streams import read_stream, result_of_stream
from minions_evals_mcp.targets.prompted import RenderedPrompt
from minions_evals_mcp.targets.responders import in_time
from minions_evals_mcp.temporary_folders import temporary_folder

FACTS = {"num_turns": "numTurns", "duration_ms": "durationMs", "duration_api_ms": "durationApiMs", "modelUsage": "modelUsage",
         "permission_denials": "permissionDenials", "terminal_reason": "terminalReason"}  # fmt: skip
"""What Claude Code says of its session at the end, with the name that promptfoo gives it in `metadata`."""


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """The program of a coding agent, started once for each answer: in `folder`, or in an empty one that is gone afterwards."""

    name: str
    run: Sequence[str]
    format: HostStream
    folder: str
    environment: Mapping[str, str]

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """What the agent said last, with its calls, tokens and cost; at the limit it is killed with its children."""
        if prompt.config:
            return TargetErrored(
                f"{self.name}: the prompt's config {', '.join(sorted(prompt.config))} is not supported"
            )
        errors = bytearray()
        with self._folder() as folder:
            answer, latency_ms = await in_time(
                question,
                lambda: finished(
                    self.run, prompt.text.encode(), errors=errors, cwd=folder, environment=self.environment
                ),
            )
        match answer:
            case None:
                return question.too_late(latency_ms)
            case TargetErrored():
                return replace(answer, reason=f"{self.name}: {answer.reason}")
            case Finished():
                return self._read(answer, question, latency_ms, beside(errors))

    @contextmanager
    def _folder(self) -> Generator[Path]:
        if self.folder:
            yield Path(self.folder)
            return
        with temporary_folder("agent") as folder:
            yield folder

    def _read(
        self, answer: Finished, question: TargetQuestion, latency_ms: float, beside_it: str
    ) -> Observed | TargetErrored:
        read = read_stream(self.format, answer.out)
        if answer.code and (isinstance(read, Observed) or read.unanswered):
            read = TargetErrored(ended(answer.code))
        seen = question.seen(read, latency_ms=latency_ms)
        if isinstance(seen, TargetErrored):
            return replace(seen, reason=f"{seen.reason}: {beside_it[-SHOWN_OF_STDERR:]}") if beside_it else seen
        last = result_of_stream(answer.out)
        structured = last.get("structured_output")
        facts = AnswerFacts(response=_response(seen, last), whole=True)
        output: Json = seen.output if structured is None else {"output": structured}
        return seen.model_copy(update={"output": output, "stderr": beside_it, "told": facts})


def _response(seen: Observed, last: Json) -> Json:
    """What the config's code is told beside the output, in promptfoo's words."""
    calls = [_call(call) for call in seen.tool_calls or ()]
    skills: list[JsonValue] = [
        {"name": name, "input": call["input"], "is_error": call["is_error"], "source": "tool"}
        for call in calls
        if call["name"] == "Skill" and isinstance(name := obj(call["input"]).get("skill"), str) and name.strip()
    ]
    tokens: Json = {"prompt": seen.input_tokens, "completion": seen.output_tokens}
    metadata: Json = {"toolCalls": [*calls], "skillCalls": skills}
    metadata |= {theirs: last[name] for name, theirs in FACTS.items() if name in last}
    session: Json = {"sessionId": last["session_id"]} if "session_id" in last else {}
    return {"tokenUsage": tokens, "cost": seen.cost_usd, "metadata": metadata, **session}


def _call(call: ToolCall) -> Json:
    said = call.error if call.error is not None and call.result is None else call.result
    return {
        "id": call.id, "name": call.tool, "input": call.arguments, "output": said, "is_error": call.error is not None,
        "parentToolUseId": call.parent_id,
    }  # fmt: skip
