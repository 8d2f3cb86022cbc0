"""From a failure to a case: a check that the output fails and the corrected one passes; a draft where nobody said what is right."""

from __future__ import annotations

import json
from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.api.testing import promote_failure
from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Benchmark, TestCase
from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.cases.promote import TAG
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.judge_queue import next_question
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.errors import BadInputError, NotFoundError, SealedError
from minions_evals_mcp.scoring.verdicts.separating_checks import failing_checks, passes, separating_checks
from tests.workshop import all_of, answer, bench, benchmark, case, found, judged_case, minion, save

WRONG = "Your order arrives on 21 November."
RIGHT = "It comes on 19 November, with DHL."


async def failed(engine: Engine) -> str:
    """The id of a run in which the case c failed and d passed."""
    await save(engine, case("c", expectedOutputs={"output": "19 November"}, tags=["orders"]), answer("a", "c", WRONG))
    await save(engine, case("d", expectedOutputs={"output": "yes"}), answer("b", "d", "yes"), benchmark("b1", "c", "d"))
    return (await bench(engine, "b1", key="nightly")).id


@pytest.mark.parametrize("name", ["{run}:c", "nightly:c", "{run}:1.1"])
async def test_a_failed_run_becomes_a_case_that_fails_on_it_and_passes_on_the_corrected_output(
    engine: Engine, name: str
) -> None:
    run = await failed(engine)
    made = await promote_failure(engine, name.format(run=run), corrected=RIGHT, into="b1")
    kept = await found(engine, made.test_case_id, TestCase)
    assert (kept.fields.status, kept.fields.inputs) == ("active", {"q": "c"})
    assert kept.fields.expected_outputs == {"output": RIGHT}
    assert kept.fields.tags == ("orders", TAG)
    assert "19 November" in kept.fields.description, "what was wrong"
    assert (await found(engine, "b1", Benchmark)).fields.test_case_ids == ("c", "d", made.test_case_id)
    assert passes(kept.fields.assertions, WRONG) is False
    assert passes(kept.fields.assertions, RIGHT) is True
    assert passes(kept.fields.assertions, "You get it on 19 November by dhl") is True, (
        "facts, not words, are looked for"
    )
    judged = await judged_case(engine, made.test_case_id, agent_run_id="a")
    assert judged.fields.passed is False


