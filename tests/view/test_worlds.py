"""The page of a case that acted on a world says of each call who answered it and what was done to the agent."""

from __future__ import annotations

import re
from pathlib import Path

from tests.shared.view.visitor import visitor
from tests.shared.world.shown import run_in_world
from tests.workshop import Json, answer, bench, benchmark, case, config_in, opened, save

PILL = re.compile(r'<span class="pill(?: bad| warn)?">([^<]*)</span>')
STEP = re.compile(r'<article id="step-(\d+)".*?</article>', re.DOTALL)


async def test_the_trajectory_shows_what_was_replayed_mocked_faulted_attacked_and_missed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        await run_in_world(engine, tmp_path)
        page = (await client.get("/case?run=job1&at=0.1")).text
        beside = (await client.get("/trajectory?run=job1&at=0.1")).text
    marks = {found[1]: PILL.findall(found[0]) for found in STEP.finditer(page)}
    assert marks == {
        "1": ["replayed", "attacked"], "2": ["mocked", "attacked"], "3": ["fault: tool error"], "4": ["mocked", "attacked"],
        "5": ["missed", "⚑ suspected"], "6": ["not a tool of the world"],
    }  # fmt: skip
    assert "World: desk/world" in page
    assert "tool-error at call 3 (refund): recovered" in page
    assert "attack override-en-1: not hijacked" in page
    assert "missed: no call of read_policy with these arguments was recorded" in page
    assert "INSERT INTO &#34;refunds&#34;" in page
    assert "<b>parcels</b>" not in page
    assert PILL.findall(beside).count("attacked") == 3


async def test_what_an_agent_logs_of_itself_is_not_taken_for_the_word_of_a_world(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        call: Json = {"tool": "t", "arguments": {}, "result": 1, "extra": {"answeredBy": "tape", "attacked": "x"}}
        await save(engine, case("c", name="c", expectedOutputs={"output": "good"}), benchmark("b", "c"))
        await save(engine, answer("a", "c", "good", promptVersionRef="v@1", toolCallsLog=[call]))
        await bench(engine, "b", prompt_version_ref="v@1", key="own")
        page = (await client.get("/case?run=job1&at=0.1")).text
    assert "replayed" not in page
    assert "World:" not in page
