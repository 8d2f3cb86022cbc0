"""A model's cause stands beside what the rules found, and only with a step of the log and words of that step."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.classify_failure import classify_failure, classify_failures
from minions_evals_mcp.engine.failures.explain_failure import explainer
from minions_evals_mcp.engine.failures.receipts import ModelExplanation, model_sentence, with_receipt
from minions_evals_mcp.errors import BadInputError, InstrumentError, StoppedError
from tests.shared.fakes.llm_answers import Answer
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.shared.fakes.llm_wire import anthropic_body
from tests.workshop import START, Json, answer, bench, benchmark, case, config_in, failure_of, judged_case, opened, save

UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."
REFUSAL = "I'm sorry, but I can't help with that."
LOG: list[JsonValue] = [
    {"tool": "find_customer", "arguments": {"id": 7}, "result": {"name": "Ada", "city": "Bonn"}},
    {"tool": "find_order", "arguments": {"customer": "Ben"}, "error": "no such customer"},
]
SOUND: Json = {
    "step": 2, "quote": '"customer": "Ben"', "description": "It looked for Ben.", "rootCause": "The wrong customer was asked"
    " for.",
    "failureType": "wrong-output", "confidence": 0.99,
}  # fmt: skip


@asynccontextmanager
async def failing(folder: Path, *, output: str = UNSURE, allowed: bool = True) -> AsyncGenerator[tuple[Engine, Server]]:
    """An engine with a model, whose operator allows or forbids explanations, and one failed run of the case `c`."""
    async with serving() as server:
        config = replace(config_in(folder, model_url=server.url), explain=allowed)
        async with opened(config) as engine:
            await save(engine, case("c", expectedOutputs={"output": "good"}))
            await save(engine, answer("a", "c", output, toolCallsLog=LOG))
            yield engine, server


def says(server: Server, said: Json | str) -> None:
    """From now on the model says that."""
    text = said if isinstance(said, str) else json.dumps(said)
    server.canned = json.dumps(anthropic_body("fake-judge", Answer(text, 100, judge=True), "")).encode()


async def test_a_cause_that_quotes_its_step_is_kept_beside_what_the_rules_found(tmp_path: Path) -> None:
    async with failing(tmp_path) as (engine, server):
        run = await judged_case(engine, "c")
        by_rules = await failure_of(engine, run.id)
        assert server.requests == 0, "never in the transaction of the run"
        says(server, SOUND)
        changed = (await classify_failure(engine, run.id)).fields
        kept = await failure_of(engine, run.id)
        facts = await engine.store.read(lambda db: db.execute("SELECT type, subject_id FROM event").fetchall())
        again = (await classify_failure(engine, run.id)).fields
    assert server.requests == 1, "what it has explained it is not asked again"
    assert kept == changed == again
    assert kept.model_copy(update={"model_cause": None}) == by_rules
    said = kept.model_cause
    assert said is not None
    assert (said.by, said.step, said.quote, said.refused) == ("anthropic:fake-judge", 2, '"customer": "Ben"', "")
    assert said.confidence == 0.9
    assert ("eval-failure-classified", f"{run.id}:failure") in facts
    assert model_sentence(said).endswith('(step 2: “"customer": "Ben"”)')


ABSENT = "(absent)"
CANNED: dict[str, tuple[Json, str]] = {
    "prose alone": ({"step": None, "quote": ""}, "names no step"),
    "no step at all": ({"step": ABSENT, "quote": ABSENT}, "names no step"),
    "a step that is not there": ({"step": 3}, "names step 3 of a log of 2 steps"),
    "a quote of another step": ({"step": 1}, "is not in step 1"),
    "a paraphrase": ({"quote": "the customer was Ben"}, "is not in step 2"),
    "a key": ({"quote": "arguments"}, "is not in step 2"),
    "no quote": ({"quote": ""}, "is not in step 2"),
    "blank quote": ({"quote": "  "}, "is not in step 2"),
    "nothing said": ({"rootCause": " ", "description": ""}, "gives no cause"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), CANNED.values(), ids=CANNED)
async def test_with_a_model_that_returns_canned_prose_no_cause_loses_its_quote(
    tmp_path: Path, change: Json, why: str
) -> None:
    async with failing(tmp_path) as (engine, server):
        run = await judged_case(engine, "c")
        by_rules = await failure_of(engine, run.id)
        says(server, {name: value for name, value in {**SOUND, **change}.items() if value != ABSENT})
        kept = (await classify_failure(engine, run.id)).fields
    assert kept.model_copy(update={"model_cause": None}) == by_rules
    assert "no such customer" in kept.root_cause, "the step that the rules quote"
    said = kept.model_cause
    assert said is not None
    assert why in said.refused
    assert (said.root_cause, said.quote, said.step) == ("", "", None)
    assert model_sentence(said) == f"anthropic:fake-judge was asked, but its answer was discarded: {said.refused}"


async def test_it_may_say_that_the_log_shows_no_cause(tmp_path: Path) -> None:
    async with failing(tmp_path) as (engine, server):
        run = await judged_case(engine, "c")
        says(server, {**SOUND, "step": 0, "quote": "whatever"})
        said = (await classify_failure(engine, run.id)).fields.model_cause
    assert said is not None
    assert (said.step, said.quote, said.root_cause) == (0, "", SOUND["rootCause"])
    assert "the log shows no cause" in model_sentence(said)


async def test_no_model_is_asked_where_the_operator_does_not_allow_it_or_the_rules_are_sure(tmp_path: Path) -> None:
    async with failing(tmp_path / "off", allowed=False) as (engine, server):
        run = await judged_case(engine, "c")
        assert (await failure_of(engine, run.id)).confidence < 0.75
        await classify_failure(engine, run.id)
        await classify_failures(engine, run.id)
        assert server.requests == 0
        await classify_failure(engine, run.id, explain=True)
        assert server.requests == 1
    async with failing(tmp_path / "sure", output=REFUSAL) as (engine, server):
        run = await judged_case(engine, "c")
        await classify_failure(engine, run.id)
        await classify_failure(engine, run.id, explain=True)
        assert server.requests == 0


async def test_so_many_questions_and_no_more(tmp_path: Path) -> None:
    async with failing(tmp_path) as (engine, server):
        await save(engine, *(case(name, expectedOutputs={"output": "good"}) for name in "de"), benchmark("b", *"cde"))
        await save(engine, *(answer(f"a-{name}", name, UNSURE) for name in "de"))
        await bench(engine, "b", key="k")
        says(server, SOUND)
        with pytest.raises(StoppedError, match="2 failures were explained"):
            await classify_failures(engine, "k", by=explainer(engine, most=2))
        assert server.requests == 2


async def test_a_model_that_fails_leaves_the_rules_analysis(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(p529=1.0)) as server,
        opened(replace(config_in(tmp_path, model_url=server.url), explain=True)) as engine,
    ):
        await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", UNSURE))
        run = await judged_case(engine, "c")
        before = await failure_of(engine, run.id)
        with pytest.raises(InstrumentError, match="did not classify"):
            await classify_failure(engine, run.id)
        assert await failure_of(engine, run.id) == before


async def test_without_a_model_it_cannot_be_asked_for(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", "bad"))
    run = await judged_case(engine, "c")
    with pytest.raises(BadInputError, match="no model"):
        await classify_failure(engine, run.id, explain=True)
    assert isinstance((await classify_failure(engine, run.id)).fields, EvalFailure)


LEAVES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=3, max_size=30)


@given(st.lists(LEAVES, min_size=1, max_size=4), LEAVES, st.integers(0, 6))
def test_a_quote_is_kept_only_where_it_stands_word_for_word(texts: list[str], quote: str, step: int) -> None:
    log: list[Json] = [{"tool": "t", "arguments": {"v": text}} for text in texts]
    said = ModelExplanation(root_cause="because", failure_type="wrong-output", confidence=0.5, step=step, quote=quote)
    found = with_receipt(said, log, by="m", at=START)
    if not found.refused and step:
        assert quote.strip() in json.dumps(log[step - 1], ensure_ascii=False) or quote.strip() in texts[step - 1]
    for text in texts[:1]:
        if text.strip():
            exact = with_receipt(said.model_copy(update={"step": 1, "quote": text}), log, by="m", at=START)
            assert exact.refused == ""
