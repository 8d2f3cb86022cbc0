"""What a case of the HTML report tells once it is opened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from tests.shared.browser.driver import Tab
from tests.shared.report.hostile import hostile_runs, written
from tests.workshop import answer, bench, benchmark, case, rubric, save, says


def opened(at: Tab, folder: Path, text: str) -> str:
    """The list of cases with all of them open, about which the browser has no complaint."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    at.go(f"{file.as_uri()}#open")
    found = cast("str", at.ask_page("document.getElementById('cases').innerHTML"))
    assert at.complaints() == []
    return found


async def test_what_cannot_be_seen_is_spelled_out_where_it_is_shown(at: Tab, engine: Engine, tmp_path: Path) -> None:
    await hostile_runs(engine)
    cases = opened(at, tmp_path, await written(engine, ".html", "two", compare="one"))
    assert "abc⟨U+202E⟩txt.exe⟨U+202C⟩" in cases
    assert "⟨U+001B⟩[2J" in cases
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069]", cases)


async def test_an_opened_case_tells_all_that_is_known_of_it(at: Tab, engine: Engine, tmp_path: Path) -> None:
    await save(engine, rubric("r", 1, tone={**says("good"), "name": "Tone", "maxScore": 4}))
    await save(engine, case("c", name="Case", rubricId="r"), benchmark("b", "c"))
    for version, said in (("v", "a good answer, at last"), ("w", "a bad answer, at last")):
        log: JsonValue = [{"tool": "look", "result": version}]
        await save(engine, answer(version, "c", said, promptVersionRef=version, toolCallsLog=log))
        await bench(engine, "b", prompt_version_ref=version, key=version)
    cases = opened(at, tmp_path, await written(engine, ".html", "w", compare="v"))
    text = " ".join(re.sub("<[^>]*>", " ", cases).split())
    for told in (
        "✗ failed, newly failing Case score: 1.00 → 0.00 Tone: 0 of 4", "c · newly failing: 1.00 → 0.00", "Input: q c",
        "before: v a good answer, at last 4 of 4 points", "after: w a bad answer, at last 0 of 4 points · regression: FAILED",
        "(heuristic, confidence 1)", "Cause: wrong-output, critical", "Tool call 1", '"result": "w"',
    ):  # fmt: skip
        assert told in text
    assert "<del>good</del>" in cases
    assert "<ins>bad</ins>" in cases
