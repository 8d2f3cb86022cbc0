"""All use of the SDK's insides: strict arguments, refusals that say what to do, crashes told by an id only."""

from __future__ import annotations

import difflib
import json
import re
import secrets
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.stdio import _claim_fd, _open_stdin_diversion, stdio_server  # pyright: ignore[reportPrivateUsage]  its insides
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCError,
    ToolAnnotations,
)
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, to_json

from minions_evals_mcp.domain.incoming.omitted import without_omitted
from minions_evals_mcp.errors import EvalsError, ungrouped
from minions_evals_mcp.server.edge.document_words import meant_call
from minions_evals_mcp.server.edge.logs import log
from minions_evals_mcp.server.edge.refusals import refusal
from minions_evals_mcp.server.edge.schemas import Schemas
from minions_evals_mcp.server.edge.stdin_lines import Lines

MAX_BYTES = 1_000_000
"""A call's arguments, as JSON."""
_BEGINS_JSON = frozenset("[{n")
"""How the text of a list, an object or a null begins: some hosts send these as text."""
SHOWN = 60
"""So much of a refused value is quoted."""
SLIP = 0.75
"""Names as like as this are one, misspelt."""
_WORD = re.compile("[a-z]+")


class ToolArguments(ArgModelBase):
    """A tool's arguments: camelCase on the wire, unknown names refused, handed to the tool as one value."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        allow_inf_nan=False,
        defer_build=True,  # a tool that is called builds its own, the start none
    )

    @model_validator(mode="before")
    @classmethod
    def _omitted(cls, given: Any) -> Any:
        """Hosts and strict schemas send null, an empty text or an empty list for an option that is left out."""
        return without_omitted(cls, cast("dict[str, Any]", given)) if isinstance(given, dict) else given

    def model_dump_one_level(self) -> dict[str, Any]:
        """The keyword arguments of the tool's function."""
        return {"asked": self}


Work = Callable[[Any, Context[Any]], Awaitable[CallToolResult | InputRequiredResult]]


class StrictTool(Tool):
    """A tool that refuses what it does not know, and whose every refusal says what to do next."""

    work: Work = Field(exclude=True)
    taken: Callable[[], type[ToolArguments]] = Field(exclude=True)
    """The type of its arguments, made or imported at the first call."""
    store: Path | None = Field(default=None, exclude=True)

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002  the SDK's signature
        """The tool's result; raises `ToolError` whose text is all that the caller sees."""
        del convert_result  # a tool makes its own result
        request = self._read(arguments, FuncMetadata(arg_model=self.taken()))
        try:
            with ungrouped():
                return await self.work(request, context)
        except EvalsError as error:
            raise ToolError(refusal(error, self.store)) from None
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001  the edge: the caller learns an id, the log everything
            raise ToolError(crash_told(self.name, error)) from None

    def _read(self, arguments: dict[str, Any], metadata: FuncMetadata) -> BaseModel:
        try:
            size = len(to_json(arguments))
        except (ValueError, RecursionError):
            raise ToolError(
                "bad-arguments: not JSON (broken Unicode, or nested too deeply). Send plain text and fewer levels."
            ) from None
        if size > MAX_BYTES:
            raise ToolError(f"bad-arguments: {size:,} bytes; at most {MAX_BYTES:,}. {_shorter(arguments)}") from None
        try:
            if any(
                isinstance(argument, str) and argument.lstrip()[:1] in _BEGINS_JSON for argument in arguments.values()
            ):
                arguments = metadata.pre_parse_json(arguments)
            return metadata.arg_model.model_validate(arguments)
        except (ValidationError, RecursionError) as error:
            raise ToolError(_refused(self.parameters, error)) from None


def crash_told(name: str, error: Exception) -> str:
    """Returns what the caller learns of a crash: the id under which the log has the rest."""
    crash = secrets.token_hex(6)
    log().exception("tool-crashed", tool=name, crash=crash, error=type(error).__name__)
    return (
        f"internal-error: {name} failed inside the server. Its log has the reason under {crash}. Next: call it again, or give the operator"
        " that id."
    )


def strict_tool(
    *,
    name: str,
    description: str,
    arguments: Callable[[], type[ToolArguments]],
    schemas: Schemas,
    annotations: ToolAnnotations,
    work: Work,
) -> StrictTool:
    """The tool as the SDK holds it."""
    return StrictTool(
        fn=work,
        work=work,
        taken=arguments,
        name=name,
        title=annotations.title,
        description=description,
        parameters=schemas.arguments,
        fn_metadata=FuncMetadata(arg_model=ToolArguments, output_schema=schemas.answer),
        is_async=True,
        context_kwarg=None,
        annotations=annotations,
    )


def _shorter(arguments: Mapping[str, Any]) -> str:
    """Returns what to do about arguments that are too long: one entry may be so by itself."""
    sizes = [
        (len(to_json(entry)), f"{name}.{number}")
        for name, entries in arguments.items()
        if isinstance(entries, list)
        for number, entry in enumerate(cast("list[Any]", entries))
    ]
    longest, place = max(sizes, default=(0, ""))
    return f"{place} alone has {longest:,}: shorten it." if longest > MAX_BYTES else "Split them over several calls."


def _refused(schema: Mapping[str, Any], error: ValidationError | RecursionError) -> str:
    """Returns what does not fit, in a line each, and what is allowed."""
    if isinstance(error, RecursionError):
        return "bad-arguments: nested too deeply."
    details = error.errors(include_url=False, include_context=True)
    known: dict[str, Any] = schema["properties"]
    needed = {str(name) for name in schema.get("required", ())}
    lone = _lone_pair(details)
    problems = [_problem(detail, known, needed, lone) for detail in details[:3]]
    more = [f"and {len(details) - 3} more"] if len(details) > 3 else []
    required = ", ".join(schema.get("required", ())) or "none"
    wrong = f"{'; '.join(problems + more)}.".replace("?.", "?")
    return f"bad-arguments: {wrong} Nothing has run. Arguments: {', '.join(known)}; required: {required}."


