"""The queue on the page: blind, complete or not kept, and one of two people wins."""

from __future__ import annotations

import re

import anyio
import httpx2
import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, working_on
from tests.hang import HANG_S
from tests.shared.view.visitor import KEYS, judgment, visitor, waiting
from tests.workshop import bench, case, counts, judgments, rubric, save, says


async def asked(client: httpx2.AsyncClient, address: str = "/judge") -> tuple[str, str, str]:
    """The page of the queue, and the packet that it asks for."""
    page = (await client.get(address)).text
    digest, run_id = (re.search(f'name="{name}" value="([^"]+)"', page) for name in ("digest", "runId"))
    assert digest is not None
    assert run_id is not None
    return page, digest[1], run_id[1]


async def test_a_person_sees_the_case_and_nothing_that_would_sway_them(engine: Engine) -> None:
    await waiting(engine)
    async with visitor(engine, judge="bob") as client:
        page, _, _ = await asked(client)
    for shown in (
        "Output of c0.",
        "Is it kind?",
        "1 is warm",
        "Score from 0 to 5",
        "good",
        "You judge as bob.",
        "1 to be judged",
    ):
        assert shown in page
    assert "p@7" not in page


async def test_what_is_handed_in_is_kept_under_the_name_that_was_given_and_the_next_one_comes(engine: Engine) -> None:
    job = await waiting(engine, 2)
    async with visitor(engine) as client:
        _, digest, run_id = await asked(client)
        kept = await client.post("/judge", data=judgment(run_id, digest, by="Änna"))
        assert kept.status_code == 303
        page, other, _ = await asked(client, kept.headers["location"])
        assert "Saved. Here is the next one." in page
        assert other != digest
        signed_in = {**judgment(run_id, other), "personToken": ""}  # the browser keeps the token
        last = await client.post("/judge", data=signed_in)
        assert "That was the last one" in (await client.get(last.headers["location"])).text
        assert "Änna (a person)" in (await client.get("/case", params={"run": job.id, "at": "0.1"})).text
    assert (await get_job(engine, job.id)).state == "completed"
    made = await judgments(engine, f"{job.id}:1.1")
    assert {(one.score, one.rationale, one.judged_by, one.judged_by_type) for one in made.values()} == {
        (0.5, "it is so so", "Änna", "human"),
        (4, "it reads well", "Änna", "human"),
    }


async def test_of_two_people_who_judge_the_same_output_one_wins_and_the_other_is_told(engine: Engine) -> None:
    await waiting(engine, 2)
    answers: dict[str, httpx2.Response] = {}

    async def judge(by: str, client: httpx2.AsyncClient, digest: str, run_id: str) -> None:
        answers[by] = await client.post("/judge", data=judgment(run_id, digest, by=by))

    async with visitor(engine) as one, visitor(engine) as other:
        _, digest, run_id = await asked(one)
        assert (await asked(other))[1] == digest
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(judge, "anna", one, digest, run_id)
                tasks.start_soon(judge, "bob", other, digest, run_id)
    assert sorted(answer.status_code for answer in answers.values()) == [303, 409]
    (winner,) = [by for by, answer in answers.items() if answer.status_code == 303]
    (told,) = [answer.text for answer in answers.values() if answer.status_code == 409]
    assert "Somebody else judged this one first" in told
    run = [await judgments(engine, f"{run_id}:{at}.1") for at in (1, 2)]
    assert {one.judged_by for made in run for one in made.values()} == {winner}


