"""Whose evidence an approval rests on, what the chain may become, and which version is in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import Approval, EvalJudgment
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.cases.current_version import current_version, name_current
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.people.judge_queue import hand_in
from minions_evals_mcp.engine.people.persons import add_person, person_with_token, remove_person, token_hash
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.records.save_records import delete_record
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.store import jobs
from tests.shared.presentation.typed import typed
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    minion,
    opened,
    rubric,
    save,
)  # fmt: skip

ANNA = person("anna")
CASES = 12


def version(number: int, ident: str = "", prompt: str = "p") -> Record[Fields]:
    return minion(
        ident or f"p@{number}", "prompt-version", content=f"Say {number}.", versionNumber=number, promptId=prompt
    )


async def outputs(engine: Engine, of: str, right: int) -> None:
    """Recorded answers of the version, so many of them right."""
    await save(
        engine,
        [
            answer(f"{of}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=of)
            for n, good in enumerate(first(right, CASES))
        ],
    )


async def compared(engine: Engine, a: str, b: str, **request: object) -> str:
    asked = {"benchmark_id": "b", "version_a": a, "version_b": b, **request}
    made = await compare_prompt_versions(engine, ComparisonRequest.model_validate(asked))
    assert made is not None
    return made.id


async def decided(engine: Engine, ident: str, by: str = "", **more: object) -> str:
    """The decision of the person `by`, else of an agent."""
    who = {"decided_by": by or "agent", "decided_by_type": "human" if by else "agent"}
    asked = ApprovalAsked.model_validate({"prompt_version_ref": ident, **who, **more})
    return (await approve_prompt_version(engine, asked)).fields.decision


async def prompt(engine: Engine, *right: int, begin: int = 1) -> None:
    """The benchmark `b`, and versions p@1, p@2, … with so many right answers each; the first has the number `begin`."""
    await fleet(engine, CASES)
    for number, good in enumerate(right, begin):
        await save(engine, version(number))
        await outputs(engine, f"p@{number}", good)


async def test_an_agent_approves_nothing_on_outputs_that_agents_handed_in_until_a_person_vouches(
    tmp_path: Path,
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 2, 11)
        await compared(engine, "p@1", "p@2")
        with pytest.raises(RuleError, match=r"12 outputs of p@2 in .* were submitted, not by a person") as refused:
            await decided(engine, "p@2")
        assert "minions-evals approve p@2 --by NAME" in typed(refused.value)
        await outputs(engine.speaking(ANNA), "p@2", 11)  # the same outputs, imported by a person
        with pytest.raises(RuleError, match=r"12 outputs of p@1 in .* were submitted, not by a person"):
            await decided(engine, "p@2")
        await outputs(engine.speaking(ANNA), "p@1", 2)
        assert await decided(engine, "p@2") == "approved"


async def test_a_person_decides_on_outputs_that_an_agent_handed_in(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 2, 11)
        await compared(engine, "p@1", "p@2")
        assert await decided(engine, "p@2", by="anna") == "approved"


async def judged_comparison(engine: Engine, judge: str, *, said: str = "said {number}") -> str:
    """A comparison of p@1 and p@2 whose outputs wait for that judge."""
    await save(
        engine,
        rubric("r", 0.5, right={"description": "Is it right?"}),
        [case(f"c{n}", rubricId="r") for n in range(8)],
        benchmark("b", *[f"c{n}" for n in range(8)]),
    )
    for number in (1, 2):
        await save(engine, version(number))
        answers = [
            answer(f"{number}/{n}", f"c{n}", said.format(number=number, n=n), promptVersionRef=f"p@{number}")
            for n in range(8)
        ]
        await save(engine.speaking(ANNA), answers)
    asked = ComparisonRequest.model_validate(
        {"benchmark_id": "b", "version_a": "p@1", "version_b": "p@2", "judge": judge, "key": "k"}
    )
    assert await compare_prompt_versions(engine, asked) is None
    return (await get_job(engine, "k")).id


async def judged_whole(engine: Engine, comparison: str, *people: str) -> None:
    """Every output is judged, p@2's as right: by those people in turn, else by an agent."""
    for which, score in (("A", 0.0), ("B", 1.0)):
        side = await get_job(engine, f"{comparison}:{which}")
        rows = await engine.store.read(
            lambda db, ident=side.id: jobs.units_with(db, ident, ("awaiting-judgments",), limit=99)
        )
        given = (GivenJudgment(criterion_id="r/right", score=score, rationale="I read it"),)
        for place, row in enumerate(rows):
            assert row.packet is not None
            if people:
                await hand_in(engine, side.id, row.packet, given, by=person(people[place % len(people)]))
            else:
                packet = AnsweredPacket(digest=row.packet, judgments=given)
                await submit_judgments(engine, Submission(run_id=side.id, judged_by="another-agent", packets=(packet,)))


