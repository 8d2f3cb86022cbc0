"""A report shows what the audit of its checks found: the rates, and the worst cases with the cheapest cheat and what closes it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from justhtml import JustHTML

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.interop.audit.audits import audit
from tests.shared.report.hostile import written
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save

WEAK, SHOWN = 7, 5


@pytest.fixture
async def audited(tmp_path: Path) -> AsyncGenerator[Engine]:
    """A run of seven cases whose own input passes and of one that is sound, audited before."""
    names = [f"metal{number}" for number in range(WEAK)]
    weak = [
        case(name, inputs={"question": f"Which is it, iron or {name}?"}, expectedOutputs={"output": name})
        for name in names
    ]
    sound = case("legs", assertions=[{"type": "equals", "value": "six"}])
    async with opened(config_in(tmp_path)) as engine:
        answers = [
            answer(f"r{name}", name, name, inputs={"question": f"Which is it, iron or {name}?"}) for name in names
        ]
        await save(engine, weak, sound, answers, answer("rl", "legs", "six"), benchmark("b", *names, "legs"))
        await audit(engine, "b")
        await bench(engine, "b", key="k")
        yield engine


async def test_json_holds_the_rates_and_at_most_five_cases(audited: Engine) -> None:
    checks = json.loads(await written(audited, ".json", "k"))["checks"]
    assert (checks["cheatPassRate"], checks["caseCount"]) == (WEAK / (WEAK + 1), WEAK + 1)
    assert len(checks["worst"]) == SHOWN
    first = checks["worst"][0]
    assert first["cheapestCheat"] == "echo"
    assert first["text"] == "Which is it, iron or metal0?"
    assert first["suggestion"]


async def test_markdown_names_the_cheapest_cheat_and_the_suggestion(audited: Engine) -> None:
    lines = (await written(audited, ".md", "k")).splitlines()
    (said,) = [line for line in lines if line.startswith("**Checks.**")]
    assert "cheats pass 88 % of cases" in said
    named = [line for line in lines if line.startswith("- **metal")]
    assert len(named) == SHOWN
    assert all("its own input passes" in line and " → " in line for line in named)


async def test_html_names_the_cheapest_cheat_and_the_suggestion(audited: Engine) -> None:
    document = JustHTML(await written(audited, ".html", "k"), sanitize=False)
    (section,) = [one for one in document.query("section") if "h-checks" in str(one.attrs)]
    items = [item.to_text() for item in section.query("li")]
    assert len(items) == SHOWN
    assert all("its own input passes" in item and "Suggested:" in item for item in items)
    assert "Cheats pass 88 % of 8 audited cases" in section.to_text()


@pytest.mark.parametrize("form", [".json", ".md", ".html"])
async def test_checks_that_were_changed_since_show_no_old_cases(audited: Engine, form: str) -> None:
    await save(audited, case("legs", assertions=[{"type": "equals", "value": "6"}]))
    await bench(audited, "b", key="later")
    text = await written(audited, form, "later")
    assert "changed since" in text
    assert "its own input passes" not in text
    assert "Which is it, iron or metal0? passes" not in text


async def test_checks_that_were_never_audited_are_said_once_with_a_command_that_can_be_typed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        six = case("c", assertions=[{"type": "equals", "value": "six"}])
        await save(engine, six, answer("a", "c", "six"), benchmark("eval/b", "c"))
        await bench(engine, "eval/b", key="k")
        told = await written(engine, ".md", "k")
    assert told.count("never audited") == 1
    assert "Next: `minions-evals audit eval/b`" in told
