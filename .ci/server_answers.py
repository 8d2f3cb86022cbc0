"""Starts the server that is named as a host does, and counts its tools."""

from __future__ import annotations

import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(program: str, store: str) -> None:
    """Prints how many tools the server lists; fails where it does not answer."""
    with anyio.fail_after(60):
        async with Client(stdio_client(StdioServerParameters(command=program, args=["--db", store]))) as client:
            sys.stdout.write(f"{len((await client.list_tools()).tools)} tools\n")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
