"""Next steps and arguments in the terms of an interface: a command, a tool call, a query, a Python argument."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.next_steps import Argument, Next, Value, parts
from minions_evals_mcp.presentation.operations_table import ARGUMENTS, OF_TOOLS, OPERATIONS, OPTIONS, At

if TYPE_CHECKING:
    from pydantic import JsonValue  # for annotations alone

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
SET_VARIABLE = "set-variable"
"""The operation that sets one of several variables of the environment: no command does it."""
_SPOKEN = ("ask ", "set ", "the message ")
_ASKED_BY = ("triggered_by", "mcp")
"""What a call of a tool says of itself where it says nothing."""
_TARGET, _MODEL = ("target", "TARGET"), "openai:MODEL"
"""A target to be filled in: callers of tools name a model."""
_ASKED = late(r"([Aa])sk the operator to (?:run (`[^`]+`)(?:, which)?|set)")
"""What `_by_somebody` says."""
_SENTENCE_ENDS = (". ", "? ", "! ", "\n")


class Terms(Protocol):
    """An interface's own terms."""

    def call(self, step: Next) -> str:
        """The step, as it is typed or called there."""
        ...

    def argument(self, named: Argument) -> str:
        """The argument as it is called there, with its value where it has one."""
        ...

    def sentence(self, step: Next) -> str:
        """The call and what it does."""
        ...


@frozen_type
class Terminal:
    """The command line's terms; the store that was named is named in each command.

    `typed`: the arguments of the command under way, which a step that resumes it repeats.
    """

    store: Path | None = None
    typed: tuple[str, ...] = ()

    def call(self, step: Next) -> str:
        """The command, to be pasted."""
        row = OPERATIONS[step.operation]
        if self.typed and "key" in step.arguments:
            return shlex.join(["minions-evals", *_typed_again(self.typed, step)])
        by_position = "|".join(row.positions).split("|")
        words = ["minions-evals", *row.command.split(), *map(_word, positional(step))]
        for name, value in step.arguments.items():
            if name not in by_position and name not in row.left_out:
                words += _option(name, value)
        if self.store is not None and row.has_store:
            words += ["--db", shlex.quote(str(self.store))]
        return " ".join(words)

    def argument(self, named: Argument) -> str:
        """The option."""
        return " ".join(_option(named.name, True if named.value is None else named.value))

    def sentence(self, step: Next) -> str:
        """The command in backticks."""
        if step.operation == SET_VARIABLE:
            return f"set {_variables(step)}"
        return f"`{self.call(step)}` {step.reason}".rstrip()


@frozen_type
class Tools:
    """The terms of MCP's tools; what no tool does is the operator's or a person's at the command line."""

    store: Path | None = None

    def call(self, step: Next) -> str:
        """The tool with its arguments as JSON, else the command."""
        tool = tool_of(step)
        if tool is None:
            return Terminal(self.store).call(step)
        return f"{tool.name} {json.dumps(tool_arguments(step), ensure_ascii=False)}"

    def argument(self, named: Argument) -> str:
        """The tool's argument; an option of the server's operator under its name at the command line."""
        if named.name not in OF_TOOLS:
            return f"the operator's {Terminal().argument(named)}"
        name = ARGUMENTS.get(named.name, to_camel(named.name))
        return name if named.value is None else f'"{name}": {json.dumps(named.value, ensure_ascii=False)}'

    def sentence(self, step: Next) -> str:
        """The call and what it does, or who runs the command."""
        if tool_of(step) is not None:
            return f"{self.call(step)} {step.reason}".rstrip()
        return _by_somebody(self, step, "the operator")


@frozen_type
class Messages:
    """The terms of the EvalAgent's messages; what no message does is the operator's or a person's at the command line."""

    store: Path | None = None

    def call(self, step: Next) -> str:
        """The message's type and payload, else the command."""
        message = _offered(step, OPERATIONS[step.operation].message)
        if message is None:
            return Terminal(self.store).call(step)
        return f"{message.name} {json.dumps(_by_name(step, message), ensure_ascii=False)}"

    def argument(self, named: Argument) -> str:
        """The payload's field."""
        return Tools().argument(named)

    def sentence(self, step: Next) -> str:
        """The message and what it does, or who runs the command."""
        if _offered(step, OPERATIONS[step.operation].message) is not None:
            return f"the message {self.call(step)} {step.reason}".rstrip()
        return _by_somebody(self, step, "the operator")


@frozen_type
class Queries:
    """GraphQL's terms; what no query or mutation does is a command."""

    store: Path | None = None

    def call(self, step: Next) -> str:
        """The query, else the command."""
        query = OPERATIONS[step.operation].graphql
        if query is None:
            return Terminal(self.store).call(step)
        given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in _by_name(step, query).items())
        return f"{query.name}({given})"

    def argument(self, named: Argument) -> str:
        """The input's field."""
        return Tools().argument(named)

    def sentence(self, step: Next) -> str:
        """The query and what it does, or who runs the command."""
        if OPERATIONS[step.operation].graphql is not None:
            return f"`{self.call(step)}` {step.reason}".rstrip()
        return _by_somebody(self, step, "the operator")


@frozen_type
class PythonCalls:
    """The terms of `evaluate`: keyword arguments, and commands for what is done with a store."""

    store: Path | None = None

    def call(self, step: Next) -> str:
        """The command."""
        return Terminal(self.store).call(step)

    def argument(self, named: Argument) -> str:
        """The keyword argument."""
        if named.name == "judge" and named.value in ("caller", "human"):
            return f"judge {named.value} at the command line"
        name = {"judge_model": "judge", "db": "store"}.get(named.name, named.name)
        return name if named.value is None else f"{name}={_python(named.value)}"

    def sentence(self, step: Next) -> str:
        """As at the command line; a run of `evaluate` is resumed by the same call under its key."""
        if "key" in step.arguments:
            named = ", ".join(
                self.argument(Argument(name, step.arguments[name]))
                for name in ("key", "max_cost_usd")
                if name in step.arguments
            )
            return f"`evaluate(…, {named})` {step.reason}"
        if step.operation == "run-benchmark":
            return f"`evaluate(…)` {step.reason}"
        return Terminal(self.store).sentence(step)


