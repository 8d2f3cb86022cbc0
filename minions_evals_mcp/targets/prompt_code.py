"""Prompts that Python writes: a function of the variables, or a file that is run as a program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.scoring.values import js_json
from minions_evals_mcp.targets.command import Finished, finished
from minions_evals_mcp.targets.exchange import TargetQuestion
from minions_evals_mcp.targets.prompted import WrittenPrompt, variables_of
from minions_evals_mcp.targets.python_file import function_in, result_of
from minions_evals_mcp.targets.responders import in_time

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True)
class PromptFunction:
    """`function({vars, provider, config})` gives a text, a list of chat messages, or {prompt, config}."""

    name: str
    function: Callable[..., object]
    provider: Json
    config: Json

    async def write(self, inputs: Json, question: TargetQuestion) -> WrittenPrompt | TargetErrored:
        """Returns what the function returned."""
        context: Json = {"vars": variables_of(inputs), "provider": self.provider, "config": self.config}
        try:
            text, took_ms = await in_time(question, partial(result_of, self.function, context))
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything; it is the target's error
            return TargetErrored(f"{self.name} raised {type(error).__name__}: {error}")
        late = text is None and took_ms >= question.limit_s * 1000
        return _late(self.name, question) if late else read_prompt(self.name, text, self.config)


def read_prompt(name: str, returned: object, config: Json) -> WrittenPrompt | TargetErrored:
    """Returns what code gave as a prompt: a text, chat messages, or {prompt, config}, whose config goes over the given one."""
    try:
        value = _JSON.validate_python(returned)
        canonical(value).encode()  # NaN and lone surrogates stand in no record
    except ValueError:
        value = None
    if isinstance(value, dict) and "prompt" in value:
        own = value.get("config")
        config = config | own if isinstance(own, dict) else config
        value = value["prompt"]
    if isinstance(value, str):
        return WrittenPrompt(value, config)
    if isinstance(value, dict | list):
        return WrittenPrompt(js_json(value), config)
    return TargetErrored(f"{name} gave {type(returned).__name__}; return a text, chat messages, or {{'prompt': …}}")


def prompt_function(path: Path, function: str, *, provider: Json, config: Json) -> PromptFunction:
    """The function in that file; raises `BadInputError` where there is none."""
    return PromptFunction(
        f"{path.name}:{function}", function_in(path, function, called_with="context"), provider, config
    )


@dataclass(frozen=True, slots=True)
class PromptProgram:
    """A file of Python, or a program, that is run with the context as its argument, and writes the prompt to stdout."""

    path: str
    provider: Json
    config: Json
    arguments: tuple[str, ...] = ()
    folder: str = ""

    async def write(self, inputs: Json, question: TargetQuestion) -> WrittenPrompt | TargetErrored:
        """Returns what the file wrote; at the limit it is killed with its children."""
        output_bytes = bytearray()
        context: Json = {"vars": variables_of(inputs), "provider": self.provider, "config": self.config}
        name, folder = Path(self.path).name, Path(self.folder) if self.folder else None
        python = [sys.executable] if name.endswith(".py") and not self.arguments else []
        command = [*python, self.path, *self.arguments, js_json(context)]
        answer, _ = await in_time(question, lambda: finished(command, b"", errors=output_bytes, cwd=folder))
        match answer:
            case Finished(code=0):
                text = answer.out.decode("utf-8", "replace")
                return WrittenPrompt(text.removesuffix("\n") if python else text.strip(), self.config)
            case Finished():
                printed = output_bytes.decode("utf-8", "replace").strip()
                return TargetErrored(f"{name} ended with code {answer.code}: {printed[-600:]}")
            case TargetErrored():
                return TargetErrored(f"{name}: {answer.reason}")
            case None:
                return _late(name, question)


def _late(name: str, question: TargetQuestion) -> TargetErrored:
    return TargetErrored(f"{name} wrote no prompt within {question.limit_s:g} s", unanswered=True)
