"""No tool call, message or record can name code, a command, an address or a file: tried through every argument and field."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.records import IMPORTABLE
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.edge.schemas import schema_of
from minions_evals_mcp.server.resources.schema import field_definitions
from tests.hang import HANG_S
from tests.shared.server.hosts import Host, hosted, judged, suite
from tests.workshop import Json, config_in

SECRET = "planted-secret-2b9c"
FITTING: Json = {
    "testCaseId": "c0", "benchmarkId": "b", "runId": "k", "versionA": "p@1", "versionB": "p@2", "promptVersionRef": "p@1",
    "id": "c0", "branchIds": ["one", "two"], "decidedBy": "ide", "judgedBy": "ide", "type": "test-case", "cursor": "0",
    "packets": [judged({"digest": "d", "criterionIds": ["r"]})], "records": suite(1), "payload": {"benchmarkId": "b"},
}  # fmt: skip
"""What a tool takes where nothing is planted."""
RECORD: Json = {
    "name": "n", "title": "t", "inputs": {"q": "c0"}, "outputs": {"output": "good"}, "agentId": "agent", "testCaseId": "c0",
    "testCaseIds": ["c0"], "rubricId": "r", "criteriaIds": [], "promptId": "p", "versionNumber": 1, "content": "Say {{q}}",
    "description": "d", "maxScore": 5, "provider": "anthropic", "model": "fake",
}  # fmt: skip
CHECKS = (
    "equals",
    "contains",
    "regex",
    "is-json",
    "contains-json",
    "is-xml",
    "python",
    "javascript",
    "similar",
    "trajectory:match",
    "is-html",
    "is-sql",
    "llm-rubric",
)


@dataclass(frozen=True, slots=True)
class Snare:
    """A folder with a secret in it, and a door that nobody has a reason to knock at."""

    folder: Path
    door: socket.socket

    def was_called(self) -> bool:
        """Whether somebody knocked."""
        try:
            self.door.accept()
        except BlockingIOError:
            return False
        return True


def planted(snare: Snare) -> list[JsonValue]:
    """Values that would show: by the file that they leave, the secret that they read, or the door that they knock at."""
    secret, mark = snare.folder / "secret.txt", snare.folder / "mark"
    touch = f"touch {mark}"
    address = f"http://127.0.0.1:{snare.door.getsockname()[1]}/x.json"
    return [
        f"file://{secret}", str(secret), f"@{secret}", f"command:{touch}", f"exec:{touch}", f"$({touch})", f"`{touch}`; {touch}",
        f"python:{secret}:main", "python:os:system", f"__import__('os').system('{touch}')",
        f"open('{secret}').read()", f"require('fs').writeFileSync('{mark}', '')", {"$ref": f"file://{secret}"},
        f"{{{{ ''.__class__.__mro__[1].__subclasses__() }}}}{{% include '{secret}' %}}",
        f"!!python/object/apply:os.system ['{touch}']", f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]><x>&e;</x>',
        address, f"http:{address}", {"$ref": address}, {"$schema": address}, f"fetch('{address}')",
    ]  # fmt: skip


def places(node: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every argument, and to every one inside another."""
    for name, inner in cast("dict[str, Json]", node.get("properties", {})).items():
        yield (*path, name)
        yield from places(cast("Json", inner.get("items", inner)), (*path, name))


def with_planted(asked: Json, path: tuple[str, ...], value: JsonValue) -> Json:
    """The arguments with the value at that place, in a list where one stands there."""
    first, *rest = path
    inner = asked.get(first)
    if rest:
        kept = inner[0] if isinstance(inner, list) and inner else inner
        below = with_planted(kept if isinstance(kept, dict) else {}, tuple(rest), value)
        return {**asked, first: [below] if isinstance(inner, list) else below}
    return {**asked, first: [value] if isinstance(inner, list) else value}


