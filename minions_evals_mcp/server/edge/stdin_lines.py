"""Lines from a host over stdio: those that are no message are answered with a JSON-RPC error, for somebody waits."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import BinaryIO

import anyio.to_thread
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

LONGEST = 8_000_000
"""So many bytes a line may have: six for each that a call's arguments may have, as hosts write what is not ASCII."""
SEARCHED = 200_000
"""Among so many strings and brackets of a line that is no message its id is looked for."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
_VALUE = re.compile(r'\s*:\s*(-?\d{1,18}(?![\d.eE])|"(?:[^"\\]|\\.)*")')


class Lines:
    """The lines that are messages; `answer` is told what is said to the others."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        self._answer: Callable[[JSONRPCError], Awaitable[None]] | None = None
        self._answering = anyio.Event()

    def answered_by(self, answer: Callable[[JSONRPCError], Awaitable[None]]) -> None:
        """From now on lines are read."""
        self._answer = answer
        self._answering.set()

    def __aiter__(self) -> Lines:
        """The lines themselves."""
        return self

    async def __anext__(self) -> str:
        """The next line that is a message."""
        await self._answering.wait()
        assert self._answer is not None
        while True:
            line = await anyio.to_thread.run_sync(self._read)
            if not line:
                raise StopAsyncIteration
            text = line.decode("utf-8", "replace")
            refused = refusal_of(text) if text.strip() else None
            if refused is not None:
                await self._answer(refused)
            elif text.strip():
                return text

    def _read(self) -> bytes:
        """The next line; of one that is too long the beginning, which is more than any message may have."""
        line = self._stdin.readline(LONGEST + 1)
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = self._stdin.readline(LONGEST + 1)
        return line


def refusal_of(line: str) -> JSONRPCError | None:
    """Returns what is answered to a line that is no message; None for one that is."""
    if len(line) > LONGEST:
        return _refused(line, INVALID_REQUEST, f"Invalid Request: longer than {LONGEST:,} bytes. Send less at once.")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return _unread(line, error)
    if isinstance(message, JSONRPCNotification) and _has_id(line):
        return _refused(line, INVALID_REQUEST, "Invalid Request: the id is neither a string nor a whole number.")
    return None


def _unread(line: str, error: ValidationError) -> JSONRPCError:
    if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
        return _refused(line, INVALID_REQUEST, "Invalid Request: not a JSON-RPC 2.0 request, notification or response.")
    try:
        json.loads(line)
    except RecursionError:
        pass
    except ValueError:
        return _refused(line, PARSE_ERROR, "Parse error: the line is not JSON.")
    return _refused(line, INVALID_REQUEST, "Invalid Request: half a character (broken Unicode), or nested too deeply.")


def _refused(line: str, code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_in(line), error=ErrorData(code=code, message=text))


def _has_id(line: str) -> bool:
    message = json.loads(line)
    return isinstance(message, dict) and "id" in message


def id_in(line: str) -> RequestId | None:
    """The id of a message that cannot be read as a whole, as far as it can be told."""
    depth = 0
    for token in islice(_TOKEN.finditer(line), SEARCHED):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case '"id"' if depth == 1 and (value := _VALUE.match(line, token.end())):
                message = json.loads(value[1])
                return message if not isinstance(message, str) or message.isprintable() else None
            case _:
                pass
    return None
