"""Fuzzes a real server process over its wires: python -m tests.bench.fuzz.wire [calls] [seed] [wire …].

The wires are stdio-2025, stdio-2026, http-2025 and http-2026; without any, the calls are shared out among the four. Calls are drawn as
by `tools.py`, and every sixth is spoiled on the wire: half characters, deep nesting, what is no JSON, what is no request. Oracles
beside those of `tools.py`: every line and request is answered, and none costs over 1 s of CPU of the server and its workers.
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import httpx2
from pydantic import JsonValue

from tests.bench.fuzz.tools import Drawer, evil_values, oracles
from tests.shared.server.hosts import suite
from tests.shared.server.wire import COMMAND, environment

WIRES = ("stdio-2025", "stdio-2026", "http-2025", "http-2026")
MOST_CPU_S = 5.0
"""The first call imports what it needs, under coverage at twice the cost; what grows without bound takes far more."""
PATIENCE_S = 60.0
NEW = "2026-07-28"
META: dict[str, JsonValue] = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
JUNK = (
    b"hello",
    b"{",
    b"\x00\x01\xff\xfe",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"[" * 400,
    b"\xed\xa0\x80",
    b"{}" * 50,
    b"\xef\xbb\xbf{}",
)
Json = dict[str, JsonValue]


@dataclass
class Found:
    """What the calls came to; `faults` are what must not be."""

    calls: int = 0
    errors: int = 0
    unanswered: int = 0
    most_cpu_s: float = 0.0
    dearest: str = ""
    faults: list[str] = field(default_factory=list[str])


class Wire(Protocol):
    """A way to a server process."""

    pid: int

    def send(self, line: bytes, ident: int) -> str | None:
        """The answer to those bytes, which may be an error without an id; None where none came."""
        ...


@dataclass
class Stdio:
    """The process's own streams."""

    process: subprocess.Popen[bytes]
    pid: int
    rest: bytes = b""

    def send(self, line: bytes, ident: int) -> str | None:
        """The first line that answers."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        for answer in self._lines():
            message = json.loads(answer)
            if message.get("id") == ident or ("error" in message and message.get("id") is None):
                return answer.decode()
        return None

    def _lines(self) -> Iterator[bytes]:
        assert self.process.stdout is not None
        until = time.monotonic() + PATIENCE_S
        while select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                return
            *whole, self.rest = (self.rest + part).split(b"\n")
            yield from whole


@dataclass
class Http:
    """Requests to the process's address."""

    client: httpx2.Client
    url: str
    pid: int
    headers: dict[str, str]

    def send(self, line: bytes, ident: int) -> str | None:
        """The body of the reply, of a stream the event that answers."""
        named = (
            _named(line)
            if "mcp-protocol-version" in self.headers and self.headers["mcp-protocol-version"] == NEW
            else {}
        )
        try:
            reply = self.client.post(self.url, content=line, headers={**self.headers, **named})
        except httpx2.HTTPError:
            return None
        if not reply.headers.get("content-type", "").startswith("text/event-stream"):
            return reply.text or f"HTTP {reply.status_code}"
        events = [one.removeprefix("data:").strip() for one in reply.text.splitlines() if one.startswith("data:")]
        return next((one for one in events if one and json.loads(one).get("id") in {ident, None}), None)


def _named(line: bytes) -> dict[str, str]:
    """The headers that a host of the new era repeats its request's method and tool in."""
    try:
        message = json.loads(line)
        found = {"mcp-method": str(message["method"]), "mcp-name": str(message["params"].get("name", ""))}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found = {"mcp-method": "tools/call", "mcp-name": "get_record"}
    return {name: value for name, value in found.items() if value and value.isascii() and value.isprintable()}


@contextmanager
def started(wire: str, folder: Path) -> Generator[Wire]:
    """A server process on a store of its own, with a suite and a run in it."""
    command = [*COMMAND, *(("--http", "127.0.0.1:0") if wire.startswith("http") else ())]
    with (folder / "stderr").open("w+b") as log, subprocess.Popen(
        command, env=environment(folder), stdin=-1, stdout=-1, stderr=log
    ) as process:  # fmt: skip
        try:
            if wire.startswith("stdio"):
                yield Stdio(process, process.pid)
            else:
                yield from _over_http(wire, process, folder / "stderr")
        finally:
            process.kill()


def _over_http(wire: str, process: subprocess.Popen[bytes], log: Path) -> Generator[Wire]:
    while b"\n" not in log.read_bytes():
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    url = json.loads(log.read_bytes().partition(b"\n")[0])["url"]
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    with httpx2.Client(timeout=PATIENCE_S) as client:
        if wire == "http-2026":
            yield Http(client, url, process.pid, {**headers, "mcp-protocol-version": NEW})
            return
        opened = client.post(url, content=_hello(), headers=headers)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        yield Http(client, url, process.pid, {**headers, **session})


