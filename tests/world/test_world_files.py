"""An output is used again only where every file that its world is read from says what it said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.run.world_files import files_digest
from minions_evals_mcp.world.calls import tool_result
from minions_evals_mcp.world.units import UnitInWorld
from tests.workshop import Json, bench, benchmark, benchmark_run, case, minion, save

SERVERS: Json = {
    "desk": {"tools": [{"name": "total", "rules": [{"select": "SELECT total FROM orders", "when": "rows", "result": "{{rows[0]}}"}]}]},
    "policy": {"mode": "replay", "tape": "policy.jsonl"},
}  # fmt: skip
NAMED = ("orders.sql", "policy.jsonl", "desk/notes/a.txt")


def act(q: str, world: UnitInWorld) -> str:
    """The total of the order."""
    return f"{q} {world.call('total')}"


def write(folder: Path, total: int) -> None:
    """Every file that the world names, about that total."""
    head: Json = {"tape": 1, "server": "policy", "tools": []}
    call: Json = {"tool": "read", "arguments": {}, "result": tool_result(str(total))}
    texts = (
        f"CREATE TABLE orders(total); INSERT INTO orders VALUES ({total});",
        f"{canonical(head)}\n{canonical(call)}\n",
        str(total),
    )
    for name, text in zip(NAMED, texts, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


WORLD: Json = {"name": "W", "servers": SERVERS, "database": {"file": "orders.sql"}, "folder": {"source": "desk"}}


async def test_an_output_is_made_anew_where_a_file_of_its_world_was_edited(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path, 40)
    engine.config = replace(engine.config, world_folder=tmp_path)
    one = case("x", inputs={"q": "total"}, world="w", expectedOutputs={"output": "*total*"})
    await save(engine, minion("w", "world", **WORLD), one, benchmark("b", "x"))
    target = "python:tests.world.test_world_files:act"
    notes: list[str] = []
    for total in (40, 40, 55):
        write(tmp_path, total)
        notes.append((await benchmark_run(engine, await bench(engine, "b", target=target, cache=True))).notes)
    assert ["cached" in note for note in notes] == [False, True, False], notes


@pytest.mark.parametrize("edited", NAMED)
def test_every_file_that_a_world_names_counts(tmp_path: Path, edited: str) -> None:
    world = World.model_validate(WORLD)
    write(tmp_path, 40)
    before = files_digest(world, tmp_path)
    assert files_digest(world, tmp_path) == before
    (tmp_path / edited).write_text("another", "utf-8")
    assert files_digest(world, tmp_path) != before


def test_the_code_of_a_real_server_counts_and_a_tape_that_is_being_recorded_does_not(tmp_path: Path) -> None:
    world = World.model_validate(
        {"name": "W", "servers": {"s": {"mode": "record", "tape": "t.jsonl", "run": ["python", "server.py"]}}}
    )
    (tmp_path / "server.py").write_text("1", "utf-8")
    first = files_digest(world, tmp_path)
    (tmp_path / "t.jsonl").write_text("recorded", "utf-8")
    assert files_digest(world, tmp_path) == first
    (tmp_path / "server.py").write_text("22", "utf-8")
    assert files_digest(world, tmp_path) != first
