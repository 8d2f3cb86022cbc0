"""Which prompt version a run is of: the one asked for, else the case's own, else its prompt's latest, else none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.estimate import estimate
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.store import jobs
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    found,
    judged_case,
    minion,
    opened,
    save,
    try_case,
)

MODEL = "anthropic:fake-target"
WANTED: dict[str, JsonValue] = {"output": "good"}


@dataclass(frozen=True)
class Shop:
    """An engine whose model stands at a fake server."""

    engine: Engine
    server: Server

    async def asked(self, case_id: str, **request: JsonValue) -> tuple[str, TestRun]:
        """What the model was sent for that case, and the run of it."""
        run = await judged_case(self.engine, case_id, target=MODEL, **request)
        return self.server.last_body.decode(), run.fields


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncGenerator[Shop]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving())
        engine = await stack.enter_async_context(opened(config_in(tmp_path, model_url=server.url)))
        yield Shop(engine, server)


async def prompt(engine: Engine, ident: str, numbers: range) -> None:
    """Versions of that prompt, each of which says its number."""
    versions = [
        minion(
            f"{ident}-{n}", "prompt-version", content=f"{ident} number {n}: {{{{q}}}}", versionNumber=n, promptId=ident
        )
        for n in numbers
    ]
    await save(engine, versions)


@pytest.mark.parametrize(
    ("own", "asked", "said"),
    [
        ({"promptId": "p"}, None, "p number 3"),
        ({"promptId": "p", "promptVersionRef": "p-1"}, None, "p number 1"),
        ({"promptVersionRef": "p-2"}, None, "p number 2"),
        ({"promptId": "p", "promptVersionRef": "2"}, None, "p number 2"),
        ({"promptId": "p"}, "p-1", "p number 1"),
        ({"promptId": "p"}, "p@2", "p number 2"),
        ({"promptId": "p", "promptVersionRef": "p-1"}, "p@latest", "p number 3"),
        ({"promptId": "p"}, "latest", "p number 3"),
        ({"promptId": "p"}, "1", "p number 1"),
        ({"promptVersionRef": "p-1"}, 2, "p number 2"),
        ({}, "p@2", "p number 2"),
    ],
)
async def test_a_model_is_sent_the_version_that_is_asked_for_else_the_cases_own_else_its_prompts_latest(
    shop: Shop, own: dict[str, JsonValue], asked: str | None, said: str
) -> None:
    await prompt(shop.engine, "p", range(1, 4))
    await save(shop.engine, case("c", expectedOutputs=WANTED, **own))
    sent, run = await shop.asked("c", **({} if asked is None else {"prompt_version_ref": asked}))
    number = int(said[-1])
    assert f"{said}: c" in sent
    assert (run.prompt_version_ref, run.prompt_version) == (f"p-{number}", number)
    assert run.digests.prompt_version is not None


async def test_a_case_that_names_no_prompt_is_sent_as_it_is_and_has_no_version(shop: Shop) -> None:
    await save(shop.engine, case("c", expectedOutputs=WANTED))
    sent, run = await shop.asked("c")
    assert '"c"' in sent
    assert (run.prompt_version_ref, run.prompt_version) == (None, None)


@pytest.mark.parametrize("own", [{"promptId": "p"}, {"promptVersionRef": "p-9"}])
async def test_a_model_is_never_sent_a_bare_input_in_place_of_a_prompt_that_has_no_version(
    shop: Shop, own: dict[str, JsonValue]
) -> None:
    await save(shop.engine, case("plain", expectedOutputs=WANTED), case("c", expectedOutputs=WANTED, **own))
    await save(shop.engine, benchmark("b", "plain", "c"))
    for refused in (
        try_case(shop.engine, "c", target=MODEL),
        bench(shop.engine, "b", target=MODEL),
        estimate(shop.engine, RunRequest(subject_id="b", target=MODEL), kind="benchmark"),
    ):
        with pytest.raises(BadInputError, match=r"test-case c names p.*A model cannot be called without a prompt"):
            await refused
    assert shop.server.requests == 0
    assert await shop.engine.store.read(jobs.jobs) == []
    await save(shop.engine, answer("kept", "c", "good"))
    assert (await judged_case(shop.engine, "c", target=MODEL, recorded=True)).fields.agent_run_id == "kept"


async def test_a_version_that_is_named_and_unknown_is_refused_as_such_before_a_job_exists(shop: Shop) -> None:
    await prompt(shop.engine, "p", range(1, 4))
    await save(shop.engine, case("c", promptId="p", expectedOutputs=WANTED), answer("a", "c", "good"))
    for name, said in {
        "p@7": "Its versions are 1, 2, 3", "7": "Its versions are 1, 2, 3", "p-7": "no prompt-version with the id 'p-7'",
        "p": "Name a version as p@latest or p@NUMBER", "q@1": "no prompt or prompt-version with the id 'q'",
    }.items():  # fmt: skip
        with pytest.raises(NotFoundError, match=said):
            await try_case(shop.engine, "c", prompt_version_ref=name)
    assert await shop.engine.store.read(jobs.jobs) == []


async def test_a_number_that_two_versions_bear_or_whose_prompt_is_not_known_is_refused(shop: Shop) -> None:
    await prompt(shop.engine, "p", range(1, 3))
    await save(shop.engine, minion("twin", "prompt-version", content="x", versionNumber=2, promptId="p"))
    await save(shop.engine, case("c", promptId="p"), case("d", promptId="q"), benchmark("b", "c", "d"))
    with pytest.raises(BadInputError, match=r"p@2 matches 2 versions: p-2, twin"):
        await try_case(shop.engine, "c", prompt_version_ref="2")
    with pytest.raises(BadInputError, match=r"needs its prompt.*PROMPT@latest, such as p@latest"):
        await bench(shop.engine, "b", prompt_version_ref="latest")


async def test_a_version_by_default_hides_no_recorded_output_and_the_run_says_whose_version_it_judged(
    shop: Shop,
) -> None:
    await prompt(shop.engine, "p", range(1, 3))
    await save(shop.engine, case("c", promptId="p", expectedOutputs=WANTED))
    await save(shop.engine, answer("bare", "c", "good"))
    bare = (await judged_case(shop.engine, "c")).fields
    assert (bare.agent_run_id, bare.prompt_version_ref, bare.prompt_version) == ("bare", None, None)
    await save(shop.engine, answer("first", "c", "good", promptVersionRef="p-1"))
    old = (await judged_case(shop.engine, "c")).fields
    assert (old.agent_run_id, old.prompt_version_ref, old.prompt_version) == ("first", "p-1", 1)
    await save(shop.engine, answer("second", "c", "good", promptVersionRef="p-2"), answer("later", "c", "bad"))
    latest = (await judged_case(shop.engine, "c")).fields
    assert (latest.agent_run_id, latest.prompt_version) == ("second", 2)
    with pytest.raises(BadInputError, match="agent-run first used p-1, not p-2"):
        await try_case(shop.engine, "c", agent_run_id="first", prompt_version_ref="p@2")


async def test_a_benchmark_asks_each_case_with_the_version_of_its_own_prompt(shop: Shop) -> None:
    for name in ("p", "q"):
        await prompt(shop.engine, name, range(1, 3))
    await save(shop.engine, [case(f"c-{name}", promptId=name, expectedOutputs=WANTED) for name in ("p", "q")])
    await save(shop.engine, case("plain", expectedOutputs=WANTED), benchmark("b", "c-p", "c-q", "plain"))
    await bench(shop.engine, "b", target=MODEL)
    kept = {run.fields.test_case_id: run.fields.prompt_version_ref for run in await all_of(shop.engine, TestRun)}
    assert kept == {"c-p": "p-2", "c-q": "q-2", "plain": None}


async def test_a_run_that_is_resumed_keeps_the_version_that_its_name_stood_for_when_it_began(shop: Shop) -> None:
    await prompt(shop.engine, "p", range(1, 3))
    await save(shop.engine, case("c", promptId="p", expectedOutputs=WANTED))
    begun = await try_case(shop.engine, "c", key="k", target=MODEL, prompt_version_ref="latest")
    await prompt(shop.engine, "p", range(3, 4))
    again = await try_case(shop.engine, "c", key="k", target=MODEL, prompt_version_ref="latest")
    assert again.id == begun.id
    assert (await found(shop.engine, f"{begun.id}:1.1", TestRun)).fields.prompt_version == 2
    assert (await summarize(shop.engine, "k")).state == "completed"


async def test_a_function_that_is_told_of_no_version_makes_outputs_of_none_unless_the_caller_says_so(
    shop: Shop,
) -> None:
    await prompt(shop.engine, "p", range(1, 3))
    await save(shop.engine, case("c", promptId="p", expectedOutputs=WANTED))
    target = "python:tests.workshop:echoed"
    assert (await judged_case(shop.engine, "c", target=target)).fields.prompt_version is None
    named = await judged_case(shop.engine, "c", target=target, prompt_version_ref="1")
    assert named.fields.prompt_version_ref == "p-1"
