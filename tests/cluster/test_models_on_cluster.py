"""Models called by workers: keys from their own environment, caps and kept verdicts with the coordinator."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp import known_secrets
from minions_evals_mcp.cluster.channel import Channels
from minions_evals_mcp.cluster.orders import Told
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import EvalJudgment, TestRun
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import BadInputError, InstrumentError, StoppedError
from minions_evals_mcp.store import jobs
from tests.cluster.eavesdropper import between, eavesdropping
from tests.cluster.inside import Inside
from tests.cluster.test_run_on_cluster import on_cluster
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import Json, all_of, benchmark, case, config_in, minion, rubric, save, says

MARKER = "sk-marker-7f3a9c51e2d84b06"
LEAKY = "anthropic:claude-haiku-4-5-leaky"
PRICED = "anthropic:claude-haiku-4-5"
CASES = 30
AT_ONCE = 4
"""So many units of a run are under way at a worker."""


@pytest.fixture
async def model(two_workers: Inside, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Server]:
    """A model's server; the workers in this process have a key to it."""
    del two_workers
    async with serving() as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", MARKER)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def config(folder: Path, url: str, judge: str | None) -> EngineConfig:
    """The coordinator, set up alike."""
    usual = config_in(folder, model_url=url)
    access = {"anthropic": ProviderAccess(MARKER, url)}
    return replace(usual, judge_model=judge, call_timeout_s=HANG_S, providers=replace(usual.providers, access=access))


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
    tmp_path: Path, scheduler: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving() as server, open_judged(tmp_path, server.url, "anthropic:fake-judge") as engine:
        await scheduler.hire_process({"ANTHROPIC_API_KEY": MARKER, "ANTHROPIC_BASE_URL": server.url})
        request = RunRequest(subject_id="b", target=LEAKY)
        async with (
            between(scheduler.worker, monkeypatch) as overheard,
            eavesdropping(scheduler.address) as beside,
        ):
            job = await on_cluster(engine, beside.address, request)
        runs = await all_of(engine, TestRun)
    known_secrets.forget()
    assert job.state == "completed"
    assert len(runs) == CASES
    assert all("[secret " in str(run.fields.actual_output) for run in runs), "the model did say the key"
    assert b"Answer: {{q}}" in overheard.content, "what is sent can be read here"
    assert MARKER.encode() not in overheard.content + beside.content
    assert MARKER not in scheduler.said()


async def test_verdicts_are_kept_by_the_coordinator_and_paid_for_once(
    tmp_path: Path, two_workers: Inside, model: Server
) -> None:
    async with open_judged(tmp_path, model.url, "anthropic:fake-judge") as engine:
        request = RunRequest(subject_id="b", target=PRICED)
        first = await on_cluster(engine, two_workers.address, request)
        assert model.stats()["requests"] == 2 * CASES
        again = await on_cluster(engine, two_workers.address, request.model_copy(update={"cache": True}))
        assert model.stats()["requests"] == 2 * CASES, "outputs and verdicts are kept"
        assert {first.state, again.state} == {"completed"}
        assert first.spent["calls"] == 2 * CASES
        assert first.spent["costUsd"] > 0
        assert len(await all_of(engine, EvalJudgment)) == 2 * CASES
    known_secrets.forget()


async def test_a_cost_cap_holds_across_workers_and_the_run_is_resumed_under_its_key(
    tmp_path: Path, two_workers: Inside, model: Server
) -> None:
    there = two_workers.address
    async with open_judged(tmp_path, model.url, None) as engine:
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
    known_secrets.forget()


async def test_answers_that_a_broken_connection_swallows_are_not_waited_for(
    tmp_path: Path, scheduler: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell, swallowed = Channels.tell, list[Told | None]()

    def cut_at_the_answers(channels: Channels, worker: str, message: Told | None) -> None:
        if not isinstance(message, tuple) or len(swallowed) == AT_ONCE:
            tell(channels, worker, message)
            return
        swallowed.append(message)
        if len(swallowed) == AT_ONCE:  # all that the worker may have under way waits for what never comes
            channels.by_worker[worker].end()

    monkeypatch.setattr(Channels, "tell", cut_at_the_answers)
    async with serving() as server, open_judged(tmp_path, server.url, None) as engine:
        monkeypatch.setenv("ANTHROPIC_API_KEY", MARKER)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        await scheduler.hire(1)
        job = await on_cluster(engine, scheduler.address, RunRequest(subject_id="b", target=PRICED))
        assert job.state == "completed"
        assert len(await all_of(engine, TestRun)) == CASES
        assert server.stats()["requests"] == CASES
    assert len(swallowed) == AT_ONCE
    known_secrets.forget()


async def test_a_worker_without_a_key_or_with_other_addresses_is_refused_by_name(
    tmp_path: Path, two_workers: Inside, model: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = RunRequest(subject_id="b", target=PRICED)
    async with open_judged(tmp_path, model.url, "anthropic:fake-judge") as engine:
        monkeypatch.delenv("ANTHROPIC_BASE_URL")
        differs = r"tcp://127\.0\.0\.1:\d+ would not do the same work: the providers' addresses"
        with pytest.raises(BadInputError, match=differs):
            await on_cluster(engine, two_workers.address, request)
        assert await engine.store.read(jobs.jobs) == []
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "")
        with pytest.raises(InstrumentError, match="no key for"):
            await on_cluster(engine, two_workers.address, request)
        assert model.stats()["requests"] == 0
    known_secrets.forget()


async def test_a_worker_with_other_skills_or_another_target_is_refused_by_name(
    engine: Engine, tmp_path: Path, scheduler: Inside, monkeypatch: pytest.MonkeyPatch
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
    await scheduler.hire_process({"MINIONS_EVALS_SKILLS": str(skills), "PYTHONPATH": str(tmp_path / "there")})
    with pytest.raises(BadInputError, match=r"the skills \(.*the target's code \("):
        await on_cluster(engine, scheduler.address, RunRequest(subject_id="b", target="python:own_desk:reply"))