async def _nothing_shows(host: Host, tool: str, asked: Json, snare: Snare) -> None:
    with anyio.fail_after(HANG_S):
        found = await host.raw(tool, **asked)
    said = found.model_dump_json()
    assert SECRET not in said, (tool, asked)
    assert "internal-error" not in said, (tool, asked)
    assert not (snare.folder / "mark").exists(), (tool, asked)
    assert not snare.was_called(), (tool, asked)


@cache
def _required(tool: str) -> Json:
    schema = schema_of(CATALOGUE[tool].arguments)
    return {name: FITTING[name] for name in cast("list[str]", schema.get("required", [])) if name in FITTING}


@pytest.fixture
def snare(tmp_path: Path) -> Iterator[Snare]:
    """What a call that runs or reads what it names is caught by."""
    (tmp_path / "secret.txt").write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        yield Snare(tmp_path, door)


@pytest.mark.parametrize("tool", CATALOGUE)
async def test_no_argument_of_a_tool_runs_or_reads_what_it_names(snare: Snare, tool: str) -> None:
    schema = schema_of(CATALOGUE[tool].arguments)
    async with hosted(config_in(snare.folder)) as host:
        await host.call("save_records", records=suite(1))
        await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k", waitSeconds=50)
        ways = [way for way in places(schema) if way[-1] not in {"waitSeconds", "dryRun"}]
        for way in ways:
            for value in planted(snare):
                await _nothing_shows(host, tool, with_planted(_required(tool), way, value), snare)


@pytest.mark.parametrize("kind", IMPORTABLE)
async def test_no_field_of_a_record_runs_or_reads_what_it_names(snare: Snare, kind: str) -> None:
    names = [field.name for field in field_definitions(kind)]
    fields: Json = {name: RECORD[name] for name in names if name in RECORD}
    async with hosted(config_in(snare.folder)) as host:
        await host.call("save_records", records=suite(1))
        for name in names:
            for number, value in enumerate(planted(snare)):
                record: Json = {"id": f"{name}/{number}", "type": kind, "fields": with_planted(fields, (name,), value)}
                await _nothing_shows(host, "save_records", {"records": [record]}, snare)
        await _nothing_shows(host, "list_records", {"type": kind, "detail": "full"}, snare)
        await _nothing_shows(host, "run_benchmark", {"benchmarkId": "b", "waitSeconds": 50}, snare)


@pytest.mark.parametrize("check", CHECKS)
async def test_no_check_runs_or_reads_what_its_value_names(snare: Snare, check: str) -> None:
    """Snippets of Python and JavaScript do run: in the sandbox, which has no files, processes or network."""
    rows: list[JsonValue] = [
        {"id": str(number), "output": "good", "assert": [{"type": check, "value": value}]}
        for number, value in enumerate(planted(snare))
    ]
    async with hosted(config_in(snare.folder)) as host:
        await _nothing_shows(host, "score_outputs", {"rows": rows, "detail": "full"}, snare)
        for number, row in enumerate(rows):
            asserted: Json = {"name": "n", "inputs": {"q": "c0"}, "assertions": cast("Json", row)["assert"]}
            case: Json = {"id": f"case/{number}", "type": "test-case", "fields": asserted}
            await _nothing_shows(host, "save_records", {"records": [*suite(1)[1:2], case]}, snare)
            await _nothing_shows(host, "run_test_case", {"testCaseId": f"case/{number}", "waitSeconds": 50}, snare)


def _messages() -> list[str]:
    schema = schema_of(CATALOGUE["send_message"].arguments)
    properties = cast("dict[str, Any]", schema["properties"])
    return properties["type"]["enum"]


@pytest.mark.parametrize("kind", _messages())
async def test_no_message_runs_or_reads_what_its_payload_names(snare: Snare, kind: str) -> None:
    async with hosted(config_in(snare.folder)) as host:
        await host.call("save_records", records=suite(1))
        for name in (*FITTING, "target", "judge", "instruction", "agentRun", "outputs", "skill", "text"):
            for value in planted(snare):
                payload: Json = {"benchmarkId": "b", name: value}
                await _nothing_shows(host, "send_message", {"type": kind, "payload": payload}, snare)
