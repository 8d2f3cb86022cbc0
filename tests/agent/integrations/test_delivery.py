"""The outbox on its way: at least once, in order for each addressee, whoever else is down."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from agent.daemon import Route
from agent.loop import serve
from agent.retry import Revived, retry
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.outbox import message, queue, task
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.ports import Neighbour
from minions_evals_mcp.store.agent import delivery
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.toolboxes.json_lines import JsonLinesFolder
from tests.hang import HANG_S
from tests.shared.agent.inside import at_work, drained
from tests.workshop import START


class Told:
    """A neighbour that keeps what it is told; it fails, or refuses, while it is said to."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.error: Exception | None = None
        self.tries = 0

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Takes it over."""
        del record, addressee
        self.tries += 1
        if self.error is not None:
            raise self.error
        self.keys.append(key)


async def queued(engine: Engine, *keys: str, tasks: bool = False) -> None:
    """Rows for the orchestrator, or tasks, wait to be delivered."""
    for key in keys:
        fields = (
            task(key, "", priority="high", about="b", owner=None, at=START) if tasks else message("news", {}, at=START)
        )
        await engine.store.write(lambda db, key=key, fields=fields: queue(db, key, fields, key=key, at=START))


def routed(**neighbours: Neighbour) -> Route:
    """Each addressee has its neighbour, or none."""
    return neighbours.get


async def states(engine: Engine) -> list[str]:
    """Where every row stands, in the order of the outbox."""
    rows = await engine.store.read(lambda db: db.execute("SELECT state FROM delivery ORDER BY seq").fetchall())
    return [row[0] for row in rows]


async def test_every_row_is_delivered_once_and_in_its_order(engine: Engine) -> None:
    told = Told()
    await queued(engine, *(f"m{number:02}" for number in range(70)))
    await drained(engine, route=routed(orchestrator=told))
    await drained(engine, route=routed(orchestrator=told))
    assert told.keys == [f"m{number:02}" for number in range(70)]
    assert set(await states(engine)) == {"delivered"}


async def test_one_who_is_down_delays_nobody_else_and_loses_nothing(engine: Engine) -> None:
    down, up = Told(), Told()
    down.error = InstrumentError("no connection.")
    await queued(engine, "a", "b")
    await queued(engine, "t1", "t2", tasks=True)
    with anyio.fail_after(HANG_S):
        agent = await drained(engine, route=routed(orchestrator=down, tasks=up))
    assert (down.keys, up.keys) == ([], ["t1", "t2"])
    assert agent.down == {"orchestrator"}
    (waiting,) = await engine.store.read(delivery.queue)
    assert (waiting.rows, waiting.reason) == (2, "InstrumentError: no connection.")
    down.error = None
    await drained(engine, route=routed(orchestrator=down, tasks=up))
    assert (down.keys, up.keys) == (["a", "b"], ["t1", "t2"])


async def test_a_neighbour_that_comes_back_is_told_without_a_restart(engine: Engine) -> None:
    told = Told()
    told.error = OSError("refused")
    await queued(engine, "a", "b")
    with anyio.fail_after(HANG_S):
        async with at_work(engine, route=routed(orchestrator=told)) as agent, anyio.create_task_group() as tasks:
            tasks.start_soon(serve_on, agent)
            while told.tries < 2:  # noqa: ASYNC110  the neighbour is told from outside
                await anyio.sleep(0.005)
            told.error = None
            while len(told.keys) < 2:  # noqa: ASYNC110  as above
                await anyio.sleep(0.005)
            agent.stop()
    assert told.keys == ["a", "b"]


async def serve_on(agent: object) -> None:
    """Until it is stopped."""
    await serve(agent, until_quiet=False)  # pyright: ignore[reportArgumentType]  an Agent


async def test_what_is_refused_for_good_is_laid_aside_with_the_reason_and_can_be_retried(engine: Engine) -> None:
    told = Told()
    told.error = BadInputError("no such assignee.")
    await queued(engine, "a", "b")
    await drained(engine, route=routed(orchestrator=told))
    assert await states(engine) == ["refused", "refused"]
    (last, _) = await engine.store.read(lambda db: delivery.refused(db, limit=5))
    assert (last.id, last.reason) == ("b", "no such assignee.")
    told.error = None
    assert await engine.store.write(lambda db: retry(db, "a", at=START)) == Revived("a", "delivery")
    await drained(engine, route=routed(orchestrator=told))
    assert told.keys == ["a"]


async def test_nothing_is_delivered_where_nobody_takes_it(engine: Engine) -> None:
    await queued(engine, "a")
    await drained(engine)
    assert await states(engine) == ["pending"]
    assert (await check_store(engine.config.db)).problems == ()


async def test_the_folder_has_a_file_for_each_addressee_whatever_its_name(tmp_path: Path) -> None:
    folder = JsonLinesFolder(tmp_path / "out")
    record = Record("m", message("news", {"é": 1}, at=START), "News", START, START)
    for addressee in ("orchestrator", "../up", "a/b", "people"):
        await folder.tell(record, key="k", addressee=addressee)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["..%2Fup.jsonl", "a%2Fb.jsonl", "orchestrator.jsonl", "people.jsonl"]
    (line,) = (tmp_path / "out" / "people.jsonl").read_text("utf-8").splitlines()
    told = json.loads(line)
    assert (told["key"], told["addressee"], told["fields"]["payload"]) == ("k", "people", {"é": 1})


async def test_a_line_that_a_crash_cut_off_does_not_spoil_the_next(tmp_path: Path) -> None:
    folder = JsonLinesFolder(tmp_path)
    record = Record("m", message("news", {}, at=START), "News", START, START)
    folder.file_of("people").write_text('{"key": "torn')
    await folder.tell(record, key="k", addressee="people")
    torn, whole = folder.file_of("people").read_text("utf-8").splitlines()
    assert json.loads(whole)["key"] == "k"
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(torn)
