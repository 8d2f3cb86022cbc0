"""A person judges where the host can ask one, in both eras; where it cannot, or nobody answers, the output waits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult
from pydantic import JsonValue

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.shared.server.hosts import ERAS, Host, hosted, part, read_by_people, rows
from tests.workshop import Json, config_in, opened

Answer = Callable[[ElicitRequestFormParams], ElicitResult]
KIND: Answer = lambda _: ElicitResult(  # noqa: E731  a value that is named
    action="accept", content={"score1": 4, "why1": "It says Output.", "judgedBy": "Ada"}
)


@asynccontextmanager
async def hosted_with(folder: Path, era: str, answer: Answer) -> AsyncGenerator[tuple[Host, list[str]]]:
    """A host behind which somebody answers so, and the questions that were shown."""
    shown: list[str] = []

    async def asked(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        shown.append(params.message)
        return answer(params)

    server = build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())
    async with Client(server, mode=era, elicitation_callback=asked) as client:
        yield Host(client), shown


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_asked_and_the_verdict_is_kept_as_theirs(tmp_path: Path, era: str) -> None:
    async with hosted_with(tmp_path, era, KIND) as (host, shown):
        await host.call("save_records", records=read_by_people(1))
        done = await host.call("run_test_case", testCaseId="c0", judge="human", waitSeconds=50)
        assert done["state"] == "completed"
        (run,) = rows(done, "testRuns")
        (judgment,) = rows(run, "judgments")
        assert (judgment["score"], judgment["judgedBy"], judgment["judgedByType"]) == (4.0, "Ada", "human")
    (question,) = shown
    assert "Output. a-c0" in question
    assert "Input: c0" in question


@pytest.mark.parametrize("era", ERAS)
async def test_a_criterion_that_is_a_persons_own_is_asked_of_a_person_though_no_judge_was_named(
    tmp_path: Path, era: str
) -> None:
    async with hosted_with(tmp_path, era, KIND) as (host, shown):
        await host.call("save_records", records=_of_people(2))
        done = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        assert "2 of 2 passed" in str(done["summary"])
    assert len(shown) == 2


async def test_what_waits_for_a_person_says_so_to_the_agent_and_is_not_its_own_to_judge(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=_of_people(1))
        left = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        assert (left["state"], left["waiting"]) == ("awaiting-judgments", 1)
        assert str(left["instructions"]).startswith(
            "Items that waitsFor a person must be judged by a person, not by you"
        )
        assert "No model judges" not in str(left["instructions"]), "a person was asked for"
        (packet,) = rows(left, "packets")
        assert packet["waitsFor"] == "a person"
        (said,) = cast("list[str]", left["next"])
        assert said.startswith("after a person has judged: get_run {")
        handed_in = {
            "digest": packet["digest"],
            "judgments": [{"criterionId": "r/tone", "score": 4, "rationale": "kind"}],
        }
        refused = await host.refused("submit_judgments", runId=left["runId"], judgedBy="Ada", packets=[handed_in])
        assert "A person answers on the page or at a terminal: ask a person to run `minions-evals judge" in refused


async def test_a_persons_command_names_the_store_that_the_operator_named(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    async with hosted(replace(config, named_db=config.db)) as host:
        await host.call("save_records", records=read_by_people(1))
        left = await host.call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=50)
        assert f"at a terminal (ask a person to run `minions-evals judge --db {config.db}`" in str(left["instructions"])


async def test_what_waits_for_want_of_a_model_says_which_setting_would_be_one(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=read_by_people(1))
        left = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        said = str(left["instructions"])
        assert "this server has no ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIONS_EVALS_JUDGE_MODEL" in said
        assert "Judge these requests yourself, under your own name" in said
        assert "YOUR-ID" in str(left["next"]), "without a model the caller judges"


def _of_people(size: int) -> list[JsonValue]:
    """A suite whose only criterion says that a person judges it."""
    records = read_by_people(size)
    criterion = cast("Json", records[1])
    return [records[0], {**criterion, "fields": {**part(criterion, "fields"), "judgeType": "human"}}, *records[2:]]


@pytest.mark.parametrize("era", ERAS)
async def test_a_whole_benchmark_is_judged_one_output_after_the_other(tmp_path: Path, era: str) -> None:
    async with hosted_with(tmp_path, era, KIND) as (host, shown):
        await host.call("save_records", records=read_by_people(3))
        done = await host.call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=50)
        assert "3 of 3 passed" in str(done["summary"])
        assert len(rows(await host.call("list_records", type="run"), "records")) == 1
    assert len(set(shown)) == 3


@pytest.mark.parametrize("era", ERAS)
async def test_the_question_shows_the_output_first_in_three_lines_and_whole_beside_the_first_field(
    tmp_path: Path, era: str
) -> None:
    long = "\n".join(f"Line {number} of the answer." for number in range(40))
    forms: list[Json] = []

    def answer(params: ElicitRequestFormParams) -> ElicitResult:
        forms.append(cast("Json", params.requested_schema))
        return ElicitResult(action="decline")

    async with hosted_with(tmp_path, era, answer) as (host, shown):
        await host.call("save_records", records=read_by_people(1, output=long))
        await host.call("run_test_case", testCaseId="c0", judge="human", waitSeconds=50)
    (question,) = shown
    assert len(question.splitlines()) <= 3
    assert question.startswith("Output: Line 0 of the answer."), question
    first = part(part(forms[0], "properties"), "score1")
    assert "Line 39 of the answer." in str(first["description"])
    assert "q: c0" in str(first["description"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_reviewers_name_is_asked_once_in_a_session(tmp_path: Path, era: str) -> None:
    forms: list[Json] = []

    def answer(params: ElicitRequestFormParams) -> ElicitResult:
        forms.append(part(cast("Json", params.requested_schema), "properties"))
        named: dict[str, str | int | float | bool | list[str] | None] = {"judgedBy": "Ada"} if len(forms) == 1 else {}
        return ElicitResult(action="accept", content={"score1": 4, "why1": "It says Output.", **named})

    async with hosted_with(tmp_path, era, answer) as (host, _):
        await host.call("save_records", records=read_by_people(3))
        await host.call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=50)
        judgments = rows(await host.call("list_records", type="eval-judgment", fields=["judgedBy"]), "records")
    assert ["judgedBy" in form for form in forms] == [True, False, False]
    assert [judgment["judgedBy"] for judgment in judgments] == ["Ada", "Ada", "Ada"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("era", ERAS)
async def test_what_nobody_wants_to_judge_waits_in_the_queue(tmp_path: Path, era: str, action: Any) -> None:
    async with hosted_with(tmp_path, era, lambda _: ElicitResult(action=action)) as (host, shown):
        await host.call("save_records", records=read_by_people(2))
        left = await host.call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=50)
        assert (left["state"], left["waiting"]) == ("awaiting-judgments", 2)
        assert len(shown) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_host_that_cannot_ask_and_a_call_that_does_not_wait_leave_it_to_the_queue(
    tmp_path: Path, era: str
) -> None:
    async with hosted(config_in(tmp_path), era=era) as host:
        await host.call("save_records", records=read_by_people(1))
        left = await host.call("run_test_case", testCaseId="c0", judge="human", waitSeconds=50)
        assert left["state"] == "awaiting-judgments"
    async with hosted_with(tmp_path, era, KIND) as (host, shown):
        left = await host.call("run_test_case", testCaseId="c0", judge="human")
        assert left["state"] == "awaiting-judgments"
        assert not shown


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_that_does_not_fit_the_form_keeps_nothing(tmp_path: Path, era: str) -> None:
    worse = ElicitResult(action="accept", content={"score1": 99, "why1": "It says Output."})
    async with hosted_with(tmp_path, era, lambda _: worse) as (host, _):
        await host.call("save_records", records=read_by_people(1))
        said = await host.refused("run_test_case", testCaseId="c0", judge="human", waitSeconds=50, idempotencyKey="k")
        assert said.startswith("bad-input: the person's answer does not fit the form")
        assert (await host.call("get_run", runId="k"))["waiting"] == 1


async def test_a_person_who_is_away_is_waited_for_no_longer_than_was_asked(tmp_path: Path) -> None:
    async def away(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    server = build_server(ServerSession(lambda: opened(config_in(tmp_path))), ServerOptions())
    with anyio.fail_after(HANG_S):
        async with Client(server, mode="legacy", elicitation_callback=away) as client:
            host = Host(client)
            await host.call("save_records", records=read_by_people(1))
            asked = partial(
                host.call, "run_test_case", testCaseId="c0", judge="human", waitSeconds=0.5, idempotencyKey="k"
            )
            while (left := await asked())["state"] == "running":  # not even made yet, on a machine that has much to do
                pass
            assert left["state"] == "awaiting-judgments"


async def test_the_form_names_each_criterion_with_its_range(tmp_path: Path) -> None:
    schemas: list[Json] = []

    def answer(params: ElicitRequestFormParams) -> ElicitResult:
        schemas.append(cast("Json", params.requested_schema))
        return ElicitResult(action="decline")

    async with hosted_with(tmp_path, "legacy", answer) as (host, _):
        await host.call("save_records", records=read_by_people(1))
        await host.call("run_test_case", testCaseId="c0", judge="human", waitSeconds=50)
    score = part(part(schemas[0], "properties"), "score1")
    assert (score["title"], score["minimum"], score["maximum"]) == ("tone (0 to 5)", 0, 5)
    assert "Is it kind?" in str(score["description"])
