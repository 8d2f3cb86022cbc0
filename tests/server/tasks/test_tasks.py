"""Runs as tasks (SEP-2663), for clients that declare it; the official scenarios are in test_conformance.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.server.tasks.extension import EXTENSION
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.server.hosts import hosted, read_by_people, suite
from tests.workshop import config_in, opened


class Handle(types.Result):
    """What a call that leaves work going on is answered by."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    ttl_ms: int | None = None
    poll_interval_ms: int


class State(types.Result):
    """What `tasks/get` answers, and the empty answers of the others."""

    model_config = ConfigDict(extra="allow")

    status: str = ""
    result: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None
    """The questions that wait, by their names."""


class About(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class _Get(types.Request[About, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class _Update(types.Request[About, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class Cancel(types.Request[About, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class Handles(ClientExtension):
    identifier = EXTENSION

    def claims(self) -> Any:
        """Handles are understood, and handed on as they are."""
        return (ResultClaim(result_type="task", model=Handle, resolve=_unresolved),)


async def _unresolved(claimed: Handle, context: object) -> types.CallToolResult:
    raise AssertionError("these tests look at the handle itself")


@asynccontextmanager
async def following(folder: Path, url: str | None = None, *, forms: bool = False) -> AsyncGenerator[Client]:
    """A client that knows handles, and shows forms."""
    config = config_in(folder, model_url=url) if url else config_in(folder)
    server = build_server(ServerSession(lambda: opened(config)), ServerOptions())
    with anyio.fail_after(HANG_S):
        shown = _not_shown if forms else None
        async with Client(server, extensions=[Handles()], elicitation_callback=shown) as client:
            yield client


async def _not_shown(context: object, params: object) -> types.ElicitResult:
    raise AssertionError("a task asks by tasks/get")


async def begun(client: Client, **more: Any) -> Handle:
    """The handle of a run by the model."""
    asked = {"benchmarkId": "b", "judge": "llm", "idempotencyKey": "k", **more}
    found = await client.session.call_tool("run_benchmark", asked, allow_claimed=True)
    assert isinstance(found, Handle), found
    return found


async def state(client: Client, task_id: str) -> State:
    """Where the task stands."""
    return await client.session.send_request(_Get(params=About(task_id=task_id)), State)


async def test_a_run_that_goes_on_is_a_task_whose_result_is_the_tools_answer(tmp_path: Path) -> None:
    async with serving() as judge, following(tmp_path, judge.url) as client:
        judge.hold()
        await client.call_tool("save_records", {"records": read_by_people(3)})
        handle = await begun(client)
        assert (handle.status, handle.ttl_ms) == ("working", None)
        assert (await state(client, handle.task_id)).result is None
        judge.release()
        await client.call_tool("get_run", {"runId": handle.task_id, "waitSeconds": 50})
        done = await state(client, handle.task_id)
        assert done.status == "completed"
        assert done.result is not None
        assert done.result["structuredContent"]["runId"] == handle.task_id
        assert "of 3 passed" in done.result["content"][0]["text"]


async def test_looking_at_a_run_gives_no_handle_and_a_short_run_none_either(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=60_000)) as judge, following(tmp_path, judge.url) as client:
        await client.call_tool("save_records", {"records": read_by_people(2)})
        handle = await begun(client)
        looked = await client.session.call_tool("get_run", {"runId": "k"}, allow_claimed=True)
        assert isinstance(looked, types.CallToolResult)
        ruled = {"benchmarkId": "b", "judge": "caller", "waitSeconds": 50}
        short = await client.session.call_tool("run_benchmark", ruled, allow_claimed=True)
        assert isinstance(short, types.CallToolResult)
        await client.session.send_request(Cancel(params=About(task_id=handle.task_id)), State)


async def test_a_cancelled_task_is_a_run_that_its_key_resumes(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=60_000)) as judge, following(tmp_path, judge.url) as client:
        await client.call_tool("save_records", {"records": read_by_people(2)})
        handle = await begun(client)
        for _ in range(2):  # the second finds it stopped
            await client.session.send_request(Cancel(params=About(task_id=handle.task_id)), State)
            assert (await state(client, handle.task_id)).status == "cancelled"
        again = await begun(client)
        assert again.task_id == handle.task_id
        ignored = About(task_id=handle.task_id, input_responses={"nobody-asked": {"action": "accept"}})
        await client.session.send_request(_Update(params=ignored), State)
        assert (await state(client, handle.task_id)).status == "working"


async def test_a_closed_server_leaves_its_task_to_the_next(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=60_000)) as judge, following(tmp_path, judge.url) as client:
        await client.call_tool("save_records", {"records": read_by_people(2)})
        handle = await begun(client)
    async with serving() as quick, following(tmp_path, quick.url) as client:
        await client.call_tool("get_run", {"runId": "k", "waitSeconds": 50})
        assert (await state(client, handle.task_id)).status == "completed"


async def test_an_unknown_task_and_a_runs_key_are_no_tasks(tmp_path: Path) -> None:
    async with following(tmp_path) as client:
        await client.call_tool("save_records", {"records": suite(1)})
        await client.call_tool("run_benchmark", {"benchmarkId": "b", "idempotencyKey": "k", "waitSeconds": 50})
        for ident in ("nowhere", "k"):
            with pytest.raises(MCPError, match="a task's id is the runId") as found:
                await state(client, ident)
            assert found.value.error.code == types.INVALID_PARAMS


async def test_a_client_that_declares_nothing_gets_the_answer_and_no_task_methods(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=60_000)) as judge,
        hosted(config_in(tmp_path, model_url=judge.url)) as host,
    ):
        await host.call("save_records", records=read_by_people(2))
        assert (await host.call("run_benchmark", benchmarkId="b", judge="llm"))["state"] == "running"
        with pytest.raises(MCPError) as found:
            await state(host.client, "k")
        assert found.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY


async def answered(client: Client, task_id: str, **answers: Any) -> None:
    """What a person said of the outputs that a task asks about."""
    await client.session.send_request(
        _Update(params=About(task_id=task_id, input_responses=answers)), types.EmptyResult
    )


def said(score: float, **more: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"score1": score, "why1": "It says Output.", **more}}


async def test_a_run_that_waits_for_a_person_is_a_task_that_asks_and_ends_with_the_verdict(tmp_path: Path) -> None:
    async with following(tmp_path, forms=True) as client:
        await client.call_tool("save_records", {"records": read_by_people(2)})
        handle = await begun(client, judge="human")
        assert handle.status == "input_required"
        names = [{"judgedBy": "Ada"}, {}]
        for name in names:
            waiting = await state(client, handle.task_id)
            assert (waiting.status, waiting.result) == ("input_required", None)
            assert waiting.input_requests
            ((digest, question),) = waiting.input_requests.items()
            assert question["method"] == "elicitation/create"
            assert str(question["params"]["message"]).startswith("Output: Output.")
            likely = question["params"]["requestedSchema"]["properties"]["judgedBy"]["default"]
            assert likely == ("a person" if name else "Ada"), "who judged before is filled in"
            await answered(client, handle.task_id, **{digest: said(4, **name)})
        done = await state(client, handle.task_id)
        assert (done.status, done.input_requests) == ("completed", None)
        assert done.result
        assert "2 of 2 passed" in done.result["content"][0]["text"]


async def test_what_a_person_declines_to_judge_waits_in_the_queue_and_the_task_ends(tmp_path: Path) -> None:
    async with following(tmp_path, forms=True) as client:
        await client.call_tool("save_records", {"records": read_by_people(2)})
        handle = await begun(client, judge="human")
        asked = (await state(client, handle.task_id)).input_requests
        assert asked
        with pytest.raises(MCPError, match="action"):
            await answered(client, handle.task_id, **{digest: {"say": "no"} for digest in asked})
        await answered(client, handle.task_id, **{digest: {"action": "decline"} for digest in asked})
        done = await state(client, handle.task_id)
        assert done.status == "completed"
        assert done.result
        assert done.result["structuredContent"]["state"] == "awaiting-judgments"


@pytest.mark.parametrize(("forms", "judge"), [(False, "human"), (True, "caller")])
async def test_nobody_is_asked_who_sees_no_form_or_judges_the_run_themself(
    tmp_path: Path, forms: bool, judge: str
) -> None:
    async with following(tmp_path, forms=forms) as client:
        await client.call_tool("save_records", {"records": read_by_people(1)})
        asked = {"benchmarkId": "b", "judge": judge}
        found = await client.session.call_tool("run_benchmark", asked, allow_claimed=True)
        assert isinstance(found, types.CallToolResult)
        wire: dict[str, Any] = found.structured_content or {}
        task = await state(client, wire["runId"])
        assert (task.status, task.input_requests) == ("completed", None)
