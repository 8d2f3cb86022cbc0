"""What is done from the page: a run again, a new version of a prompt, outputs drawn for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, request_of
from minions_evals_mcp.models.replies import Reply
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.shared.engine.labelled import alternating, judged_run, labelled, suite
from tests.shared.view.visitor import visitor
from tests.workshop import answer, bench, benchmark, case, first, fleet, found, measured, minion, rubric, save, says


async def test_a_run_is_told_what_it_costs_then_started_and_followed(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v", first(3, 4))
    work: list[Callable[[], Coroutine[Any, Any, None]]] = []
    async with visitor(engine, start=work.append) as client:
        asked = (await client.get("/again?id=job1&cases=failed")).text
        assert "1 output, from recorded outputs; no model judges. At most $0" in asked
        begun = await client.post("/again", data={"id": "job1", "cases": "failed"})
        assert begun.status_code == 303
        run_id = begun.headers["location"].rpartition("=")[2]
        assert "data-live" in (await client.get(f"/run?id={run_id}")).text
        await work[0]()
    summary = await summarize(engine, run_id)
    assert (summary.state, summary.units) == ("completed", 1)
    assert request_of(await get_job(engine, run_id)).triggered_by == "page"


async def test_a_benchmark_that_never_ran_is_started_from_its_page(engine: Engine) -> None:
    await fleet(engine, 3)
    await save(engine, answer("a1", "c1", "Some output."))
    work: list[Callable[[], Coroutine[Any, Any, None]]] = []
    async with visitor(engine, start=work.append) as client:
        for page in ("/", "/benchmark?id=b"):
            assert "/again?benchmark=b" in (await client.get(page)).text
        asked = (await client.get("/again?benchmark=b&cap=2")).text
        assert "3 outputs, from recorded outputs; no model judges." in asked
        assert "2 have no output of this version and would be skipped." in asked
        assert "run-benchmark b --target openai:MODEL" in asked
        begun = await client.post("/again", data={"benchmark": "b", "cap": "2"})
        await work[0]()
        assert "/again?benchmark=b" not in (await client.get("/benchmark?id=b")).text
    summary = await summarize(engine, begun.headers["location"].rpartition("=")[2])
    assert (summary.state, summary.outcomes) == ("completed", {"scored": 1, "skipped": 2})


class Halting(Drawn):
    """A model that answers twice and then no more."""

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """An answer, or none."""
        if self.calls >= 2:
            await anyio.sleep_forever()
        return await super().complete(request, deadline_s=deadline_s)


async def test_a_run_that_goes_on_shows_how_it_gets_along_and_is_stopped_from_its_page(engine: Engine) -> None:
    await fleet(engine, 5)
    await save(engine, minion("p@1", "prompt-version", content="{{q}}", versionNumber=1))
    engine.models = Scripted(Drawn("page"))
    await bench(engine, "b", prompt_version_ref="p@1", target="openai:m")
    engine.models = Scripted(Halting("page"))
    run_id = ""
    async with anyio.create_task_group() as tasks, visitor(engine, start=tasks.start_soon) as client:
        begun = await client.post("/again", data={"id": "job1"})
        run_id = begun.headers["location"].rpartition("=")[2]
        page = ""
        with anyio.fail_after(HANG_S):
            while "2 of 5" not in page:
                page = (await client.get(f"/run?id={run_id}")).text
        assert 'data-progress="40"' in page
        assert re.search(r"· \d passed · \d failed", page)
        assert 'action="/stop"' in page
        elsewhere = await client.post("/stop", data={"id": "job1"})
        assert "that run was not started from this page" in elsewhere.text
        assert (await client.post("/stop", data={"id": run_id})).status_code == 303
        with anyio.fail_after(HANG_S):
            while 'action="/stop"' in page:
                page = (await client.get(f"/run?id={run_id}")).text
    summary = await summarize(engine, run_id)
    assert (summary.state, summary.outcomes) == ("stopped", {"scored": 2})


async def test_what_cannot_be_run_again_is_refused_by_name(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v", first(2, 2))
    async with visitor(engine) as client:
        for address, told in (
            ("/again?id=none", "no run with the id"),
            ("/again?benchmark=none", "no benchmark with the id"),
            ("/again?id=job1&cases=failed", "no case of that run failed"),
            ("/again?id=job1&cap=much", "is not an amount of money"),
            ("/again?id=job1&cap=-1", "the cost cap must be above 0"),
        ):
            page = await client.get(address)
            assert page.status_code in {400, 404}
            assert told in page.text
        refused = await client.post("/again", data={"id": "job1"})
        assert "no run can be started from here" in refused.text


async def test_a_prompt_is_edited_as_a_new_version_and_only_the_latest_is(engine: Engine) -> None:
    await save(engine, minion("p/1", "prompt-version", content="Answer.", versionNumber=1, promptId="p"))
    async with visitor(engine) as client:
        assert "edit it as a new version" in (await client.get("/prompts")).text
        edited = {"after": "p/1", "content": "Answer kindly.\r\nThen stop.", "changelog": "kinder"}
        saved = await client.post("/prompts", data=edited)
        assert saved.status_code == 303
        page = (await client.get(saved.headers["location"])).text
        assert "p@2" in page
        assert "<ins>" in page
        assert "No prompt text is recorded" not in page
        assert "No prompt text is recorded under support@2" in (await client.get("/prompts?version=support@2")).text
        for form, told in (
            (edited, "is no longer the latest version"),
            ({**edited, "after": "none"}, "no prompt-version with the id"),
        ):
            assert told in (await client.post("/prompts", data=form)).text
        newest = re.findall('name="after" value="([^"]+)"', page)[0]
        same = await client.post("/prompts", data={"after": newest, "content": "Answer kindly.\nThen stop."})
        assert "no changes" in same.text
    version = (await found(engine, newest, PromptVersion)).fields
    assert (version.content, version.version_number, version.prompt_id) == ("Answer kindly.\nThen stop.", 2, "p")


async def test_labels_are_drawn_from_the_page_on_which_judges_agree_or_not(engine: Engine) -> None:
    await suite(engine, 40)
    run = await judged_run(engine, alternating(40))
    async with visitor(engine) as client:
        drawn = await client.post("/label", data={"id": "b"})
        assert drawn.status_code == 303
        assert "30 to be judged" in (await client.get(drawn.headers["location"])).text
        await labelled(engine, run, alternating(40))
        page = (await client.get("/agreement?id=b")).text
        assert "gave equal scores in 100 %" in page
        assert "Licences" in page
        assert "Who gave what" in page
        assert "draw up to 30 outputs" in page
        assert 'class="right num same">20' in page
        runs = (await client.get("/runs")).text
        assert "the same outputs, judged again" in runs
        assert "one side of a comparison" not in runs


async def test_a_finished_config_and_versions_stand_side_by_side(engine: Engine) -> None:
    await fleet(engine, 3)
    for version, passing in (("v", 3), ("w", 1)):
        await measured(engine, version, first(passing, 3))
    async with visitor(engine) as client:
        page = (await client.get("/matrix?id=b")).text
        assert "v scored highest: 3 of 3" in page
        assert "Not significantly better than w." in page, "two cases more can be chance, as compare says"
        assert page.count("≠") == 0, "the sign is the stylesheet's"
        assert page.count('class="apart"') == 2
        assert (await client.get("/matrix?id=b&only=apart")).text.count('class="cell"') == 4
        failed = (await client.get("/matrix?id=b&only=failed")).text
        assert failed.count('<tr class="apart">') == failed.count('<th scope="row">') == 2, "c0 passed in both"
        assert failed.count('class="why preview">') == 2, "why it failed stands in the cell"
        assert "q: c1</span>" in failed, "the inputs stand under the test's name"
        assert (await client.get("/matrix?id=b&only=odd")).status_code == 400
        assert (await client.get("/matrix?id=b&run=job1&q=c2")).text.count('class="cell"') == 1


async def test_all_columns_of_a_run_are_its_criteria_and_inputs_too(engine: Engine) -> None:
    await save(engine, rubric("r", 1, brief=says("good"), kind=says("please", maxScore=5)))
    await save(engine, [case("c", rubricId="r")], benchmark("b", "c"), [answer("a", "c", "good")])
    await bench(engine, "b")
    async with visitor(engine) as client:
        page = (await client.get("/run?id=job1&columns=all")).text
        assert '<th scope="col" class="right">brief</th><th scope="col" class="right">kind</th>' in page
        assert '<td data-name="brief" class="right num">1</td>' in page
        assert '<td data-name="kind" class="right num">0 <span class="quiet">of 5</span></td>' in page
        assert 'data-name="brief"' not in (await client.get("/run?id=job1")).text
        few = (await client.get("/run?id=job1&columns=chosen&columns=input&columns=nothing")).text
        assert 'data-name="input"' in few
        assert 'data-name="output"' not in few


async def test_an_agent_s_steps_are_told_in_order_with_the_one_that_is_suspected(engine: Engine) -> None:
    steps: list[JsonValue] = [
        {"tool": "search", "arguments": {"q": "x"}, "result": {"hits": []}, "durationMs": 20},
        {"tool": "search", "arguments": {"q": "x"}, "result": {"hits": []}, "durationMs": 10},
        {"tool": "search", "arguments": {"q": "x"}, "error": "503 Service Unavailable"},
    ]
    await save(engine, case("c", expectedOutputs={"output": "good"}), benchmark("d", "c"))
    await save(engine, answer("a", "c", "bad", toolCallsLog=steps))
    await bench(engine, "d")
    async with visitor(engine) as client:
        page = (await client.get("/case?run=job1&at=0.1")).text
        assert page.count("<h3>Arguments</h3>") == 3
        assert "503 Service Unavailable" in page
        assert "⚑ suspected" in page
        assert "at fault" not in page, "the cause is uncertain"
        assert "No steps were recorded" not in (await client.get("/trajectory?run=job1&at=0.1")).text


async def test_a_step_that_gave_what_was_wanted_is_quoted_and_not_put_at_fault(engine: Engine) -> None:
    steps: list[JsonValue] = [{"tool": "get_order", "arguments": {"id": "A-1"}, "result": {"day": "19 November"}}]
    await save(engine, case("c", expectedOutputs={"output": "19 November"}), benchmark("d", "c"))
    await save(engine, answer("a", "c", "It is on its way.", toolCallsLog=steps))
    await bench(engine, "d")
    async with visitor(engine) as client:
        page = (await client.get("/case?run=job1&at=0.1")).text
    assert "gave the right result" in page
    assert "at fault" not in page.split("<main", 1)[1].replace("not the step: the answer", "")
    assert "⚑ not the step: the answer" in page


async def test_a_failed_case_is_made_a_test_case_from_its_page(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "on 19 May"}), answer("a", "c", "On 21 May."))
    await save(engine, benchmark("b", "c"))
    job = await bench(engine, "b", key="nightly")
    async with visitor(engine) as client:
        page = (await client.get(f"/case?run={job.id}&at=0.1")).text
        assert f'name="id" value="{job.id}:1.1"' in page
        assert f'name="id" value="{job.id}:1.1"' in (await client.get("/case?run=nightly&at=0.1")).text
        form = {"id": f"{job.id}:1.1", "run": job.id, "at": "0.1", "corrected": "On 19 May.", "why": "<b>wrong</b> day"}
        made = (await client.post("/promote", data=form)).text
        assert "is active" in made
        assert "&lt;b&gt;wrong" in made
        assert "is a draft" in (await client.post("/promote", data={**form, "corrected": " "})).text
        assert 'href="/case?id=c#promote">give it' in (await client.get("/")).text, "where the correct answer is given"
        assert "no failed run" in (await client.post("/promote", data={"id": "nothing"})).text