async def test_two_people_who_judge_two_outputs_of_a_run_at_once_are_both_kept(engine: Engine) -> None:
    job = await waiting(engine, 2)
    async with visitor(engine) as client:
        _, first, _ = await asked(client)
        _, second, _ = await asked(client, f"/judge?after={first}")
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                for digest in (first, second):
                    tasks.start_soon(lambda digest: client.post("/judge", data=judgment(job.id, digest)), digest)
    assert (await get_job(engine, job.id)).state == "completed"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"score-0": ""}, "Enter a number from 0 to 1."),
        ({"score-0": "1.01"}, "Enter a number from 0 to 1."),
        ({"score-1": "five"}, "Enter a number from 0 to 5."),
        ({"score-1": "nan"}, "Enter a number from 0 to 5."),
        ({"why-1": " \u200b"}, "A score needs a reason."),
        ({"personToken": " "}, "Only people can judge here"),
        ({"personToken": "of nobody"}, "Only people can judge here"),
    ],
)
async def test_what_is_missing_is_told_beside_the_form_and_nothing_typed_is_lost(
    engine: Engine, changed: dict[str, str], told: str
) -> None:
    await waiting(engine)
    before = await counts(engine)
    async with visitor(engine) as client:
        _, digest, run_id = await asked(client)
        answer = await client.post("/judge", data={**judgment(run_id, digest), **changed})
    assert answer.status_code == 400
    assert told in answer.text
    assert answer.text.count('aria-invalid="true"') == 1
    assert "so so</textarea>" in answer.text
    assert await counts(engine) == before


async def test_a_run_that_is_worked_on_for_long_is_told_with_what_was_typed(engine: Engine) -> None:
    job = await waiting(engine)
    async with visitor(engine) as client:
        _, digest, run_id = await asked(client)
        async with working_on(engine, job):
            answer = await client.post("/judge", data=judgment(run_id, digest))
    assert answer.status_code == 400
    assert "worked on by another process" in answer.text
    assert "so so</textarea>" in answer.text


async def test_a_case_that_was_changed_since_is_asked_of_nobody(engine: Engine) -> None:
    await waiting(engine)
    async with visitor(engine) as client:
        _, digest, run_id = await asked(client)
        await save(engine, case("c0", rubricId="r", expectedOutputs={"output": "new"}))
        assert (await client.post("/judge", data=judgment(run_id, digest))).status_code == 409
        assert "changed since" in (await client.get("/judge")).text


async def test_what_was_skipped_comes_again_at_the_end(engine: Engine) -> None:
    await waiting(engine, 2)
    async with visitor(engine) as client:
        _, first, _ = await asked(client)
        _, second, _ = await asked(client, f"/judge?after={first}")
        _, again, _ = await asked(client, f"/judge?after={second}")
    assert first == again != second


async def test_the_queue_of_one_run_shows_only_what_waits_in_it(engine: Engine) -> None:
    first = await waiting(engine, 1, key="one")
    second = await bench(engine, "b", key="two", fresh=True)
    async with visitor(engine) as client:
        for job in (first, second):
            _, _, run_id = await asked(client, f"/judge?run={job.key}")
            assert run_id == job.id
        assert (await client.get("/judge?run=three")).status_code == 404


async def test_an_empty_queue_says_what_waits_for_somebody_else(engine: Engine) -> None:
    async with visitor(engine) as client:
        assert "Nothing waits for a person" in (await client.get("/judge")).text
        await waiting(engine)
        await save(engine, rubric("r", 2, tone=says("x"), facts={"description": "Is it right?"}))
        assert "Nothing waits for a person" in (await client.get("/judge")).text


@pytest.mark.parametrize("body", [b"\xff", b"&" * 1000, b"a" * 2_000_001, b""])
async def test_a_form_that_is_none_of_ours_changes_nothing(engine: Engine, body: bytes) -> None:
    await waiting(engine)
    before = await counts(engine)
    async with visitor(engine) as client:
        assert (await client.post("/judge", content=body)).status_code in {400, 409}
    assert await counts(engine) == before


async def test_no_cookie_holds_a_persons_token_and_each_port_has_its_own(engine: Engine) -> None:
    await waiting(engine, 2)
    async with visitor(engine) as client:
        _, digest, run_id = await asked(client)
        form = judgment(run_id, digest, by="bob")
        kept = await client.post("/judge", data=form)
        cookies = kept.headers.get_list("set-cookie")
        assert cookies
        assert form["personToken"] not in "".join(cookies)
        (name,) = (cookie.partition("=")[0] for cookie in cookies)
        assert name == f"{KEYS.cookie}-judge"
    async with visitor(engine) as client:
        client.cookies.set(name, form["personToken"])  # what an older page left there is no session
        _, other, _ = await asked(client)
        assert (await client.post("/judge", data={**judgment(run_id, other), "personToken": ""})).status_code == 400