def _hello() -> bytes:
    params: Json = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "0"}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()


def _request(ident: int, method: str, params: Json, *, new: bool) -> bytes:
    given = {**params, "_meta": META} if new else params
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": given}).encode()


def spoilt(line: bytes, draw: random.Random) -> bytes:
    """The request as no host should send it; it still names its id, or none."""
    match draw.randrange(6):
        case 0:
            return draw.choice(JUNK)
        case 1:
            return line[: draw.randrange(1, len(line))]
        case 2:
            return line.replace(b'"arguments": {', b'"arguments": {"more": "\\ud800 \\udfff", ', 1)
        case 3:
            depth = draw.choice([150, 400, 5000, 60_000])
            return line.replace(b'"arguments": {', b'"arguments": {"more": ' + b"[" * depth + b"]" * depth + b", ", 1)
        case 4:
            return line.replace(
                b'"id": ', draw.choice([b'"id": {}, "x": ', b'"id": 0.5, "x": ', b'"id": null, "x": ']), 1
            )
        case _:
            return line.replace(b'"2.0"', draw.choice([b'"1.0"', b"2.0", b"null", b'"2.0", "jsonrpc": "3"']), 1)


def fuzz(calls: int, seed: int, wire: str, folder: Path) -> Found:
    """So many calls over one wire."""
    draw = random.Random(f"{wire}{seed}")  # noqa: S311  chooses arguments, guards nothing
    secret = folder / "secret.txt"
    secret.write_text("planted-secret-7f3a")
    drawer, found, new = Drawer(draw, evil_values(secret)), Found(), wire.endswith("2026")
    with started(wire, folder) as server:
        if wire == "stdio-2025":
            assert server.send(_hello(), 0)
        tools = _tools(server, new=new)
        for number in range(calls):
            tool = tools[number % len(tools)]
            arguments = drawer.arguments(cast("dict[str, Any]", tool["inputSchema"]))
            line = _request(number + 10, "tools/call", {"name": str(tool["name"]), "arguments": arguments}, new=new)
            _one(server, spoilt(line, draw) if draw.random() < 1 / 6 else line, number + 10, found)
    return found


def _tools(server: Wire, *, new: bool) -> list[Json]:
    """The tools, once there is a suite with a run for them to find."""
    for ident, (name, arguments) in enumerate(
        (
            ("save_records", {"records": suite(3)}),
            ("run_benchmark", {"benchmarkId": "b", "idempotencyKey": "k", "waitSeconds": 10}),
        ),
        1,
    ):
        given = cast("Json", {"name": name, "arguments": arguments})
        assert server.send(_request(ident, "tools/call", given, new=new), ident)
    listed = server.send(_request(3, "tools/list", {}, new=new), 3)
    assert listed is not None
    return json.loads(listed)["result"]["tools"]


def _one(server: Wire, line: bytes, ident: int, found: Found) -> None:
    before = cpu_s(server.pid)
    answer = server.send(line, ident)
    spent = cpu_s(server.pid) - before
    found.calls += 1
    shown = repr(line[:500])
    if answer is None:
        found.unanswered += 1
        found.faults.append(f"unanswered: {shown}")
        return
    found.errors += '"error"' in answer or '"isError":true' in answer
    if spent > found.most_cpu_s:
        found.most_cpu_s, found.dearest = spent, shown
    if spent > MOST_CPU_S:
        found.faults.append(f"{spent:.2f} s of CPU: {shown}")
    found.faults += [f"{why}: {shown}: {answer[:300]}" for why in oracles(answer, 0)]


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process, its threads and its living children have used."""
    try:
        used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [
            one for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
        ]
    except OSError:  # it ended meanwhile
        return 0.0
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK") + sum(cpu_s(int(child)) for child in children)


def main() -> None:
    """Prints what was found on each wire; exit 1 where anything was."""
    numbers = [int(one) for one in sys.argv[1:3]]
    calls, seed = (*numbers, *(10_000, 1)[len(numbers) :])
    wires = sys.argv[3:] or WIRES
    faults = 0
    for wire in wires:
        with tempfile.TemporaryDirectory() as folder:
            found = fuzz(calls // len(wires), seed, wire, Path(folder))
        faults += len(found.faults)
        sys.stdout.write(
            f"{wire}: {found.calls} calls, {found.errors} refused, {found.unanswered} unanswered, at most {found.most_cpu_s:.2f} s"
            f" of CPU ({found.dearest[:100]})\n" + "".join(f"  {one}\n" for one in found.faults[:20])
        )
        sys.stdout.flush()
    sys.stdout.write(f"{faults} faults\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