async def test_a_promoted_case_weighs_what_the_case_did_that_failed(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": RIGHT}, maxScore=5), answer("a", "c", WRONG))
    made = await promote_failure(engine, (await judged_case(engine, "c")).id, corrected=RIGHT)
    assert (await found(engine, made.test_case_id, TestCase)).fields.max_score == 5


async def test_cases_that_are_promoted_side_by_side_are_all_taken_up(engine: Engine) -> None:
    run = await failed(engine)
    async with anyio.create_task_group() as tasks:
        for ident in (f"{run}:c", "a"):
            tasks.start_soon(partial(promote_failure, engine, ident, corrected=RIGHT, into="b1"))
    assert len((await found(engine, "b1", Benchmark)).fields.test_case_ids) == 4


async def test_without_what_is_right_it_is_a_draft_that_is_not_run_until_somebody_says_it(engine: Engine) -> None:
    run = await failed(engine)
    draft = await promote_failure(engine, f"{run}:c", why="The day is wrong.")
    kept = (await found(engine, draft.test_case_id, TestCase)).fields
    assert (draft.status, kept.status, kept.expected_outputs) == ("draft", "draft", None)
    assert (await next_question(engine)).unasked == {"draft": 1}
    assert (await read_overview(engine, skip=0, limit=10)).drafts == 1
    assert "The day is wrong." in kept.description
    assert passes(kept.assertions, WRONG) is False
    again = await promote_failure(engine, f"{run}:c")
    assert again.test_case_id == draft.test_case_id
    done = await promote_failure(engine, f"{run}:c", corrected=RIGHT)
    assert (done.test_case_id, done.status) == (draft.test_case_id, "active")
    assert (await next_question(engine)).unasked == {}
    assert len([one for one in await all_of(engine, TestCase) if TAG in one.fields.tags]) == 1


async def test_an_imported_trace_becomes_a_case(engine: Engine) -> None:
    await save(engine, minion("otel:1/2", "agent-run", agentId="desk", inputs={"q": "when?"}, outputs={"text": WRONG}))
    made = await promote_failure(engine, "otel:1/2", corrected=RIGHT, why="wrong day")
    kept = (await found(engine, made.test_case_id, TestCase)).fields
    assert (kept.inputs, kept.agent_id, kept.status) == ({"q": "when?"}, "desk", "active")
    assert made.what_was_wrong == "wrong day"


async def test_what_passed_what_is_not_there_and_a_correction_that_changes_nothing_are_refused(engine: Engine) -> None:
    run = await failed(engine)
    for ident in (f"{run}:d", f"{run}:2.1"):
        with pytest.raises(BadInputError, match="passed"):
            await promote_failure(engine, ident, corrected=RIGHT)
    for ident in (f"{run}:nobody", "nowhere:c", "nothing"):
        with pytest.raises(NotFoundError):
            await promote_failure(engine, ident, corrected=RIGHT)
    with pytest.raises(BadInputError, match="says what the wrong one says"):
        await promote_failure(engine, f"{run}:c", corrected=f" {WRONG} ")
    with pytest.raises(BadInputError, match="empty"):
        await promote_failure(engine, f"{run}:c", corrected=" \u200b ")
    assert not [one for one in await all_of(engine, TestCase) if TAG in one.fields.tags]


async def test_a_sealed_case_is_never_promoted(engine: Engine) -> None:
    run = await failed(engine)
    await seal_benchmark(engine, SealAsked(benchmark_id="b1"), by="ada")
    with pytest.raises(SealedError, match="sealed"):
        await promote_failure(engine, f"{run}:c", corrected=RIGHT)
    with pytest.raises((SealedError, NotFoundError)):
        await promote_failure(engine, f"{run}:1.1", corrected=RIGHT)


@pytest.mark.parametrize(
    ("wrong", "corrected", "kind"),
    [
        ("I'm sorry, I can't help with that.", "Refunds take 14 days.", "not-is-refusal"),
        ("The refund is on its way.", '{"amount": 5, "currency": "EUR"}', "is-json"),
        ('{"amount": 6}', '{"amount": 5}', "is-json"),
        ("It is possible.", "It is not possible.", "icontains-all"),
        ("", "Refunds take 14 days.", "icontains-all"),
        ("a.b", "A.B", "equals"),
    ],
)
def test_the_most_telling_check_that_tells_both_apart_is_taken(wrong: str, corrected: str, kind: str) -> None:
    checks = separating_checks(wrong, corrected)
    assert checks[0].type == kind
    assert passes(checks, corrected) is True
    assert passes(checks, wrong) is False


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["7 days", "It costs 5 EUR.", '{"a": 1}', "[1, 2]", "I'm sorry, I can't.", "No.", "no.", "STOP 12"]
)


@given(TEXTS, TEXTS.filter(str.strip))
@settings(max_examples=150)
def test_whatever_the_texts_the_checks_tell_them_apart(wrong: str, corrected: str) -> None:
    if wrong.strip() == corrected.strip():
        with pytest.raises(ValueError, match="what the wrong one says"):
            separating_checks(wrong, corrected)
        return
    checks = separating_checks(wrong, corrected)
    assert passes(checks, corrected) is True
    assert passes(checks, wrong) is False
    assert passes(failing_checks(wrong), wrong) is False
    again = [Assertion.model_validate_json(json.dumps(one.model_dump(mode="json"))) for one in checks]
    assert passes(again, corrected) is True
