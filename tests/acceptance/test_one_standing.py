"""The standing of a benchmark at every interface: the same run and figure, and who judged it where its own judge did not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import EngineConfig
from tests.shared.agent.inside import drained, kept, sent
from tests.shared.cli.terminal import Terminal
from tests.shared.engine.labelled import judged_run, suite
from tests.shared.fakes.llm_server import serving
from tests.shared.server.hosts import hosted
from tests.shared.view.visitor import visitor
from tests.workshop import Json, bench, config_in, minion, opened, save

SIZE = 6
CALLER = "agent:eager"
GATE: Json = {"benchmarkId": "b", "minScore": 0.99}
Told = dict[str, str]
"""What each interface answers, by what was asked there."""


async def _told(config: EngineConfig, *, run_id: str) -> Told:
    """The answers of every interface that tells the standing of `b`."""
    at, told = Terminal(config.db.parent), Told()
    for words in (("show", "b"), ("show", "writing"), ("trend", "b"), ("runs", run_id)):
        told["cli " + words[0] + " " + words[1]] = json.dumps(at.run(*words, "--json").one())
    told["cli text trend"], told["cli text run"] = (at.run(*words).out for words in (("trend", "b"), ("runs", run_id)))
    async with hosted(config) as host:
        asked: tuple[tuple[str, Json], ...] = (
            ("get_record", {"id": "b"}),
            ("get_record", {"id": "writing"}),
            ("get_record", {"id": "trend:b"}),
            ("detect_trend", {"benchmarkId": "b"}),
            ("get_run", {"runId": run_id}),
        )
        for tool, arguments in asked:
            told[f"mcp {tool} {next(iter(arguments.values()))}"] = json.dumps(await host.call(tool, **arguments))
        resource = await host.client.read_resource("evals://benchmark/b")
        told["mcp resource"] = resource.model_dump_json()
    async with opened(config) as engine:
        await sent(engine, "m-trend", "detect-trend", benchmarkId="b")
        await drained(engine)
        told["message"] = json.dumps((await kept(engine, "m-trend")).result)
        async with visitor(engine) as client:
            for path in ("/", "/benchmark?id=b", f"/run?id={run_id}"):
                told[f"page {path[:11]}"] = (await client.get(path)).text
    return told


@pytest.mark.parametrize("own_first", [False, True])
async def test_every_interface_names_who_judged_the_standing(tmp_path: Path, *, own_first: bool) -> None:
    async with serving() as server:
        config = replace(config_in(tmp_path, model_url=server.url), judge_model="anthropic:sound-judge")
        async with opened(config) as engine:
            await suite(engine, SIZE)
            await save(engine, minion("writing", "skill-definition", name="Writing", qualityGates=[GATE]))
            own = (await bench(engine, "b", fresh=True)).id if own_first else None
            mine = (await judged_run(engine, [True] * SIZE, by=CALLER)).id
        told = await _told(config, run_id=mine)
    gates = {name for name in told if "writing" in name}
    for name in told.keys() - gates:
        assert CALLER in told[name], (name, told[name][:3000])
    for name in gates:
        assert (own or mine) in told[name], name
        assert (CALLER in told[name]) is not own_first, name
        assert ('"holds": true' in told[name]) is not own_first, name
    last: Callable[[str], Json] = lambda name: json.loads(told[name])["fields"]  # noqa: E731
    assert (last("cli show b")["lastScore"], last("cli show b")["lastJudgedBy"]) == (1.0, [CALLER])
    assert json.loads(told["cli trend b"])["points"][-1]["score"] == 1.0
