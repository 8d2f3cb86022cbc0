"""JavaScript modules of a config, run by node where the operator trusts them: providers, and prompts that code writes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp import sandbox
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.sandbox.node import node_flags, node_here
from minions_evals_mcp.scoring.assertions.kinds.snippets import OF_MODULE
from minions_evals_mcp.targets.command import Finished, beside, finished
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.prompt_code import read_prompt
from minions_evals_mcp.targets.prompted import RenderedPrompt, WrittenPrompt, variables_of
from minions_evals_mcp.targets.responders import in_time, returned

SUFFIXES = frozenset({".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"})
_RUNNER = Path(sandbox.__path__[0]) / "module_runner.mjs"
HOST = _RUNNER.with_name("hook_host.mjs")
_LONGEST_S = 120.0
_SHOWN = 600


class ModuleError(Exception):
    """The reason why a module gave nothing."""


def node_command(script: Path = _RUNNER) -> tuple[str, ...]:
    """Returns how node is started with that script of ours; raises `BadInputError` where it is not installed."""
    node = node_here()
    if node is None:
        raise BadInputError("node is not installed, and the config uses JavaScript.")
    return (node, *node_flags(node), str(script))


def exported(path: Path, name: str | None, *arguments: JsonValue, withheld: str = "") -> JsonValue:
    """Returns what the module's export gives for the arguments; raises `ModuleError`. It waits: for reading a config only.

    Of a `withheld` argument, which stands behind the others, the function may read nothing.
    """
    call: Json = {"file": str(path), "name": name, "arguments": [*arguments], "functions": OF_MODULE}
    return _waited(call | ({"withheld": withheld} if withheld else {}))


def described(path: Path, options: Json) -> JsonValue:
    """Returns what the module's provider, made with the options, says of itself: {id, label, config}; raises and waits as above."""
    return _waited({"file": str(path), "options": options, "describe": True})


def _waited(call: Json) -> JsonValue:
    request = json.dumps(call).encode()
    try:
        done = subprocess.run(  # noqa: S603  the operator trusts what the config names
            node_command(), input=request, capture_output=True, check=False, timeout=_LONGEST_S, env=child_environment()
        )
    except subprocess.TimeoutExpired:
        raise ModuleError(f"it did not end within {_LONGEST_S:g} s") from None
    return _value(done.stdout, done.stderr.decode("utf-8", "replace"))


def _value(out: bytes, beside_it: str) -> JsonValue:
    try:
        answer: Json = json.loads(out)
    except ValueError:
        raise ModuleError(f"it ended without an answer: {beside_it.strip()[-_SHOWN:]}") from None
    if "error" in answer:
        raise ModuleError(str(answer["error"]))
    return answer["value"]


async def module_answer(request: Json, question: TargetQuestion) -> tuple[JsonValue, float] | TargetErrored | None:
    """Returns what the module gives, and the milliseconds that it took; None where it is too late."""
    errors = bytearray()
    answer, latency_ms = await in_time(
        question, lambda: finished(node_command(), json.dumps(request).encode(), errors=errors)
    )
    match answer:
        case None:
            return None
        case TargetErrored():
            return answer
        case Finished():
            try:
                return _value(answer.out, beside(errors)), latency_ms
            except ModuleError as error:
                return TargetErrored(str(error))


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A provider's class in a module: `callApi(prompt, context)` gives a text or {output, error, tokenUsage, cost}."""

    name: str
    path: Path
    options: Json
    offered: Json

    async def answer(self, prompt: RenderedPrompt, question: TargetQuestion) -> Observed | TargetErrored:
        """Returns what `callApi` returned."""
        call: list[JsonValue] = [prompt.text, prompt.context(), {}]
        answer = await module_answer(
            {"file": str(self.path), "name": None, "options": self.options, "call": call}, question
        )
        match answer:
            case None:
                return question.too_late(question.limit_s * 1000)
            case TargetErrored(reason=reason):
                return TargetErrored(f"{self.name}: {reason}")
            case (value, latency_ms):
                return returned(value, question, latency_ms, self.offered)


@dataclass(frozen=True, slots=True)
class PromptModule:
    """`function({vars, provider, config})` in a module gives a text, a list of chat messages, or {prompt, config}."""

    path: Path
    function: str | None
    provider: Json
    config: Json

    async def write(self, inputs: Json, question: TargetQuestion) -> WrittenPrompt | TargetErrored:
        """Returns what the function returned."""
        context: Json = {"vars": variables_of(inputs), "provider": self.provider, "config": self.config}
        answer = await module_answer({"file": str(self.path), "name": self.function, "arguments": [context]}, question)
        match answer:
            case None:
                return TargetErrored(f"{self.path.name} wrote no prompt within {question.limit_s:g} s", unanswered=True)
            case TargetErrored(reason=reason):
                return TargetErrored(f"{self.path.name}: {reason}")
            case (value, _):
                return read_prompt(self.path.name, value, self.config)