def _by_somebody(terms: Terms, step: Next, operator: str) -> str:
    """The step as what the reader asks a person or the operator to do."""
    if step.operation == SET_VARIABLE:
        return f"ask {operator} to set {_variables(step)}"
    who = "a person" if OPERATIONS[step.operation].person else operator
    return f"ask {who} to run `{terms.call(step)}`" + (f", which {step.reason}" if step.reason else "")


def to_operator(text: str) -> str:
    """A kept text whose steps are for another reader, as the operator reads it: what they are to be asked they do."""
    return _ASKED.sub(lambda asked: asked[2] or ("Set" if asked[1] == "A" else "set"), text)


def _variables(step: Next) -> str:
    return " or ".join(cast("list[str]", step.arguments["names"]))


def in_terms(text: str, terms: Terms, words: Callable[[str], str] = str) -> str:
    """The text with its next steps and arguments in those terms; what stands between them goes through `words`."""
    done = ""
    for part in parts(text):
        match part:
            case str():
                done += words(part)
            case Argument():
                done += terms.argument(part)
            case Next():
                sentence = terms.sentence(part)
                begins = not done or done.endswith(_SENTENCE_ENDS)
                done += f"{sentence[0].upper()}{sentence[1:]}" if begins and sentence.startswith(_SPOKEN) else sentence
    return done


def wire_in_terms(value: JsonValue, terms: Terms) -> JsonValue:
    """The JSON value with every text in it in those terms."""
    match value:
        case str():
            return in_terms(value, terms)
        case list():
            return [wire_in_terms(entry, terms) for entry in value]
        case dict():
            return {name: wire_in_terms(entry, terms) for name, entry in value.items()}
        case _:
            return value


def positional(step: Next) -> list[Value]:
    """The arguments that the command takes by position, in its order; a list is several."""
    given: list[Value] = []
    for names in OPERATIONS[step.operation].positions:
        first, *others = names.split("|")
        name = next((other for other in others if other in step.arguments), first)
        value = step.arguments.get(name, name.removesuffix("_id").replace("_", "-").upper())
        given += value if isinstance(value, list) else [value]
    return given


def _typed_again(typed: Sequence[str], step: Next) -> list[str]:
    """The command under way, under its key, and under another cost cap where the step says so."""
    changed = {_option(name, "")[0]: step.arguments[name] for name in ("max_cost_usd", "key") if name in step.arguments}
    kept, words = list[str](), iter(typed)
    for word in words:
        option, sign, _ = word.partition("=")
        if option not in changed:
            kept.append(word)
        elif not sign:
            next(words, None)
    return [*kept, *(word for option, value in changed.items() for word in (option, _text(value)))]


def tool_of(step: Next) -> At | None:
    """The tool that does the step. None where no tool does, or the step has a target that its operator alone can name."""
    return _offered(step, OPERATIONS[step.operation].tool)


def tool_arguments(step: Next) -> dict[str, Value]:
    """The JSON arguments of the step's tool; `KeyError` where no tool offers it."""
    tool = tool_of(step)
    if tool is None:
        raise KeyError(step.operation)
    return _by_name(step, tool)


def _offered(step: Next, at: At | None) -> At | None:
    target = step.arguments.get("target")
    from minions_evals_mcp.domain.request_fields import OWN_TARGETS  # noqa: PLC0415  help renders no step, and waits for no pydantic

    is_theirs = isinstance(target, str) and target.startswith(OWN_TARGETS) and not step.arguments.get("recorded")
    return None if is_theirs else at


def _by_name(step: Next, at: At) -> dict[str, Value]:
    """The arguments under their names there. A target for what is not recorded is the operator's default, which nobody repeats."""
    defaulted = {"target"} if step.arguments.get("recorded") else set[str]()
    given = {
        name: _MODEL if (argument, value) == _TARGET else value
        for argument, value in step.arguments.items()
        if argument not in defaulted
        and (argument, value) != _ASKED_BY
        and (name := at.names.get(argument, ARGUMENTS.get(argument, to_camel(argument))))
    }
    return {**at.needs, **given, **{name: _filled(value, step.arguments) for name, value in at.fixed.items()}}


def _filled(value: Value, arguments: Mapping[str, Value]) -> Value:
    """The value with the arguments that its texts name."""
    match value:
        case str() if found := _PLACEHOLDER.fullmatch(value):
            return arguments.get(found[1], found[1].upper())
        case list():
            return [_filled(entry, arguments) for entry in value]
        case dict():
            return {name: _filled(entry, arguments) for name, entry in value.items()}
        case _:
            return value


def to_camel(name: str) -> str:
    """The name as it is written on the wire."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def _option(name: str, value: Value) -> list[str]:
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    match value:
        case True:
            return [option]
        case False:
            return []
        case list():
            return [word for entry in cast("Sequence[Value]", value) for word in (option, _word(entry))]
        case _:
            return [option, _word(value)]


def _word(value: Value) -> str:
    return shlex.quote(_text(value))


def _text(value: Value) -> str:
    match value:
        case str():
            return value
        case float():
            return f"{value:g}"
        case _:
            return json.dumps(value)


def _python(value: Value) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)
