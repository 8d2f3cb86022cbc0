"""Fixtures of the official conformance suite that ask the client for something: in the old way, and in rounds."""

from __future__ import annotations

from typing import Any, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
)
from pydantic import BaseModel, Field, JsonValue
from pydantic.config import JsonDict

from minions_evals_mcp.server.tasks.extension import EXTENSION, Json
from tests.server.conformance.fixtures import text

Asked = CallToolResult | InputRequiredResult
ROUND = "test_input_required_result_"


def elicitation(message: str, name: str, kind: str = "string") -> ElicitRequest:
    """A form with one field."""
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(prompt: str) -> CreateMessageRequest:
    said = SamplingMessage(role="user", content=text(prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[said], max_tokens=100))


NAME = elicitation("What is your name?", "name")
ROOTS = ListRootsRequest()
WANTED: dict[str, dict[str, InputRequest]] = {
    "elicitation": {"user_name": NAME},
    "sampling": {"capital_question": _sampling("What is the capital of France?")},
    "list_roots": {"client_roots": ROOTS},
    "request_state": {"confirm": elicitation("Please confirm", "ok", "boolean")},
    "tampered_state": {"confirm": elicitation("Please confirm", "ok", "boolean")},
    "multiple_inputs": {"user_name": NAME, "greeting": _sampling("Generate a greeting"), "client_roots": ROOTS},
}
"""What each tool of one round asks for; those in `_WITH_STATE` have the client carry a state."""
_WITH_STATE = frozenset({"request_state", "tampered_state", "multiple_inputs"})
_ANSWERS = (ElicitResult, CreateMessageResult, ListRootsResult)


def answers(ctx: Context[Any], wanted: dict[str, InputRequest]) -> dict[str, Any] | None:
    """The answers to all that was asked for; None where one is missing or of another kind."""
    given = ctx.input_responses or {}
    found = {name: given.get(name) for name in wanted}
    fits = all(
        isinstance(found[name], _ANSWERS[(ElicitRequest, CreateMessageRequest, ListRootsRequest).index(type(request))])
        for name, request in wanted.items()
    )
    refused = any(isinstance(one, ElicitResult) and not one.content for one in found.values())
    return found if fits and not refused else None


def register_asking(server: MCPServer[None]) -> None:
    """Puts them beside what the server has."""
    _register_rounds(server)
    _register_capable(server)
    _register_calls(server)
    _register_forms(server)


def _register_rounds(server: MCPServer[None]) -> None:
    def tool(name: str, wanted: dict[str, InputRequest]) -> None:
        @server.tool(ROUND + name, description=f"Asks in a round: {name}.", structured_output=False)
        async def asks(ctx: Context[None]) -> Asked:  # pyright: ignore[reportUnusedFunction]  the server holds it
            found = answers(ctx, wanted)
            if found is not None:
                said = " ".join(str(one) for one in found.values())
                return CallToolResult(content=[text(f"state-ok {said}")])
            return InputRequiredResult(input_requests=wanted, request_state=name if name in _WITH_STATE else None)

    for name, wanted in WANTED.items():
        tool(name, wanted)

    @server.tool(ROUND + "multi_round", description="Asks in two rounds.", structured_output=False)
    async def asks_twice(ctx: Context[None]) -> Asked:  # pyright: ignore[reportUnusedFunction]  as above
        first: dict[str, InputRequest] = {"step1": elicitation("Step 1: What is your name?", "name")}
        second: dict[str, InputRequest] = {"step2": elicitation("Step 2: What is your favorite color?", "color")}
        if ctx.request_state == "second" and answers(ctx, second):
            return CallToolResult(content=[text("Both rounds are done.")])
        if ctx.request_state == "first" and answers(ctx, first):
            return InputRequiredResult(input_requests=second, request_state="second")
        return InputRequiredResult(input_requests=first, request_state="first")

    @server.prompt("test_input_required_result_prompt", description="A prompt that asks first.")
    async def prompt(ctx: Context[None]) -> list[UserMessage] | InputRequiredResult:  # pyright: ignore[reportUnusedFunction]  as above
        wanted: dict[str, InputRequest] = {
            "user_context": elicitation("What context should the prompt use?", "context")
        }
        found = answers(ctx, wanted)
        return InputRequiredResult(input_requests=wanted) if found is None else [UserMessage(text(str(found)))]


