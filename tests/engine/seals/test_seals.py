"""Sealed benchmarks: what is sealed decides, and is not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import Approval, BenchmarkRun, PromptComparison
from minions_evals_mcp.domain.seals import SealedVerdict, drawn
from minions_evals_mcp.domain.speaker import REMOTE_AGENT, person
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, start_comparison
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.classify_failure import store_findings
from minions_evals_mcp.engine.records.save_records import Arrival, Saved, delete_record, get_record, save_records
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.seals.exposures import budget_left
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark, unseal
from minions_evals_mcp.engine.trials.trial import TrialRequest, compare_sealed, try_version
from minions_evals_mcp.errors import BadInputError, ConflictError, RuleError, SealedError
from minions_evals_mcp.store import records, seals
from minions_evals_mcp.store.backup import back_up
from tests.workshop import (
    answer,
    bench,
    benchmark,
    by_rule,
    case,
    config_in,
    found,
    minion,
    opened,
    rubric,
    save,
    says,
    try_case,
)

CASES = 24


async def versions(engine: Engine, *passed: Sequence[bool], cases: int = CASES) -> None:
    """The benchmark `b` of which each case expects "good", and versions v1, v2, … with recorded answers to all of them."""
    idents = [f"c{number}" for number in range(cases)]
    await save(
        engine,
        [case(ident, expectedOutputs={"output": "good"}, passRule="max_score") for ident in idents],
        benchmark("b", *idents),
        [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n) for n in range(1, len(passed) + 1)],
        relations=[Relation(f"v{n}", f"v{n - 1}", "follows") for n in range(2, len(passed) + 1)],
    )
    for number, verdicts in enumerate(passed, 1):
        await answers(engine, number, verdicts)


async def answers(engine: Engine, number: int, verdicts: Sequence[bool]) -> None:
    await save(
        engine,
        [
            answer(f"v{number}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=f"v{number}")
            for n, good in enumerate(verdicts)
        ],
    )


def asked(a: str = "v1", b: str = "v2", *, of: str = "b", **more: JsonValue) -> ComparisonRequest:
    return ComparisonRequest.model_validate({"benchmark_id": of, "version_a": a, "version_b": b, **more})


async def decide(engine: Engine, version: str, **more: JsonValue) -> Approval:
    usual = {"prompt_version_ref": version, "decided_by": "maria", "decided_by_type": "human"}
    return (await approve_prompt_version(engine, ApprovalAsked.model_validate({**usual, **more}))).fields


async def test_a_share_is_sealed_in_a_benchmark_of_its_own_and_the_seed_says_which(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [True] * CASES)
        made = await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.25, seed=3), by="agent")
        opened_part, part = await found(engine, "b", Benchmark), await found(engine, "b.sealed", Benchmark)
    assert (made.cases, made.open_cases) == (6, 18)
    assert part.fields.test_case_ids == drawn([f"c{n}" for n in range(CASES)], share=0.25, seed=3)
    assert part.fields.sealed
    assert set(opened_part.fields.test_case_ids) | set(part.fields.test_case_ids) == {f"c{n}" for n in range(CASES)}
    assert not opened_part.fields.sealed


async def test_a_sealed_benchmark_is_compared_and_tells_a_verdict_that_an_approval_can_rest_on(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        verdict = await compare_sealed(engine, asked())
        assert isinstance(verdict, SealedVerdict)
        assert (verdict.verdict, verdict.attempt) == ("improved", 1)
        assert verdict.budget.attempt == 2
        with pytest.raises(SealedError, match="Ship v2: it is significantly better on the sealed cases"):
            await get_record(engine, verdict.comparison_id)
        assert (await decide(engine, "v2")).comparison_id == verdict.comparison_id


async def test_a_comparison_on_sealed_cases_gives_its_figures_to_nobody_who_calls_the_engine(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        with pytest.raises(SealedError, match="returns only its verdict"):
            await compare_prompt_versions(engine, asked())


@pytest.mark.parametrize("what", ["run", "case", "caller", "human", "sequential"])
async def test_sealed_cases_are_run_whole_by_rule_or_model_or_not_at_all(tmp_path: Path, what: str) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        with pytest.raises(SealedError):
            match what:
                case "run":
                    await bench(engine, "b")
                case "case":
                    await try_case(engine, "c1")
                case "sequential":
                    await compare_sealed(engine, asked(sequential=True))
                case _:
                    await compare_sealed(engine, asked(judge=what))


async def test_open_cases_that_ask_the_same_are_named_when_a_benchmark_is_sealed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [True] * CASES)
        await save(
            engine, minion("twin", "test-case", name="twin", inputs={"q": "c1"}, expectedOutputs={"output": "x"})
        )
        made = await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
    assert made.open_copies == ["twin"]
    assert "Open cases have the same inputs and reveal them: twin" in made.in_words


async def test_no_door_of_the_engine_edits_or_hides_what_is_sealed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        graded = rubric("r", 0.5, good=says("good"))
        await save(engine, graded, case("c1", rubricId="r"), case("c2"), benchmark("b", "c1", passingThreshold=0.5))
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        edits = [
            rubric("r", 0.1, good=says("good"))[0],
            minion("r/good", "rubric-criterion", rubricId="r", name="good", **by_rule("[{type: icontains, value: g}]")),
            benchmark("b", "c1", "c2", passingThreshold=0.5, sealed=True),
            benchmark("b", "c1", passingThreshold=0.1, sealed=True),
            benchmark("b", "c1", passingThreshold=0.5),
            benchmark("other", "c1"),
            minion("br", "test-branch", testCaseId="c1", name="br", provider="openai", model="m"),
        ]
        for edit in edits:
            with pytest.raises(SealedError):
                await save(engine, edit)
        for ident in ("c1", "b", "r"):
            with pytest.raises(SealedError):
                await delete_record(engine, ident)


@pytest.mark.parametrize("inputs", [{"q": "c1"}, {"q": "easier"}])
async def test_a_sealed_case_that_comes_in_again_is_left_as_it_is_and_not_compared(
    tmp_path: Path, inputs: dict[str, JsonValue]
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, case("c1", expectedOutputs={"output": "x"}), benchmark("b", "c1"))
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        again = Arrival(case("c1", expectedOutputs={"output": "x"}, inputs=inputs))
        left = "1 sealed record is unchanged. The new content was not compared with it"
        assert await save_records(engine, [again]) == Saved(0, 0, 0, (left,))
        with pytest.raises(SealedError, match="test-case c1 belongs to the sealed benchmark b and is not edited"):
            await save_records(engine.speaking(REMOTE_AGENT), [again])


async def test_recorded_outputs_of_sealed_cases_come_whole_and_marked_and_stay_hidden(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        newer = minion("v3", "prompt-version", content="Say 3.", versionNumber=3)
        await save(engine, newer, relations=[Relation("v3", "v2", "follows")])
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        for number in (0, CASES - 1):
            await answers(engine, 3, [True] * number)
            with pytest.raises(SealedError, match="not every case has a recorded output for v3"):
                await compare_sealed(engine, asked("v1", "v3"))
        marked = [answer(f"m{n}", f"c{n}", "good", promptVersionRef="v3", extra={"sealed": True}) for n in range(CASES)]
        await save(engine, marked)
        assert (await compare_sealed(engine, asked("v1", "v3"))).verdict == "improved"
        seen = await engine.store.read(lambda db: [record.id for _, record in records.page(db, "agent-run")])
    assert seen == [f"v3/{n}" for n in range(CASES - 1)]


async def test_unsealing_is_an_event_with_its_reason_and_gives_the_cases_back(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.5), by="agent")
        verdict = await compare_sealed(engine, asked(of="b.sealed"))
        await unseal(engine, "b", "a case was wrong", by="person:maria")
        back = await found(engine, "b", Benchmark)
        told = await engine.store.read(
            lambda db: db.execute("SELECT subject_id, detail FROM event WHERE type = 'unsealed'").fetchall()
        )
        comparison = await found(engine, verdict.comparison_id, PromptComparison)
        run = await found(engine, comparison.fields.benchmark_run_id_b, BenchmarkRun)
    assert set(back.fields.test_case_ids) == {f"c{n}" for n in range(CASES)}
    assert [(subject, json.loads(detail)) for subject, detail in told] == [
        ("b.sealed", {"reason": "a case was wrong", "by": "person:maria"})
    ]
    assert run.fields.passed_count == CASES // 2


async def test_each_verdict_spends_the_budget_of_all_versions_and_of_every_copy_of_the_contents(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        same = [n % 2 == 0 for n in range(CASES)]
        await versions(engine, same, same, same)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        first = await compare_sealed(engine, asked("v1", "v2"))
        other = await compare_sealed(engine, asked("v2", "v3"))
        await unseal(engine, "b", "to be sealed again under another name", by="agent")
        await save(
            engine,
            [
                minion(f"d{n}", "test-case", name="a copy", inputs={"q": f"c{n}"}, passRule="max_score",
                       expectedOutputs={"output": "good"})
                for n in range(CASES)
            ],
            benchmark("copy", *(f"d{n}" for n in range(CASES))),
        )  # fmt: skip
        await seal_benchmark(engine, SealAsked(benchmark_id="copy"), by="agent")
        copied = await compare_sealed(engine, asked("v1", "v3", of="copy"))
    assert [first.attempt, other.attempt, copied.attempt] == [1, 2, 3]


async def test_the_open_part_of_a_sealed_benchmark_approves_nothing_and_spends_nothing(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.5), by="agent")
        on_open = [await compare_prompt_versions(engine, asked(fresh=fresh)) for fresh in (False, True)]
        assert [one.fields.open_part for one in on_open if one] == [True, True]
        with pytest.raises(RuleError, match="open part"):
            await decide(engine, "v2")
        verdict = await compare_sealed(engine, asked(of="b.sealed"))
        assert verdict.attempt == 1
        assert (await decide(engine, "v2")).reason.startswith("improved on the sealed cases of b.sealed (attempt 1).")


async def test_a_trial_answers_for_both_parts_and_says_what_is_left(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.5), by="agent")
        looked = await try_version(engine, TrialRequest(benchmark_id="b", version="v2"))
        assert looked.open is not None
        assert (looked.open.verdict, looked.sealed, looked.may_be_approved) == ("improved", None, False)
        assert looked.budget is not None
        assert looked.budget.attempt == 1
        tried = await try_version(engine, TrialRequest(benchmark_id="b", version="v2", sealed=True, key="t"))
        again = await try_version(engine, TrialRequest(benchmark_id="b", version="v2", sealed=True, key="t"))
        assert tried.sealed is not None
        assert (tried.sealed.verdict, tried.may_be_approved) == ("improved", False), "agents handed the outputs in"
        hers = engine.speaking(person("maria"))
        by_person = await try_version(hers, TrialRequest(benchmark_id="b", version="v2", sealed=True, key="t"))
        assert by_person.may_be_approved
        assert again.sealed == tried.sealed
        assert (await budget_left(engine, "b")).attempt == 2
        with pytest.raises(SealedError, match="maxAttempts"):
            await try_version(engine, TrialRequest(benchmark_id="b", version="v2", sealed=True, max_attempts=1))


async def test_a_budget_that_nothing_could_decide_any_more_is_said_to_be_spent(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [False] * 4, [True] * 4, cases=4)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        with pytest.raises(SealedError, match="b has 4 sealed cases; at least 7 are needed for attempt 1"):
            await compare_sealed(engine, asked())
        with pytest.raises(SealedError, match="at least 7 are needed"):
            await start_comparison(engine, asked())


async def test_what_is_to_be_remembered_of_a_sealed_failure_says_nothing_of_it(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [True] * CASES, [False] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        await compare_sealed(engine, asked())
        failed = await engine.store.read_whole(
            lambda db: db.execute("SELECT id FROM test_run WHERE passed = 0 LIMIT 1").fetchone()[0]
        )
        await store_findings(engine, failed)
        values = "SELECT json_extract(fields, '$.value') FROM outbox WHERE type = 'memory-item'"
        ((written,),) = await engine.store.read_whole(lambda db: db.execute(values).fetchall())
        assert failed in written
        assert await engine.store.read(lambda db: db.execute(values).fetchall()) == [("sealed",)]


async def test_a_canary_is_not_sealed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        trap = case("trap", expectedOutputs={"output": "zebra-7731"}, canary=True)
        await save(engine, [trap, case("c", expectedOutputs={"output": "good"})], benchmark("b", "c", "trap"))
        with pytest.raises(BadInputError, match="trap is a canary, which cannot be sealed"):
            await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")


async def test_what_another_benchmark_would_show_or_a_person_must_judge_is_not_sealed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [True] * CASES)
        await save(engine, benchmark("other", "c1"), case("bare"), benchmark("by-people", "bare"))
        with pytest.raises(BadInputError, match="the benchmark other also has c1"):
            await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        with pytest.raises(BadInputError, match="judged by a person"):
            await seal_benchmark(engine, SealAsked(benchmark_id="by-people"), by="agent")
        await delete_record(engine, "other")
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        with pytest.raises(ConflictError, match="already sealed"):
            await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")


async def test_a_benchmark_that_comes_in_sealed_is_sealed_at_once(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        batch = [case("c1", expectedOutputs={"output": "good"}), benchmark("b", "c1", sealed=True)]
        await save(engine, batch)
        await save(engine, batch)
        assert await engine.store.read(lambda db: [one.benchmark_id for one in seals.seals(db)]) == ["b"]
        with pytest.raises(SealedError):
            await bench(engine, "b")


def telling(folder: Path, word: bytes) -> list[str]:
    """The files in the folder that hold the word."""
    return [file.name for file in folder.iterdir() if file.is_file() and word in file.read_bytes()]


async def test_with_a_key_the_file_itself_does_not_tell_what_is_sealed(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    with_key, without = replace(config_in(tmp_path), seal_key=key), config_in(tmp_path)
    secret = case(
        "c1", name="Whisper name", inputs={"q": "Whisper input"}, tags=["Whisper"],
        assertions=[{"type": "icontains", "value": "Whisper asserted"}],
    )  # fmt: skip
    async with opened(with_key) as engine:
        await save(engine, secret, benchmark("b", "c1"))
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        assert (await get_record(engine, "c1")).title == "sealed case"
    assert telling(tmp_path, b"Whisper") == []
    copied = await back_up(tmp_path / "evals.db", tmp_path / "copy.db")
    assert "1 sealed cases, all encrypted" in copied.warning
    async with opened(without) as engine:
        assert (await get_record(engine, "c1")).status == "sealed"
        with pytest.raises(BadInputError, match="MINIONS_EVALS_SEAL_KEY"):
            await unseal(engine, "b", "without the key", by="agent")
    async with opened(with_key) as engine:
        await unseal(engine, "b", "with the key", by="agent")
        back = await get_record(engine, "c1")
    assert (back.title, back.wire()["fields"]) == (secret.title, secret.wire()["fields"])


async def test_encrypted_cases_are_compared_as_before(tmp_path: Path) -> None:
    async with opened(replace(config_in(tmp_path), seal_key=Fernet.generate_key().decode())) as engine:
        await versions(engine, [False] * CASES, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b", share=0.5), by="agent")
        assert (await compare_sealed(engine, asked(of="b.sealed"))).verdict == "improved"
        assert (await decide(engine, "v2")).decision == "approved"


async def test_a_key_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="MINIONS_EVALS_SEAL_KEY is not a key"):
        async with opened(replace(config_in(tmp_path), seal_key="secret")):
            pass


async def test_what_is_sealed_is_read_whole_only_where_the_engine_works(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await versions(engine, [True] * CASES)
        await seal_benchmark(engine, SealAsked(benchmark_id="b"), by="agent")
        shown = await engine.store.read(lambda db: records.minion(db, "c1"))
        whole = await engine.store.read_whole(lambda db: records.minion(db, "c1"))
        assert shown is not None
        assert whole is not None
        assert (shown.status, shown.title, shown.wire()["fields"]) == (
            "sealed",
            "sealed case",
            {"name": "sealed case", "description": "", "inputs": {}, "assertions": [], "passRule": "max_score",
             "maxScore": 1.0, "tags": [], "status": "active"},
        )  # fmt: skip
        assert whole.wire()["title"] == "c1"
        assert await engine.store.read(lambda db: seals.sealed_among(db, ["c1", "zz"])) == {"c1"}