async def test_an_agent_approves_nothing_on_judgments_of_agents_whatever_they_call_themselves(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await judged_whole(engine, await judged_comparison(engine, "caller"))
        assert {one.fields.judged_by_type for one in await all_of(engine, EvalJudgment)} == {"llm"}
        with pytest.raises(
            RuleError, match=r"16 judgments of .* were submitted by agents, and an agent is the one who approves"
        ):
            await decided(engine, "p@2")
        assert await decided(engine, "p@2", by="anna") == "approved"


async def test_an_agent_approves_nothing_on_one_rationale_for_different_outputs(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        comparison = await judged_comparison(engine, "human", said="said {number} of {n}")
        await judged_whole(engine, comparison, "anna")
        with pytest.raises(
            RuleError,
            match=r"16 judgments of .* repeat one rationale for different outputs, and an agent is the one who approves",
        ):
            await decided(engine, "p@2")
        assert await decided(engine, "p@2", by="ben") == "approved"


async def test_a_person_who_judged_alone_gives_a_reason_and_one_of_two_need_not(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await judged_whole(engine, await judged_comparison(engine, "human"), "anna")
        with pytest.raises(RuleError, match="are by anna, who is also the one who approves"):
            await decided(engine, "p@2", by="anna")
        assert await decided(engine, "p@2", by="ben") == "approved"


async def test_a_person_who_judged_alone_passes_with_a_reason(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await judged_whole(engine, await judged_comparison(engine, "human"), "anna")
        assert await decided(engine, "p@2", by="anna", reason="nobody else reads Welsh") == "approved"


async def test_two_people_who_judged_need_no_reason(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await judged_whole(engine, await judged_comparison(engine, "human"), "anna", "ben")
        assert await decided(engine, "p@2", by="anna") == "approved"


# What is slipped in


async def test_a_bad_version_slipped_under_the_chain_is_not_what_must_be_beaten(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 11, 8, begin=2)
        await save(engine, version(1))
        await outputs(engine, "p@1", 0)
        await compared(engine, "p@1", "p@3")
        with pytest.raises(RuleError, match="no comparison of p@3 with the current version p@2"):
            await decided(engine, "p@3", by="anna")


@pytest.mark.parametrize("how", ["by number", "by what it follows", "with an equal number"])
async def test_once_measured_a_chain_takes_nothing_under_or_beside_it(tmp_path: Path, how: str) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 11, 8, begin=2)
        await bench(engine, "b", prompt_version_ref="p@2")
        with pytest.raises(RuleError, match="HR2"):
            match how:
                case "by number":
                    await save(engine, version(1))
                case "with an equal number":
                    await save(engine, version(3, "p@3b"))
                case _:
                    slipped = minion("under", "prompt-version", content="Bad.", versionNumber=9)
                    await save(engine, slipped, relations=[Relation("p@2", "under", "follows")])


async def test_a_predecessor_is_set_once(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 2, 8)
        await save(engine, relations=[Relation("p@2", "p@1", "follows")])
        await save(engine, relations=[Relation("p@2", "p@1", "follows")])  # the same again changes nothing
        await save(engine, minion("other", "prompt-version", content="Other.", versionNumber=1))
        with pytest.raises(RuleError, match="it already follows p@1, which cannot change"):
            await save(engine, relations=[Relation("p@2", "other", "follows")])


async def test_a_chain_that_was_approved_apart_is_not_tied_to_another(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 9)
        for number, right in ((1, 0), (2, 8)):
            await save(engine, version(number, f"q@{number}", "q"))
            await outputs(engine, f"q@{number}", right)
        await compared(engine, "q@1", "q@2")
        await decided(engine, "q@2", by="anna")
        with pytest.raises(RuleError, match="already has runs"):
            await save(engine, relations=[Relation("q@1", "p@1", "follows")])
        assert await engine.store.read(lambda db: current_version(db, "p@1")) == "p@1"


async def test_the_version_in_use_stays_so_when_it_is_deleted(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 11, 2)
        await delete_record(engine, "p@1")
        assert await engine.store.read(lambda db: current_version(db, "p@2")) == "p@1"


async def test_a_person_names_the_version_in_use_until_one_is_approved_and_an_agent_never_does(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 0, 2, 11)
        with pytest.raises(RuleError, match="only a person"):
            await name_current(engine, "p@2")
        await name_current(engine.speaking(ANNA), "p@2")
        await compared(engine, "p@1", "p@3")
        with pytest.raises(RuleError, match="with the current version p@2"):
            await decided(engine, "p@3", by="anna")
        await compared(engine, "p@2", "p@3")
        assert await decided(engine, "p@3", by="anna") == "approved"
        with pytest.raises(RuleError, match=r"p@3 was approved and is in use"):
            await name_current(engine.speaking(ANNA), "p@1")


async def test_a_benchmark_that_was_cut_since_is_no_evidence(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await prompt(engine, 2, 11)
        await compared(engine, "p@1", "p@2")
        await save(engine, benchmark("b", *[f"c{n}" for n in range(CASES - 1)]))
        with pytest.raises(RuleError, match="the cases of b were changed since"):
            await decided(engine, "p@2", by="anna")
        await save(engine, benchmark("b", *[f"c{n}" for n in range(CASES)]))
        assert await decided(engine, "p@2", by="anna") == "approved"


async def test_a_token_is_kept_as_its_hash_and_opens_nothing_once_the_person_is_removed(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        token = await add_person(engine, "anna")
        assert await person_with_token(engine, token) == ANNA
        kept = await engine.store.read(lambda db: db.execute("SELECT token_hash FROM person").fetchall())
        assert kept == [(token_hash(token),)]
        other = await add_person(engine, "anna")
        assert await person_with_token(engine, token) is None
        await remove_person(engine, "anna")
        assert await person_with_token(engine, other) is None
        assert not await all_of(engine, Approval)