def _register_capable(server: MCPServer[None]) -> None:
    @server.tool(ROUND + "capabilities", description="Asks what the client can do only.", structured_output=False)
    async def asks_fitting(ctx: Context[None]) -> Asked:  # pyright: ignore[reportUnusedFunction]  the server holds it
        able = ctx.client_capabilities
        wanted: dict[str, InputRequest] = {}
        if able and able.sampling is not None:
            wanted["greeting"] = _sampling("Generate a greeting")
        if able and able.elicitation is not None:
            wanted["user_name"] = NAME
        return (
            InputRequiredResult(input_requests=wanted) if wanted else CallToolResult(content=[text("Nothing to ask.")])
        )

    @server.tool("test_missing_capability", description="Needs sampling.")
    async def needs_sampling(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        able = ctx.client_capabilities
        if not able or able.sampling is None:
            data: Json = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", data)
        return "It can sample."

    @server.tool("test_streaming_elicitation", description="Asks on a stream.", structured_output=False)
    async def streams(ctx: Context[None]) -> Asked:  # pyright: ignore[reportUnusedFunction]  as above
        await ctx.report_progress(0, 1)
        return InputRequiredResult(input_requests={"user_name": NAME})


def schema(part: Json) -> JsonDict:
    """A piece of a field's schema, as pydantic takes it."""
    return cast("JsonDict", part)


class _Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class _Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra=schema({"enum": ["active", "inactive", "pending"]}))
    verified: bool = True


ONE: list[JsonValue] = ["option1", "option2", "option3"]
TITLED: list[JsonValue] = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]


class _Choices(BaseModel):
    untitledSingle: str = Field(json_schema_extra=schema({"enum": ONE}))  # noqa: N815  the suite's names
    titledSingle: str = Field(json_schema_extra=schema({"oneOf": TITLED}))  # noqa: N815  as above
    legacyEnum: str = Field(json_schema_extra=schema({"enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]}))  # noqa: N815  as above
    untitledMulti: list[str] = Field(json_schema_extra=schema({"items": {"type": "string", "enum": ONE}}))  # noqa: N815  as above
    titledMulti: list[str] = Field(json_schema_extra=schema({"items": {"anyOf": TITLED}}))  # noqa: N815  as above


def _register_calls(server: MCPServer[None]) -> None:
    @server.tool("test_sampling", description="Has the client's model answer.")
    async def samples(prompt: str, ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        said = SamplingMessage(role="user", content=text(prompt))
        found = await ctx.session.create_message([said], max_tokens=100)  # pyright: ignore[reportDeprecated]  2025-era clients have it
        return f"LLM response: {found.content}"


def _register_forms(server: MCPServer[None]) -> None:
    @server.tool("test_elicitation", description="Asks the person.")
    async def elicits(message: str, ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        found = await ctx.elicit(message, _Person)
        return f"User response: action={found.action}"

    @server.tool("test_elicitation_sep1034_defaults", description="Asks with defaults.")
    async def elicits_defaults(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        found = await ctx.elicit("Who are you?", _Defaults)
        return f"Elicitation completed: action={found.action}"

    @server.tool("test_elicitation_sep1330_enums", description="Asks with choices.")
    async def elicits_choices(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        found = await ctx.elicit("Choose.", _Choices)
        return f"Elicitation completed: action={found.action}"


def needs_handles(ctx: Context[None]) -> None:
    """Refuses a client that did not declare the Tasks extension."""
    require_client_extension(ctx.request_context, EXTENSION)
