"""What a case of the HTML report tells once it is opened; where there is no Chromium these tests are skipped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from tests.report.chromium import CHROMIUM, chromium
from tests.report.hostile import hostile_runs, written
from tests.workshop import answer, bench, benchmark, case, rubric, save, says

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def opened(folder: Path, text: str) -> tuple[str, str]:
    """The list of cases with all of them open, and what the browser complained about."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    page, log = chromium(folder, "--virtual-time-budget=3000", "--dump-dom", file.as_uri() + "#open")
    cases = page.split('<ol id="cases">')[1].split("</ol>")[0]
    return cases, "\n".join(line for line in log.splitlines() if "CONSOLE" in line)


async def test_what_cannot_be_seen_is_spelled_out_where_it_is_shown(engine: Engine, tmp_path: Path) -> None:
    await hostile_runs(engine)
    cases, complaints = opened(tmp_path, await written(engine, ".html", "two", compare="one"))
    assert complaints == ""
    assert "abc⟨U+202E⟩txt.exe⟨U+202C⟩" in cases
    assert "⟨U+001B⟩[2J" in cases
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e\u2066-\u2069]", cases)


async def test_an_opened_case_tells_all_that_is_known_of_it(engine: Engine, tmp_path: Path) -> None:
    await save(engine, rubric("r", 1, tone={**says("good"), "name": "Tone", "maxScore": 4}))
    await save(engine, case("c", name="Case", rubricId="r"), benchmark("b", "c"))
    for version, said in (("v", "a good answer, at last"), ("w", "a bad answer, at last")):
        log: JsonValue = [{"tool": "look", "result": version}]
        await save(engine, answer(version, "c", said, promptVersionRef=version, toolCallsLog=log))
        await bench(engine, "b", prompt_version_ref=version, key=version)
    cases, complaints = opened(tmp_path, await written(engine, ".html", "w", compare="v"))
    assert complaints == ""
    text = " ".join(re.sub("<[^>]*>", " ", cases).split())
    for told in (
        "✗ failed, newly failing Case score: 1.00 → 0.00 Tone: 0 of 4", "c · newly failing: 1.00 → 0.00", "Input: q c",
        "before: v a good answer, at last 4 of 4 points", "after: w a bad answer, at last 0 of 4 points · regression: FAILED",
        "(heuristic, confidence 1)", "Cause: wrong-output, critical", "Tool call 1", '"result": "w"',
    ):  # fmt: skip
        assert told in text
    assert "<del>good</del>" in cases
    assert "<ins>bad</ins>" in cases
