"""Retention: the agent erases what the project's settings no longer keep, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent.daemon import Agent
from agent.rounds.retention import erase_old
from agent.settings import Working
from tests.shared.store.file_bytes import bytes_of
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save


async def test_outputs_of_three_months_ago_are_erased_and_the_figures_stay(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, case("c", expectedOutputs={"output": "zqxwanted"}), answer("a", "c", "zqxoutput of old"))
        await save(engine, benchmark("b", "c"))
        await bench(engine, "b")
        agent = Agent(engine, {}, "holder")
        await erase_old(agent, {"outputs": 90, "messages": 90}, once=True)
        assert b"zqxoutput of old" in bytes_of(engine.config.db)
        clock = engine.clock
        engine.clock = lambda: clock() + timedelta(days=100)
        await erase_old(agent, {"outputs": 90}, once=True)
        runs = await engine.store.read(lambda db: db.execute("SELECT passed, rest FROM test_run").fetchall())
        kept = await engine.store.read(lambda db: db.execute("SELECT fields FROM minion WHERE id = 'a'").fetchone())
        assert "zqxoutput of old" in kept[0], "of agent-runs the settings say nothing"
        assert [(passed, "zqxoutput" in rest) for passed, rest in runs] == [(0, False)]
        await erase_old(agent, {"agent-runs": 90}, once=True)
    assert b"zqxoutput of old" not in bytes_of(tmp_path / "evals.db")


def test_the_days_come_from_the_project_that_the_operator_names(tmp_path: Path) -> None:
    file = tmp_path / "minions-evals.toml"
    file.write_text("[retention]\noutputs = 90\nagent-runs = 30\n")
    assert Working(project=file).retention() == {"outputs": 90, "agent-runs": 30}
    assert Working().retention() == {}