def _lone_pair(details: Collection[ErrorDetails]) -> str:
    """The one argument that is missing where one unknown is given: it was meant, however it is called."""
    top = [detail for detail in details if len(detail["loc"]) == 1]
    missing = [str(detail["loc"][0]) for detail in top if detail["type"] == "missing"]
    unknown = [detail for detail in top if detail["type"] == "extra_forbidden"]
    return missing[0] if len(missing) == len(unknown) == 1 else ""


def _problem(detail: ErrorDetails, known: Mapping[str, Any], needed: Collection[str], lone: str) -> str:
    path = ".".join(str(part)[:SHOWN] for part in detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            near = _near(path, known, lone) if len(detail["loc"]) == 1 else ""
            return f"unknown argument {path!r}" + (f", did you mean {near!r}?" if near else "")
        case "missing":
            values = known.get(path, {}).get("enum", ())
            return f"{path} is missing" + (f" (one of {', '.join(map(str, values))})" if values else "")
        case "value_error":
            return f"{path}: {detail['msg'].removeprefix('Value error, ')}".removeprefix(": ")
        case _:
            optional = "" if path in needed or path not in known else " (optional: null leaves it out)"
            return f"{path}: {detail['msg']}, not {_quoted(detail['input'])}{optional}"


def _near(name: str, known: Mapping[str, Any], lone: str) -> str:
    """The argument that was meant: one spelt nearly so, else the lone missing one, else the likest."""
    spelt = difflib.get_close_matches(to_camel(name), known, 1, 0.5)
    is_slip = bool(spelt) and bool(difflib.get_close_matches(to_camel(name), spelt, 1, SLIP))
    return spelt[0] if is_slip or (spelt and not lone) else lone


def nearest_tool(name: str, known: Collection[str]) -> str:
    """The tool that was meant: one spelt nearly so, else the only one that has all the words asked for, else the likest."""
    words = frozenset(_WORD.findall(name.lower()))
    with_words = [tool for tool in known if words and words <= frozenset(tool.split("_"))]
    slip, likest = (difflib.get_close_matches(name, known, 1, cutoff) for cutoff in (SLIP, 0.6))
    return next(iter((*slip, *(with_words if len(with_words) == 1 else ()), *likest)), "")


def _quoted(value: object) -> str:
    shown = (
        json.dumps(value, default=str) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    )
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def is_text(value: object) -> bool:
    """Returns whether it is a string that can be written down: JSON lets half a character through."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


P = TypeVar("P", bound=BaseModel)


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:
    """The connection that a request came by: what is kept with it ends with it."""
    return context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  the SDK shows its state nowhere else


class EvalsServer(MCPServer[None]):
    """The server; `withheld` says of each tool that exists and is not offered here why that is so."""

    withheld: Mapping[str, str] = {}

    def serve(
        self, method: str, params: type[P], handler: Callable[[ServerRequestContext[Any, Any], P], Awaitable[BaseModel]]
    ) -> None:
        """Answers that method by the handler, also where the SDK has one of its own."""
        self._lowlevel_server.add_request_handler(method, params, handler)

    async def run_stdio_async(self) -> None:
        """As the SDK's; a line that is no message is answered with an error, where the SDK says nothing."""
        stdin, restore = _claim_fd(0, sys.stdin, "rb", _open_stdin_diversion)
        lines = Lines(stdin)
        try:
            async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):

                async def answer(refused: JSONRPCError) -> None:
                    await writing.send(SessionMessage(refused))

                lines.answered_by(answer)
                low = self._lowlevel_server
                await low.run(reading, writing, low.create_initialization_options())
        finally:
            if restore is not None:
                restore()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[None, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """As the SDK's; an unknown prompt is a bad parameter, not a broken server."""
        known = [prompt.name for prompt in self._prompt_manager.list_prompts()]
        if name not in known:
            raise MCPError(INVALID_PARAMS, f"unknown-prompt: {name[:SHOWN]!r}; prompts are {', '.join(known)}.")
        return await super().get_prompt(name, arguments, context)

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """As the SDK's; an address that fits no template is refused with those that there are."""
        if not is_text(str(uri)):
            raise ResourceNotFoundError("unknown-resource: not text (broken Unicode).")
        try:
            return await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            if str(error) != f"Unknown resource: {uri}":
                raise
            known = [resource.uri for resource in await self.list_resources()]
            known += [template.uri_template for template in await self.list_resource_templates()]
            raise ResourceNotFoundError(
                f"unknown-resource: {str(uri)[:SHOWN]!r}; resources are {', '.join(known)}."
                " An id's / and : are percent-encoded: evals://test-case/support%2Frefund."
            ) from None

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """As the SDK's; an unknown tool is refused with those that are known."""
        if self._tool_manager.get_tool(name) is None:
            known = [tool.name for tool in self._tool_manager.list_tools()]
            near = nearest_tool(name, known)
            meant = meant_call(name, known)
            hint = f"tools are {', '.join(known)}." if not near else f"did you mean {near}?"
            why = self.withheld.get(name, hint if meant is None else f"call {meant}.")
            raise ToolError(f"unknown-tool: {name[:SHOWN]!r}; {why}")
        return await super().call_tool(name, arguments, context)
