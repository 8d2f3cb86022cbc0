"""What an agent tries through its tools to have a version approved that is no better."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.results import EvalJudgment
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from tests.engine.compare import test_error_budget
from tests.shared.server.hosts import hosted, judged, part, read_by_people, rows, suite
from tests.workshop import Json, all_of, answer, config_in, first, opened

CASES = 12


def cases() -> list[JsonValue]:
    """The benchmark `b` and its cases, without any output."""
    return [one for one in suite(CASES) if isinstance(one, dict) and one["type"] != "agent-run"]


def version(number: int) -> JsonValue:
    fields: Json = {"content": f"Say {number}.", "versionNumber": number, "promptId": "p"}
    return {"id": f"p@{number}", "type": "prompt-version", "fields": fields}


async def test_a_packet_for_a_person_is_not_answered_by_an_agent_in_annas_name(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await add_person(engine, "anna")
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=read_by_people(1))
        asked = await host.call("run_test_case", testCaseId="c0", judge="human", waitSeconds=50)
        (packet,) = rows(await host.call("get_run", runId=asked["runId"]), "packets")
        for name, why in (("anna", "anna is a person registered in this store"), ("ide", "asks a person")):
            said = await host.refused("submit_judgments", runId=asked["runId"], judgedBy=name, packets=[judged(packet)])
            assert why in said
    async with opened(config_in(tmp_path)) as engine:
        assert not await all_of(engine, EvalJudgment)


async def test_what_an_agent_judges_for_itself_is_never_a_persons_word(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=read_by_people(1))
        asked = await host.call("run_test_case", testCaseId="c0", judge="caller", waitSeconds=50)
        (packet,) = rows(asked, "packets")
        done = await host.call("submit_judgments", runId=asked["runId"], judgedBy="anna", packets=[judged(packet)])
        (run,) = rows(done, "testRuns")
        assert [one["judgedByType"] for one in rows(run, "judgments")] == ["llm"]


async def test_a_bad_version_slipped_under_the_chain_gets_no_worse_one_approved(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:  # a person's outputs: 11 of 12 right in use, 7 in the new version
        made = [
            Arrival(answer(f"{ident}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=ident))
            for ident, right in (("p@1", 0), ("p@2", 11), ("p@3", 7))
            for n, good in enumerate(first(right, CASES))
        ]
        await save_records(engine.speaking(person("anna")), made)
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=[*cases(), version(2), version(3)])
        await host.call("save_records", records=[version(1)])
        under: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@3", "waitSeconds": 50}
        compared = part(await host.call("compare_prompt_versions", **under), "comparison")
        assert compared["verdict"] == "improved"
        said = await host.refused(
            "approve_prompt_version", promptVersionRef="p@3", comparisonId=compared["comparisonId"]
        )
        assert "the current version is p@2" in said
        for relation in ({"sourceId": "p@3", "targetId": "p@1"},):
            assert "already has runs" in await host.refused("save_records", records=[version(3)], relations=[relation])


async def test_an_agent_names_no_version_as_the_one_to_beat(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=[version(1), version(2)])
        said = await host.refused("approve_prompt_version", promptVersionRef="p@2", decision="in-use")
        assert "only a person names the version in use" in said


async def test_the_lucky_one_of_many_comparisons_approves_nothing(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path, concurrency=1), target=test_error_budget.TARGET) as host:
        await host.call("save_records", records=[*cases(), version(1), version(2)])
        asked: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2", "waitSeconds": 50}
        for right in (6, 7, 5, 6, 12):
            test_error_budget.SCRIPT[:] = [iter([*first(4 if right == 12 else 6, CASES), *first(right, CASES)])]
            compared = part(await host.call("compare_prompt_versions", **asked), "comparison")
        assert (compared["attempt"], compared["verdict"]) == (5, "inconclusive")
        said = await host.refused("approve_prompt_version", promptVersionRef="p@2")
        assert "inconclusive, not improved" in said
        assert "attempt 5" in said
