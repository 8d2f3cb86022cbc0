"""A skill that somebody added to the folder is carried out as an instruction when its trigger comes, within its own limits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store.connection import Db
from tests.agent.instructions.scripted import finish, step
from tests.shared.agent.inside import drained, sent
from tests.shared.fakes.llm_server import serving
from tests.workshop import CountedIds, Json, answer, bench, benchmark, case, config_in, minion, opened, save

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
    assert "start no skill" in found[4][2]
    assert len(heard) == 2
    told = json.loads(heard[0])["messages"][-1]["content"]
    said = told if isinstance(told, str) else json.dumps(told)
    assert "Look at the benchmark-run, run it once more" in said
    assert "benchmark-run-recorded that started this skill" in said


async def test_it_ends_with_its_own_limit_of_steps(tmp_path: Path) -> None:
    found, heard = await lived(tmp_path, steps=2, script=[step("list-records", type="benchmark")] * 9)
    assert [(kind, state) for kind, state, _ in found][-1] == ("skill-due", "dead")
    assert "not finished after 3 steps" in found[-1][2]
    assert len(heard) == 2


ANSWERING = """---
name: {name}
description: Answers {trigger}.
metadata:
  triggers: {trigger}
---

{says}
"""
CASES = ("c", "wrong")
BASE: Json = {"benchmarkId": "b", "judge": "heuristic"}
COMPARE: Json = {"benchmarkId": "b", "promptVersionA": "v1", "promptVersionB": "v2"}
TEN: tuple[tuple[str, str, Json, str, Json], ...] = (
    ("run-test-case", "run-test-case", {"testCaseId": "c"}, "detect-trend", {"benchmarkId": "b"}),
    ("run-benchmark", "run-benchmark", BASE, "run-test-case", {"testCaseId": "wrong"}),
    ("benchmark-run-recorded", "run-benchmark", BASE, "run-benchmark", BASE),
    ("test-run-recorded", "run-test-case", {"testCaseId": "c"}, "run-test-case", {"testCaseId": "wrong"}),
    ("test-run-recorded", "run-test-case", {"testCaseId": "wrong"}, "run-test-case", {"testCaseId": "c"}),
    ("detect-trend", "detect-trend", {"benchmarkId": "b"}, "run-benchmark", BASE),
    ("compare-prompts", "compare-prompts", COMPARE, "run-benchmark", BASE),
    ("classify-failure", "classify-failure", {"runId": "seeded"}, "run-test-case", {"testCaseId": "wrong"}),
    ("agent-run-completed", "agent-run-completed", {"agentRunId": "c/v1"}, "run-benchmark", BASE),
    ("create-test-case", "create-test-case", {"promptId": "p", "name": "new", "input": {"q": "new"}}, "run-benchmark", BASE),
)  # fmt: skip
"""Trigger, the message that is sent with its payload, the step that the skill says, with its arguments."""


async def _seeded(engine: Engine) -> None:
    """Two cases with outputs of two versions, of which one fails, and a run of their benchmark."""
    await save(
        engine,
        [case(name, expectedOutputs={"output": "good"}, promptVersionRef="v1") for name in CASES],
        benchmark("b", *CASES),
        [minion(f"v{n}", "prompt-version", content="Say.", versionNumber=n, promptId="p") for n in (1, 2)],
        [
            answer(f"{name}/v{n}", name, "good" if name == "c" else "bad", promptVersionRef=f"v{n}")
            for n in (1, 2)
            for name in CASES
        ],
    )
    await bench(engine, "b", judge="heuristic", key="seeded")


@pytest.mark.parametrize(("trigger", "kind", "payload", "verb", "arguments"), TEN)
async def test_a_skill_of_ones_own_does_on_its_trigger_what_it_says(
    tmp_path: Path, trigger: str, kind: str, payload: Json, verb: str, arguments: Json
) -> None:
    skills = tmp_path / "skills"
    shutil.copytree(shipped_folder("skills"), skills)
    (skills / "answering").mkdir()
    says = f"Send {verb} with {json.dumps(arguments)}, then say what came of it."
    (skills / "answering" / "SKILL.md").write_text(ANSWERING.format(name="answering", trigger=trigger, says=says))
    async with serving() as server:
        server.heard, server.scripted = [], [step(verb, "so the skill says", **arguments), finish(f"{verb} was sent.")]
        config = config_in(tmp_path, model_url=server.url)
        async with opened(config) as engine:
            await _seeded(engine)
            await drained(engine)
        async with opened(replace(config, skills=skills)) as engine:
            engine.new_id = CountedIds(100)
            await sent(engine, "m", kind, **payload)
            await drained(engine)
            rows = await engine.store.read(
                lambda db: db.execute(
                    "SELECT id, type, state, coalesce(result, reason) FROM inbox ORDER BY seq"
                ).fetchall()
            )
    due = [row for row in rows if row[1] == "skill-due"]
    steps = [row for row in rows if row[0].startswith("step:")]
    assert [(state, f"{verb} was sent." in result) for _, _, state, result in due] == [("done", True)], rows
    assert [(made, state) for _, made, state, _ in steps] == [(verb, "done")], rows
    assert says in json.loads(server.heard[0])["messages"][-1]["content"]
