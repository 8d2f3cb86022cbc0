"""A log of tool calls that nobody recorded is no empty log: what looks at it cannot be judged, and never fails for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.interop.score_rows import read_row
from minions_evals_mcp.store import jobs
from tests.workshop import answer, bench, benchmark, by_rule, case, config_in, opened, rubric, save

USED: JsonValue = {"type": "trajectory:tool-used", "value": "search"}
SEARCHED: JsonValue = [{"tool": "search", "arguments": {"q": "x"}}]


@pytest.mark.parametrize(
    ("log", "outcome", "passed"),
    [(None, "not-judgeable", None), ([], "scored", False), (SEARCHED, "scored", True)],
)
async def test_only_a_log_that_was_recorded_is_judged(
    tmp_path: Path, log: JsonValue, outcome: str, passed: bool | None
) -> None:
    made = {} if log is None else {"toolCallsLog": log}
    async with opened(config_in(tmp_path)) as engine:
        judged = rubric("r", 1, steps=by_rule(json.dumps([USED])))
        cases = [case("own", assertions=[USED]), case("ruled", rubricId="r")]
        runs = [answer(f"a{n}", name, "done", **made) for n, name in enumerate(("plain", "own", "ruled"))]
        plain = case("plain", assertions=[{"type": "contains", "value": "done"}])
        await save(engine, judged, [plain, *cases], runs, benchmark("b", "plain", "own", "ruled"))
        job = await bench(engine, "b")
        units = await engine.store.read(lambda db: jobs.units(db, job.id, first=0, last=3))
        ended = [units[place, 1].outcome for place in range(3)]
    assert ended == ["scored", outcome, outcome]
    reasons = [units[place, 1].reason for place in (1, 2)]
    assert all(("the tool calls of this output were not recorded" in reason) is (passed is None) for reason in reasons)


@pytest.mark.parametrize("kind", ["trajectory:tool-used", "not-trajectory:tool-used"])
def test_a_row_that_says_nothing_of_its_calls_has_no_verdict(kind: str) -> None:
    row = {"output": "done", "assert": [{"type": kind, "value": "search"}]}
    assert "nobody recorded" in str(read_row(json.dumps(row)).answer().get("error"))
    assert read_row(json.dumps({**row, "toolCalls": []})).answer()["pass"] is kind.startswith("not-")
    assert read_row(json.dumps({**row, "toolCalls": SEARCHED})).answer()["pass"] is not kind.startswith("not-")
