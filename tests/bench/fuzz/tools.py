"""Fuzzes every tool from its own schema: python -m tests.bench.fuzz.tools [calls] [seed].

Arguments are drawn from the published input schema, then spoiled: wrong types, sizes, Unicode, nesting, huge numbers, unknown names,
paths and code. Oracles: no crash inside, no text of a traceback, no planted secret, no call over 1 s, no answer over the cap.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import Tool
from pydantic import JsonValue

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.server.hosts import read_by_people, suite
from tests.workshop import config_in, opened

SECRET = "planted-secret-7f3a"
CAP = 40_000
SLOW_S = 1.0
Schema = dict[str, Any]
FITTING = {
    "testCaseId": ("c0", "c1"), "benchmarkId": ("b",), "runId": ("k",), "id": ("c0", "a-c0", "r", "k"), "cursor": ("0", "7"),
    "agentRunId": ("a-c0",), "target": ("anthropic:fake",), "fields": ("state", "title", "inputs"), "versionA": ("p@1",),
    "compareRunId": ("k",), "columns": ("other", "column"), "digest": ("d",), "packet": ("d",), "rejudgeRunId": ("k",),
}  # fmt: skip
KINDS = (
    "equals", "contains", "regex", "is-json", "contains-json", "is-xml", "is-html", "is-sql", "levenshtein", "rouge-n", "bleu",
    "word-count", "python", "javascript", "llm-rubric", "similar", "not-contains", "assert-set", "select-best",
)  # fmt: skip
"""Values under which the tools find something."""


@dataclass
class Found:
    """What the calls came to; `faults` are what must not be."""

    calls: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    faults: list[str] = field(default_factory=list[str])
    by_tool: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Drawer:
    """Values after a schema, most of them fitting, some spoiled."""

    draw: random.Random
    evil: list[Any]
    spoiled: float = 0.0

    def arguments(self, schema: Schema) -> dict[str, JsonValue]:
        """Arguments for a tool: half of the calls fit their schema, the others are spoiled more or less."""
        self.spoiled = self.draw.choice([0.0, 0.0, 0.05, 0.3])
        required = set(schema.get("required", ()))
        found = {
            name: self.value(node, name)
            for name, node in schema["properties"].items()
            if name in required or self.draw.random() < 0.3
        }
        if self.draw.random() < self.spoiled:
            found[self.draw.choice(["__proto__", "run_id", "", "x" * 500, "self", "ctx"])] = self.draw.choice(self.evil)
        found.pop("waitSeconds", None)  # no call is told to wait
        return found

    def value(self, node: Schema, name: str = "") -> JsonValue:
        """A value for one argument."""
        if self.draw.random() < self.spoiled:
            return self.draw.choice(self.evil)
        if "enum" in node:
            return self.draw.choice(node["enum"])
        match node.get("type"):
            case "string":
                return self.draw.choice(FITTING.get(name, ("c0", "b", "k", "nowhere")))
            case "integer" | "number":
                return self.draw.choice([node.get("minimum", 1), node.get("maximum", 9), 3 if "maximum" in node else 1])
            case "boolean":
                return self.draw.random() < 0.5
            case "array":
                return [self.value(node.get("items", {}), name) for _ in range(self.draw.choice([1, 1, 2, 5]))]
            case _:
                return self._object(node)

    def _object(self, node: Schema) -> JsonValue:
        if "properties" in node:
            return {name: self.value(one, name) for name, one in node["properties"].items() if self.draw.random() < 0.9}
        records = [*suite(2), *read_by_people(1)]
        rows: list[JsonValue] = [
            {"id": "1", "output": self.draw.choice(self.evil), "assert": [self._assertion()]},
            {"id": "2", "outputs": ["a", self.draw.choice(self.evil)], "assert": [self._assertion()]},
            {"column": self.draw.choice(self.evil), "other": 1},
        ]
        chosen = self.draw.choice([*records, *rows, {}])
        if isinstance(chosen, dict) and self.draw.random() < max(self.spoiled, 0.1):
            chosen[str(self.draw.choice([*chosen, "more"]))] = self.draw.choice(self.evil)
        return chosen

    def _assertion(self) -> JsonValue:
        return {"type": self.draw.choice(KINDS), "value": self.draw.choice(self.evil)}


def evil_values(secret: Path) -> list[Any]:
    """Values that have broken servers before."""
    deep: JsonValue = "end"
    for _ in range(120):  # deeper ones no client can write
        deep = [deep]
    return [
        None, True, -1, 10**400, 1e308, float("inf"), float("nan"), "", " ", "\0",
        "\u202e\u200b\x1b[2J", "\U0001d54f" * 500, "é" * 5000, "\ud800",
        "a" * 60_000, "' OR 1=1; DROP TABLE job; --", "{{7*7}}", "$(id)", "../../../../etc/passwd", f"file://{secret}", str(secret),
        "python:os:system", "(a+)+$", "a" * 40 + "!", "[" * 900, "null", "[]", "{}", [], {}, [[]], {"": ""}, {"__proto__": {}}, deep,
        {"$ref": f"file://{secret}"}, {"$ref": "#"}, [1] * 3000, {str(n): n for n in range(500)},
    ]  # fmt: skip


async def fuzz(calls: int, seed: int, folder: Path) -> Found:
    """So many calls against every tool in turn, in one server."""
    secret = folder / "secret.txt"
    secret.write_text(SECRET)
    found = Found()
    drawer = Drawer(random.Random(seed), evil_values(secret))  # noqa: S311  chooses arguments, guards nothing
    server = build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())
    async with Client(server) as client:
        await client.call_tool("save_records", {"records": suite(3)})
        await client.call_tool("run_benchmark", {"benchmarkId": "b", "idempotencyKey": "k", "waitSeconds": 10})
        tools = (await client.list_tools()).tools
        for number in range(calls):
            await _one(client, tools[number % len(tools)], drawer, found)
    return found


async def _one(client: Client, tool: Tool, drawer: Drawer, found: Found) -> None:
    arguments = drawer.arguments(tool.input_schema)
    said = ""
    began = time.perf_counter()
    try:
        with anyio.fail_after(30):
            result = await client.session.call_tool(tool.name, arguments)
        said = result.model_dump_json(by_alias=True)
        found.refused += bool(cast("Any", result).is_error)
    except MCPError as error:
        said = str(error)
        found.refused += 1
    except Exception as error:  # noqa: BLE001  whatever it is, it is a find
        found.faults.append(f"{tool.name}: {type(error).__name__}: {str(error)[:300]} for {str(arguments)[:600]}")
    took = time.perf_counter() - began
    found.calls += 1
    found.by_tool[tool.name] += 1
    if took > found.slowest_s:
        found.slowest_s, found.slowest = took, f"{tool.name} {str(arguments)[:300]}"
    for why in oracles(said, took):
        found.faults.append(f"{tool.name}: {why} for {str(arguments)[:600]}: {said[:300]}")


def oracles(said: str, took: float) -> list[str]:
    """What is wrong with an answer that took so long."""
    checks = {
        "a crash": "internal-error" in said,
        "a traceback": "Traceback (most" in said or 'File "/' in said,
        "the secret": SECRET in said,
        "too long an answer": len(said) > CAP,
        "too slow": took > SLOW_S,
    }
    return [name for name, holds in checks.items() if holds]


def main() -> None:
    """Prints what was found; exit 1 where anything was."""
    calls, seed = (
        (int(one) for one in (*sys.argv[1:], "10000", "1")[:2]) if len(sys.argv) != 2 else (int(sys.argv[1]), 1)
    )
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(fuzz, calls, seed, Path(folder))
    sys.stdout.write(
        f"{found.calls} calls, {found.refused} refused, slowest {found.slowest_s:.3f} s ({found.slowest[:120]})\n"
    )
    sys.stdout.write("\n".join(found.faults[:40]) + f"\n{len(found.faults)} faults\n")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
