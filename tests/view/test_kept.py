"""What a page keeps in memory, and that nothing written since is missing from it."""

from __future__ import annotations

import gc
from contextlib import closing
from pathlib import Path

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.store.connection import open_raw
from minions_evals_mcp.store.queries.pages.run_cases import CaseLine
from minions_evals_mcp.view.reading_cache import MOST, ReadingCache
from tests.shared.view.visitor import visitor
from tests.workshop import case, config_in, first, fleet, measured, opened, save

OUTPUT = '"output" class="small"><span class="clamp">good<'


async def asked_twice(engine: Engine, answers: ReadingCache, key: str = "k") -> int:
    """How often two questions in a row are answered anew."""
    made: list[int] = []

    async def make() -> int:
        made.append(1)
        return 1

    await answers.answer(engine, key, make)
    await answers.answer(engine, key, make)
    return len(made)


async def test_an_answer_is_made_once_until_something_is_written_by_anybody(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        answers = ReadingCache()
        assert await asked_twice(engine, answers) == 1
        assert await asked_twice(engine, answers) == 0
        await save(engine, [case("x")])
        assert await asked_twice(engine, answers) == 1
        with closing(open_raw(tmp_path / "evals.db")) as other:  # as another process does
            other.execute("UPDATE minion SET title = 'other' WHERE id = 'x'")
        assert await asked_twice(engine, answers) == 1


async def test_an_answer_that_was_overtaken_by_a_commit_is_not_kept(engine: Engine) -> None:
    answers = ReadingCache()

    async def overtaken() -> str:
        await save(engine, [case("x")])
        assert await asked_twice(engine, answers, "another page, which sees the commit") == 1
        return "old"

    assert await answers.answer(engine, "k", overtaken) == "old"
    assert await asked_twice(engine, answers) == 1


async def test_no_more_answers_are_held_than_there_is_room_for(engine: Engine) -> None:
    answers = ReadingCache()
    for number in range(2 * MOST):
        await asked_twice(engine, answers, str(number))
    assert len(answers.answers) == MOST
    assert await asked_twice(engine, answers, str(2 * MOST - 1)) == 0, "the newest ones are held"


async def test_pages_that_were_open_show_what_is_written_and_hide_what_is_sealed(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v1", first(3, 3))
    addresses = ("/run?id=job1", "/cases?id=job1", "/progress?id=job1", "/benchmark?id=b")
    async with visitor(engine) as client:
        before = {address: (await client.get(address)).text for address in addresses}
        assert {address: (await client.get(address)).text for address in addresses} == before
        await measured(engine, "v2", first(1, 3))
        assert "later run" in (await client.get("/run?id=job1")).text
        assert "▼ dropped, too few cases changed to test" in (await client.get("/benchmark?id=b")).text
        assert OUTPUT in (await client.get("/cases?id=job1")).text
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        assert OUTPUT not in (await client.get("/cases?id=job1")).text


async def test_what_a_polled_part_was_made_of_goes_when_the_part_is_sent(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v1", first(3, 3))
    async with visitor(engine) as client:
        await client.get("/cases?id=job1")
        gc.collect()
        gc.disable()  # an hour of polls makes less garbage than Python waits for
        try:
            for name in "xyz":
                await save(engine, [case(name)])
                assert OUTPUT in (await client.get("/cases?id=job1")).text
            held = sum(isinstance(one, CaseLine) for one in gc.get_objects())
            assert held <= 3, "at most what the thread that read last has in hand"
        finally:
            gc.enable()
