"""Models called by workers: keys from their own environment, caps and kept verdicts with the coordinator."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from minions_evals_mcp import known_secrets
from minions_evals_mcp.domain.providers import Access
from minions_evals_mcp.domain.results import EvalJudgment, TestRun
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import BadInputError, InstrumentError, StoppedError
from minions_evals_mcp.store import jobs
from tests.bench import process
from tests.cluster.crowd import Crowd, crowd
from tests.cluster.eavesdropper import eavesdropping
from tests.cluster.test_run_on_cluster import LIMIT_S, on_cluster
from tests.fakes.llm_server import serving
from tests.workshop import Json, all_of, benchmark, case, config_in, minion, rubric, save, says

MARKER = "sk-marker-7f3a9c51e2d84b06"
LEAKY = "anthropic:claude-haiku-4-5-leaky"
PRICED = "anthropic:claude-haiku-4-5"
CASES = 30


@dataclass(frozen=True, slots=True)
class Keyed:
    """Workers that may call a model, and the server that plays it."""

    url: str
    crowd: Crowd

    def calls(self) -> int:
        """How often the model was called by now."""
        with urlopen(f"{self.url}/stats") as answer:
            return json.load(answer)["requests"]


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Keyed]:
    """Two workers that have a key."""
    with process.serving(0) as url:
        environment = {"ANTHROPIC_API_KEY": MARKER, "ANTHROPIC_BASE_URL": url}
        with crowd(tmp_path_factory.mktemp("keyed"), 2, environment) as there:
            yield Keyed(url, there)


def config(folder: Path, url: str, judge: str | None) -> EngineConfig:
    """The coordinator, set up alike."""
    usual = config_in(folder, model_url=url)
    access = {"anthropic": Access(MARKER, url)}
    return replace(usual, judge_model=judge, call_timeout_s=LIMIT_S, providers=replace(usual.providers, access=access))


@asynccontextmanager
async def open_judged(folder: Path, url: str, judge: str | None) -> AsyncGenerator[Engine]:
    """An engine with a benchmark whose outputs a model makes, and another judges; or a rule, where there is none."""
    async with open_engine(config(folder, url, judge)) as engine:
        cases = [case(f"c{number}", promptId="p", rubricId="r") for number in range(CASES)]
        version = minion("p@1", "prompt-version", content="Answer: {{q}}", versionNumber=1, promptId="p")
        criterion: Json = {"judgeType": "llm", "scoringGuide": "Is it polite?"}
        await save(engine, version, rubric("r", 0.1, polite=says("a") if judge is None else criterion), cases)
        await save(engine, benchmark("b", *(f"c{number}" for number in range(CASES))))
        yield engine


async def test_a_key_reaches_workers_by_their_environment_alone_and_no_answer_carries_it_back(
    tmp_path: Path, keyed: Keyed
) -> None:
    async with (
        eavesdropping(keyed.crowd.address) as overheard,
        open_judged(tmp_path, keyed.url, "anthropic:fake-judge") as engine,
    ):
        job = await on_cluster(engine, overheard.address, RunRequest(subject_id="b", target=LEAKY))
        runs = await all_of(engine, TestRun)
    known_secrets.forget()
    assert job.state == "completed"
    assert len(runs) == CASES
    assert all("[secret " in str(run.fields.actual_output) for run in runs), "the model did say the key"
    assert b"Answer: {{q}}" in overheard.content, "what is sent can be read here"
    assert MARKER.encode() not in overheard.content
    assert MARKER not in keyed.crowd.said()


async def test_verdicts_are_kept_by_the_coordinator_and_paid_for_once(tmp_path: Path, keyed: Keyed) -> None:
    before = keyed.calls()
    async with open_judged(tmp_path, keyed.url, "anthropic:fake-judge") as engine:
        request = RunRequest(subject_id="b", target=PRICED)
        first = await on_cluster(engine, keyed.crowd.address, request)
        assert keyed.calls() - before == 2 * CASES
        again = await on_cluster(engine, keyed.crowd.address, request.model_copy(update={"cache": True}))
        assert keyed.calls() - before == 2 * CASES, "outputs and verdicts are kept"
        assert {first.state, again.state} == {"completed"}
        assert first.spent["calls"] == 2 * CASES
        assert first.spent["costUsd"] > 0
        assert len(await all_of(engine, EvalJudgment)) == 2 * CASES


async def test_a_cost_cap_holds_across_workers_and_the_run_is_resumed_under_its_key(
    tmp_path: Path, keyed: Keyed
) -> None:
    there = keyed.crowd.address
    async with open_judged(tmp_path, keyed.url, None) as engine:
        whole = await on_cluster(engine, there, RunRequest(subject_id="b", target=PRICED, key="whole"))
        assert whole.spent["calls"] == CASES
        cap = whole.spent["costUsd"] / 2 + 0.0103  # the last call is set aside at all that it may cost
        request = RunRequest(subject_id="b", target=PRICED, key="capped", max_cost_usd=cap)
        with pytest.raises(StoppedError, match="cost cap"):
            await on_cluster(engine, there, request)
        stopped = await engine.store.read(lambda db: jobs.job_by_key(db, "capped"))
        assert stopped is not None
        assert 0 < stopped.spent["costUsd"] <= cap
        assert 0 < stopped.spent["calls"] < CASES
        done = await on_cluster(engine, there, request.model_copy(update={"max_cost_usd": None}))
        assert done.state == "completed"
        assert done.spent["calls"] == CASES, "nothing was paid for twice"


async def test_a_worker_without_a_key_or_with_other_addresses_is_refused_by_name(tmp_path: Path) -> None:
    async with serving() as server, open_judged(tmp_path / "own", server.url, "anthropic:fake-judge") as engine:
        request = RunRequest(subject_id="b", target=PRICED)
        with crowd(tmp_path, 1, {"ANTHROPIC_API_KEY": MARKER}) as there:
            worker = there.address.rpartition(":")[0]
            with pytest.raises(
                BadInputError, match=rf"{worker}:\d+ would not do the same work: the providers' addresses"
            ):
                await on_cluster(engine, there.address, request)
            assert await engine.store.read(jobs.jobs) == []
        keyless = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": ""}
        with crowd(tmp_path, 1, keyless) as there, pytest.raises(InstrumentError, match="no key for"):
            await on_cluster(engine, there.address, request)
        assert server.stats()["requests"] == 0


async def test_a_worker_with_other_skills_or_another_target_is_refused_by_name(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skills = tmp_path / "skills"
    for path in engine.config.skills.rglob("*.md"):
        copy = skills / path.relative_to(engine.config.skills)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text() + "\nMore.\n")
    for place, answer in (("here", "good"), ("there", "bad")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "own_desk.py").write_text(f"def reply(inputs):\n    return {answer!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "here")
    await save(engine, case("c", expectedOutputs={"output": "good"}), benchmark("b", "c"))
    elsewhere = {"MINIONS_EVALS_SKILLS": str(skills), "PYTHONPATH": str(tmp_path / "there")}
    with (
        crowd(tmp_path, 1, elsewhere) as there,
        pytest.raises(BadInputError, match=r"the skills \(.*the target's code \("),
    ):
        await on_cluster(engine, there.address, RunRequest(subject_id="b", target="python:own_desk:reply"))
