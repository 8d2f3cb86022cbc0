"""What the official conformance suite calls by fixed names: tools, resources and prompts, put beside ours on our own server."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
        "0000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
PAUSE_S = 0.05
"""The suite wants to see messages one by one."""


def text(said: str) -> TextContent:
    """A block of text."""
    return TextContent(type="text", text=said)


def _image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def _embedded(uri: str, mime_type: str, said: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=said))


CONTENT: dict[str, list[ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [_image()],
    "test_audio_content": [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        _image(),
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


def register_fixtures(server: MCPServer[None]) -> None:
    """Puts them all beside what the server has."""
    _register_content(server)
    _register_talkers(server)
    _register_resources(server)
    _register_prompts(server)
    server._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)  # pyright: ignore[reportPrivateUsage]  a fixture of the 2025 era only


async def _set_level(ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
    del ctx, params
    return EmptyResult()


def _register_content(server: MCPServer[None]) -> None:
    def tool(name: str, blocks: list[ContentBlock]) -> None:
        @server.tool(name, description=f"Returns fixed content: {name}.", structured_output=False)
        async def fixed() -> list[ContentBlock]:  # pyright: ignore[reportUnusedFunction]  the server holds it
            return blocks

    for name, blocks in CONTENT.items():
        tool(name, blocks)

    @server.tool("test_error_handling", description="Fails.")
    async def fails() -> str:  # pyright: ignore[reportUnusedFunction]  as above
        raise ToolError("This tool intentionally returns an error for testing")


def _register_talkers(server: MCPServer[None]) -> None:
    @server.tool("test_tool_with_logging", description="Logs three times.")
    async def logs(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(said)  # pyright: ignore[reportDeprecated]  2025-era clients have it
            await anyio.sleep(PAUSE_S)
        return "It logged."

    @server.tool("test_logging_tool", description="Logs once.")
    async def logs_once(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        await ctx.info("Once.")  # pyright: ignore[reportDeprecated]  as above
        return "It logged."

    @server.tool("test_tool_with_progress", description="Tells its progress.")
    async def progresses(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"{done} of 100")
            await anyio.sleep(PAUSE_S)
        return "It told."

    @server.tool("test_trigger_tool_change", description="Tells that the tools changed.")
    async def tools_change(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        await ctx.notify_tools_changed()
        return "It told."

    @server.tool("test_trigger_prompt_change", description="Tells that the prompts changed.")
    async def prompts_change(ctx: Context[None]) -> str:  # pyright: ignore[reportUnusedFunction]  as above
        await ctx.notify_prompts_changed()
        return "It told."


def _register_resources(server: MCPServer[None]) -> None:
    @server.resource("test://static-text", description="A text.", mime_type="text/plain")
    async def static_text() -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", description="A picture.", mime_type="image/png")
    async def static_binary() -> bytes:  # pyright: ignore[reportUnusedFunction]  as above
        return base64.b64decode(PIXEL)

    @server.resource("test://watched-resource", description="One to watch.", mime_type="text/plain")
    async def watched() -> str:  # pyright: ignore[reportUnusedFunction]  as above
        return "Watched."

    @server.resource("test://template/{id}/data", description="One for each id.", mime_type="application/json")
    async def of_template(id: str) -> str:  # noqa: A002  # pyright: ignore[reportUnusedFunction]  the suite's name for it
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _register_prompts(server: MCPServer[None]) -> None:
    @server.prompt("test_simple_prompt", description="A prompt without arguments.")
    async def simple() -> list[UserMessage]:  # pyright: ignore[reportUnusedFunction]  the server holds it
        return [UserMessage(text("This is a simple prompt for testing."))]

    @server.prompt("test_prompt_with_arguments", description="A prompt with two arguments.")
    async def with_arguments(arg1: str, arg2: str) -> list[UserMessage]:  # pyright: ignore[reportUnusedFunction]  as above
        return [UserMessage(text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @server.prompt("test_prompt_with_embedded_resource", description="A prompt with a resource in it.")
    async def with_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  # pyright: ignore[reportUnusedFunction]  the suite's name for it
        said = "Embedded resource content for testing."
        return [
            UserMessage(_embedded(resourceUri, "text/plain", said)),
            UserMessage(text("Please process the embedded resource above.")),
        ]

    @server.prompt("test_prompt_with_image", description="A prompt with a picture.")
    async def with_image() -> list[UserMessage]:  # pyright: ignore[reportUnusedFunction]  as above
        return [UserMessage(_image()), UserMessage(text("Please analyze the image above."))]
