"""Two people and an agent judge one queue at once, each over HTTP: no output is lost, judged twice or judged by the wrong one."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from minions_evals_mcp.domain.speaker import Role
from minions_evals_mcp.engine.people.assignments import assign
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.network_address import read_address
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.view.app import team_app
from tests.hang import HANG_S
from tests.shared.server.hosts import Host, judged, rows
from tests.shared.server.web import on_the_web
from tests.shared.view.visitor import judgment, waiting
from tests.workshop import config_in, opened

ASSIGNED, SHARED = 6, 6
HOME = "http://127.0.0.1:8427"
DIGEST = re.compile(r'name="digest" value="([^"]+)"')
JUDGED = (
    "SELECT u.packet, j.judged_by, count(*) FROM unit u JOIN eval_judgment j ON j.test_run_id = u.test_run_id"
    " WHERE u.job_id = ? GROUP BY 1, 2"
)


async def judge_all(client: httpx2.AsyncClient, run_id: str, shown: list[str], refused: Counter[str]) -> None:
    """Judges what the page shows until it shows nothing more."""
    while found := DIGEST.search((await client.get("/judge", params={"run": run_id})).text):
        shown.append(found[1])
        await anyio.lowlevel.checkpoint()
        said = await client.post("/judge", data={**judgment(run_id, found[1]), "personToken": ""})
        if said.status_code != 303:
            refused[str(said.status_code)] += 1


async def test_a_queue_is_judged_once_by_whom_it_is_meant_for(tmp_path: Path) -> None:
    roles: dict[str, Role] = {"anna": "judge", "ben": "editor", "vera": "viewer"}
    async with opened(config_in(tmp_path)) as engine, AsyncExitStack() as held:
        mine, open_to_all = await waiting(engine, ASSIGNED), await waiting(engine, SHARED, key="shared")
        tokens = {name: await add_person(engine, name, role) for name, role in roles.items()}
        await assign(engine, mine.id, ["anna", "ben"])
        app = team_app(engine, read_address("127.0.0.1:8427"), behind_tls=False)
        browsers: dict[str, httpx2.AsyncClient] = {}
        for name, token in tokens.items():
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HOME, headers={"origin": HOME})
            browsers[name] = await held.enter_async_context(client)
            await browsers[name].post("/sign-in", data={"personToken": token})
        session = ServerSession(lambda: opened(config_in(tmp_path)))
        door = await held.enter_async_context(on_the_web(build_server(session, ServerOptions()), session))
        agent = Host(await held.enter_async_context(Client(streamable_http_client(door.url))))
        shown: dict[str, list[str]] = {name: [] for name in roles}
        refused: Counter[str] = Counter()

        packets = rows(await agent.call("get_run", runId=open_to_all.id), "packets")
        assert packets

        async def agent_tries() -> None:
            for packet in packets:
                said = await agent.refused(
                    "submit_judgments", runId=open_to_all.id, judgedBy="anna", packets=[judged(packet, 1)]
                )
                assert "anna is a person registered in this store" in said

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                for run_id in (mine.id, open_to_all.id):
                    for name in ("anna", "ben"):
                        tasks.start_soon(judge_all, browsers[name], run_id, shown[name], refused)
                tasks.start_soon(agent_tries)
                tasks.start_soon(judge_all, browsers["vera"], mine.id, shown["vera"], refused)
        assert shown["vera"] == []
        assert refused == {}, "nobody was shown what somebody else was about to judge"
        assigned = {"anna": 3, "ben": 3}
        of_mine = await engine.store.read(lambda db: db.execute(JUDGED, (mine.id,)).fetchall())
        assert Counter(name for _, name, _ in of_mine) == assigned
        everything = of_mine + await engine.store.read(lambda db: db.execute(JUDGED, (open_to_all.id,)).fetchall())
        assert len(everything) == len({packet for packet, _, _ in everything}) == ASSIGNED + SHARED
        assert {number for _, _, number in everything} == {2}, "a judgment for each of two criteria, once"
        assert {name for _, name, _ in everything} == {"anna", "ben"}
        both = {(packet, name) for packet, name, _ in everything}
        assert both == {(packet, name) for name in ("anna", "ben") for packet in shown[name]}
