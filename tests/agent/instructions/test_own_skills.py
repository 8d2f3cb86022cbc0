"""A skill that somebody added to the folder is carried out as an instruction when its trigger comes, within its own limits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store.connection import Db
from tests.agent.instructions.scripted import finish, step
from tests.shared.agent.inside import drained, sent
from tests.shared.fakes.llm_server import serving
from tests.workshop import answer, benchmark, case, config_in, opened, save

SKILL = """---
name: tidy-up
description: Looks at what a benchmark came to.
metadata:
  triggers: benchmark-run-recorded
  maxSteps: {steps}
---

Look at the benchmark-run, run it once more, and say what it came to.
"""


def messages(db: Db) -> list[tuple[str, str, str]]:
    """Type, state and result of the messages about benchmark-runs."""
    return db.execute(
        "SELECT type, state, coalesce(result, reason) FROM inbox"
        " WHERE type IN ('benchmark-run-recorded', 'run-benchmark', 'skill-due') ORDER BY seq"
    ).fetchall()


async def lived(folder: Path, *, steps: int, script: list[str]) -> tuple[list[tuple[str, str, str]], list[bytes]]:
    """What the agent's messages came to, and what the model was told, with that skill in the folder."""
    skills = folder / "skills"
    shutil.copytree(shipped_folder("skills"), skills)
    (skills / "tidy-up").mkdir()
    (skills / "tidy-up" / "SKILL.md").write_text(SKILL.format(steps=steps))
    async with serving() as server:
        server.heard, server.scripted = [], script
        config = replace(config_in(folder, model_url=server.url), skills=skills)
        async with opened(config) as engine:
            await save(
                engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"), benchmark("b", "c")
            )
            await sent(engine, "m", "run-benchmark", benchmarkId="b", judge="heuristic")
            await drained(engine)
            return await engine.store.read(messages), server.heard


async def test_it_takes_its_steps_and_what_they_set_off_does_not_start_it_again(tmp_path: Path) -> None:
    script = [step("run-benchmark", benchmarkId="b", judge="heuristic"), finish("All is well."), finish("never asked")]
    found, heard = await lived(tmp_path, steps=3, script=script)
    assert [(kind, state) for kind, state, _ in found] == [
        ("run-benchmark", "done"), ("benchmark-run-recorded", "done"), ("skill-due", "done"), ("run-benchmark", "done"),
        ("benchmark-run-recorded", "done"),
    ]  # fmt: skip
    assert "All is well." in found[2][2]
    assert "starts no skill" in found[4][2]
    assert len(heard) == 2
    told = json.loads(heard[0])["messages"][-1]["content"]
    said = told if isinstance(told, str) else json.dumps(told)
    assert "Look at the benchmark-run, run it once more" in said
    assert "benchmark-run-recorded that started this skill" in said


async def test_it_ends_with_its_own_limit_of_steps(tmp_path: Path) -> None:
    found, heard = await lived(tmp_path, steps=2, script=[step("list-records", type="benchmark")] * 9)
    assert [(kind, state) for kind, state, _ in found][-1] == ("skill-due", "dead")
    assert "not carried out after 3 steps" in found[-1][2]
    assert len(heard) == 2
