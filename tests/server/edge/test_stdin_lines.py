"""Lines over stdio that are no messages: each is answered, and the next call works."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from minions_evals_mcp.server.edge.stdin_lines import LONGEST, Lines, id_in, refusal_of
from tests.hang import HANG_S
from tests.shared.server.hosts import ERAS
from tests.shared.server.wire import environment, wired
from tests.workshop import Json

pytestmark = pytest.mark.anyio
PARSE, INVALID = -32700, -32600


def call(ident: str, argument: str) -> str:
    return f'{{"method":"tools/call","params":{{"name":"get_record","arguments":{{"id":{argument}}}}},"jsonrpc":"2.0","id":{ident}}}'


STRANGE = [
    (call("71", '"\\ud800"'), INVALID, 71),
    (call('"a b"', '"\\udc00\\ud800 x"'), INVALID, "a b"),
    (call("72", "[" * 400 + "]" * 400), INVALID, 72),
    (call("73", '{"id":' * 30_000 + "1" + "}" * 30_000), INVALID, 73),
    (call("74", "oh"), PARSE, 74),
    (call("75", '"\\"id\\": 9"')[:-1], PARSE, 75),
    ("hello", PARSE, None),
    ("{", PARSE, None),
    ("\x00\x01", PARSE, None),
    ("[]", INVALID, None),
    ("null", INVALID, None),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID, None),
    ('{"jsonrpc":"1.0","id":76,"method":"ping"}', INVALID, 76),
    ('{"jsonrpc":"2.0","id":77,"method":77}', INVALID, 77),
    ('{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', INVALID, None),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID, None),
    ('{"jsonrpc":"2.0","id":7.5,"method":"ping"}', INVALID, None),
]


MODERN: Json = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.mark.parametrize("era", ERAS)
async def test_whatever_is_no_message_gets_an_error_and_the_next_call_works(tmp_path: Path, era: str) -> None:
    legacy = era == "legacy"
    with anyio.fail_after(HANG_S):
        async with wired(environment(tmp_path), handshake=legacy) as wire:
            await wire.ask("tools/list", **({} if legacy else MODERN))
            for text, code, ident in STRANGE:
                assert wire.process.stdin is not None
                await wire.process.stdin.send(text.encode("utf-8", "replace") + b"\n")
                told = json.loads(await wire.lines.receive_until(b"\n", 100_000))
                assert (told["id"], told["error"]["code"]) == (ident, code), (text[:80], told)
            answer = await wire.ask("tools/list", **({} if legacy else MODERN))
    assert answer["tools"]


@pytest.mark.parametrize(("text", "code", "ident"), STRANGE, ids=[text[:30] for text, _, _ in STRANGE])
def test_the_error_names_the_call_where_that_can_be_told(text: str, code: int, ident: object) -> None:
    found = refusal_of(text)
    assert found is not None
    assert (found.id, found.error.code) == (ident, code)
    found.model_dump_json()


@given(st.text() | st.text(alphabet='{}[]",:\\id0 '))
def test_any_line_is_a_message_or_answered(line: str) -> None:
    found = refusal_of(line)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        assert found is not None
    id_in(line)


def test_an_id_is_looked_for_in_time_that_grows_with_the_line() -> None:
    for line in ('{"a":"' + '\\"' * 500_000, "[" * 1_000_000, '"' * 1_000_001):
        assert id_in(line) is None


async def test_a_line_that_is_too_long_is_answered_and_blank_ones_and_the_end_are_not() -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    lines = Lines(io.BytesIO(b"\n \r\n" + b'{"id":3,' + b"x" * (2 * LONGEST + 5) + b"\n" + ping))
    said: list[JSONRPCError] = []

    async def answer(refused: JSONRPCError) -> None:
        said.append(refused)

    lines.answered_by(answer)
    assert [line async for line in lines] == [ping.decode()]
    assert [(one.id, one.error.code) for one in said] == [(3, INVALID)]


def test_the_place_where_the_sdk_takes_stdin_is_where_we_look_for_it() -> None:
    from mcp.server import stdio  # noqa: PLC0415  its private names, which a newer one may have moved

    assert {"_claim_fd", "_open_stdin_diversion"} <= vars(stdio).keys()
    assert sys.stdin is not None
