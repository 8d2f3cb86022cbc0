"""How outputs compare with what was expected: measured with the run where a verdict rests on it, else when it is first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.embedding.embedder import Vector
from minions_evals_mcp.embedding.local import WORDLLAMA_NAME, wordllama_embedder
from minions_evals_mcp.engine.cases.test_history import test_case_executions as executions_of
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.records.save_records import get_record, page_of
from minions_evals_mcp.errors import InstrumentError
from tests.workshop import all_of, answer, bench, benchmark, case, config_in, opened, rubric, save, says, try_case

EXPECTED = "The parcel arrives on Monday."
SAID = "The parcel will arrive on Monday, in the morning."


@dataclass
class Counting:
    """An embedder that counts how often it is asked, and for how many texts."""

    name: str
    asked: list[int] = field(default_factory=list[int])
    refuses: str = ""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.append(len(texts))
        if self.refuses and any(self.refuses in text for text in texts):
            raise InstrumentError("it does not take that text")
        return await wordllama_embedder().embed(texts)


async def stocked(engine: Engine, size: int = 3) -> None:
    """The benchmark `b`: a rule judges the outputs, and a text is expected, too."""
    names = [f"c{n}" for n in range(size)]
    cases = [case(name, rubricId="r", expectedOutputs={"output": EXPECTED}) for name in names]
    await save(engine, rubric("r", 1, a=says("Monday")), cases, benchmark("b", *names))
    await save(engine, [answer(f"a-{name}", name, SAID) for name in names])


async def only_run(engine: Engine) -> Record[TestRun]:
    (run,) = await all_of(engine, TestRun)
    return run


async def test_what_no_verdict_rests_on_is_measured_when_it_is_read_and_not_before(engine: Engine) -> None:
    engine.opened_embedder = embedder = Counting(WORDLLAMA_NAME)
    await stocked(engine, 1)
    assert (await bench(engine, "b")).state == "completed"
    kept = await only_run(engine)
    assert (kept.fields.semantic_score, kept.fields.digests.embedder) == (None, WORDLLAMA_NAME)
    assert not embedder.asked
    (shown,) = [record.fields for _, record in await page_of(engine, "test-run", limit=5)]
    assert isinstance(shown, TestRun)
    assert shown.semantic_score is not None
    assert 0.5 < shown.semantic_score < 1
    assert (shown.exact_match, shown.length_diff) == (False, len(SAID) - len(EXPECTED))
    assert shown.token_diff is not None
    assert shown.output_diff is not None
    assert (await get_record(engine, kept.id)).fields == shown
    (execution,) = (await executions_of(engine, "c0")).executions
    assert (execution.semantic_score, execution.token_diff) == (shown.semantic_score, shown.token_diff)


async def test_what_was_expected_then_is_compared_though_the_case_was_changed_since(engine: Engine) -> None:
    await stocked(engine, 1)
    await bench(engine, "b")
    await save(engine, case("c0", rubricId="r", expectedOutputs={"output": SAID}))
    (execution,) = (await executions_of(engine, "c0")).executions
    assert (execution.expected_output, execution.exact_match) == (EXPECTED, False)
    await bench(engine, "b")
    newest, oldest = (await executions_of(engine, "c0")).executions
    assert (newest.expected_output, newest.exact_match, newest.semantic_score) == (SAID, True, 1.0)
    assert oldest == execution


async def test_what_a_case_expected_is_kept_when_it_is_edited_and_once(engine: Engine) -> None:
    async def kept() -> int:
        return await engine.store.read(lambda db: db.execute("SELECT count(*) FROM expected").fetchone()[0])

    await stocked(engine, 1)
    await bench(engine, "b")
    assert await kept() == 0
    for number, said in enumerate((SAID, EXPECTED, SAID, EXPECTED), 1):
        await save(engine, case("c0", rubricId="r", expectedOutputs={"output": said}))
        assert await kept() == min(number, 2)
    await save(engine, case("c0", rubricId="r", expectedOutputs={"output": EXPECTED}, tags=["odd"]))
    assert await kept() == 2, "nothing that bears on the verdict was edited"


async def test_a_reader_of_a_store_that_is_read_only_sees_it_too(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    async with open_engine(config) as engine:
        await stocked(engine, 1)
        await bench(engine, "b")
        ident = (await only_run(engine)).id
    async with open_engine(type(config)(config.db, config.skills, read_only=True)) as engine:
        run = (await get_record(engine, ident)).fields
    assert isinstance(run, TestRun)
    assert run.semantic_score is not None


async def test_an_embedder_that_is_paid_for_is_asked_by_the_run_and_never_by_a_reader(engine: Engine) -> None:
    engine.opened_embedder = embedder = Counting("openai:text-embedding-3-small")
    await stocked(engine, 3)
    await bench(engine, "b")
    assert embedder.asked == [2], "the texts of all cases in one call"
    runs = await all_of(engine, TestRun)
    assert {run.fields.semantic_score for run in runs} != {None}
    await executions_of(engine, "c0")
    assert embedder.asked == [2]


async def test_a_text_that_the_embedder_refuses_costs_no_other_case_its_verdict(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        engine.opened_embedder = Counting("openai:text-embedding-3-small", refuses="poison")
        names = [f"c{n}" for n in range(6)]
        cases = [case(name, passRule="similarity_0_8", expectedOutputs={"output": EXPECTED}) for name in names]
        await save(engine, cases, benchmark("b", *names))
        said = [f"{EXPECTED} {'poison' if name == 'c2' else name}" for name in names]
        await save(engine, [answer(f"a-{name}", name, text) for name, text in zip(names, said, strict=True)])
        await bench(engine, "b")
        assert {run.fields.test_case_id for run in await all_of(engine, TestRun)} == set(names) - {"c2"}


@pytest.mark.parametrize("said", [EXPECTED, SAID])
async def test_a_case_that_is_run_alone_is_measured_at_once(engine: Engine, said: str) -> None:
    await save(engine, rubric("r", 1, a=says("Monday")), case("c", rubricId="r", expectedOutputs={"output": EXPECTED}))
    await save(engine, answer("a", "c", said))
    await try_case(engine, "c")
    run = await only_run(engine)
    assert run.fields.semantic_score is not None
    assert run.fields.exact_match is (said == EXPECTED)
