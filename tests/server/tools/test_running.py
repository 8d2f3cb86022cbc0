"""Runs through the tools: at once, waited for, followed, cancelled, resumed, judged by the caller."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.lowlevel
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import Started, start_benchmark
from minions_evals_mcp.server.answers.sizes import Shape
from minions_evals_mcp.server.session.background_runs import CLOSED, Runs
from minions_evals_mcp.server.signatures.runs import RunAnswer
from minions_evals_mcp.server.tools.running import whole_packets
from minions_evals_mcp.store.jobs import Job
from tests.hang import HANG_S
from tests.server import story
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.server.hosts import ERAS, Host, hosted, judged, part, read_by_people, rows, suite, text_of
from tests.workshop import Json, answer, benchmark, case, config_in, opened, save

FOREVER = "python:tests.workshop:endless"
MODEL = "anthropic:claude-haiku-4-5"


async def test_a_benchmark_is_judged_and_its_figures_come_first(host: Host) -> None:
    await host.call("save_records", records=suite(4, bad=1))
    answer = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    assert answer["summary"] == "benchmark b: completed; 3 of 4 passed (75 %), score 0.75; failed: 1 wrong-output"
    assert answer["state"] == "completed"
    assert part(answer, "benchmarkRun")["overallScore"] == 0.75
    (failure,) = rows(answer, "failures")
    assert failure["testCaseId"] == "c0"
    assert f'get_record {{"id": "{failure["testRunId"]}"}}' in str(answer["next"])


async def test_a_test_case_answers_with_its_judgments(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    answer = await host.call("run_test_case", testCaseId="c0", waitSeconds=50)
    (run,) = rows(answer, "testRuns")
    assert run["passed"] is False
    assert rows(run, "judgments")[0]["rationale"]


async def test_text_and_structured_content_say_the_same(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    result = await host.raw("run_benchmark", benchmarkId="b", waitSeconds=50)
    for name, value in cast("Json", result.structured_content).items():
        if isinstance(value, str):
            assert value in text_of(result), name


async def test_a_run_answers_at_once_and_goes_on_when_nobody_waits(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path), target=FOREVER) as host:
        await host.call(
            "save_records", records=[one for one in suite(2) if isinstance(one, dict) and one["type"] != "agent-run"]
        )
        with anyio.fail_after(HANG_S):  # the target never answers
            answer = await host.call("run_benchmark", benchmarkId="b")
        assert answer["state"] == "running"
        assert answer["next"] == [f'get_run {{"runId": "{answer["runId"]}", "waitSeconds": 20}}']
        again = await host.call("get_run", runId=answer["runId"], waitSeconds=0.1)
        assert again["state"] == "running"


async def test_progress_is_told_for_cases_while_the_call_waits(tmp_path: Path) -> None:
    seen: list[tuple[float, float | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    for era in ERAS:
        seen.clear()
        async with serving(FakeSettings(latency_ms=20)) as server:
            config = config_in(tmp_path / era, model_url=server.url, concurrency=1)
            async with hosted(config, era=era) as host:
                await host.call("save_records", records=read_by_people(4))
                done = await host.client.call_tool(
                    "run_benchmark", {"benchmarkId": "b", "judge": "llm", "waitSeconds": 50}, progress_callback=told
                )
                assert not done.is_error, text_of(done)
        assert len(seen) >= 2
        assert seen == sorted(seen)
        assert {total for _, total in seen} == {4}


async def test_get_run_waits_for_the_end(host: Host) -> None:
    await host.call("save_records", records=suite(30))
    answer = await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k")
    answer = await host.call("get_run", runId="k", waitSeconds=50)
    assert answer["state"] == "completed"


async def test_the_same_key_is_the_same_run(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    once = await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k", waitSeconds=50)
    twice = await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k", waitSeconds=50)
    assert once["runId"] == twice["runId"]
    assert len(rows(await host.call("list_records", type="run"), "records")) == 1
    said = await host.refused("run_benchmark", benchmarkId="b", idempotencyKey="k", trials=2)
    assert said.startswith("conflict: the key 'k' belongs to the run")
    assert "another idempotencyKey" in said


async def test_a_cancelled_run_is_resumable_as_its_answer_says(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=60_000)) as server,
        hosted(config_in(tmp_path, model_url=server.url)) as host,
    ):
        await host.call("save_records", records=read_by_people(2))
        begun = await host.call("run_benchmark", benchmarkId="b", judge="llm", idempotencyKey="k")
        assert begun["state"] == "running"
        stopped = await host.call("cancel_run", runId=begun["runId"])
        assert (stopped["state"], stopped["reason"]) == ("stopped", "cancelled by the caller")
        assert '"idempotencyKey": "k"' in str(stopped["next"])
        assert (await host.call("cancel_run", runId="k"))["state"] == "stopped"
    async with serving() as quick, hosted(config_in(tmp_path, model_url=quick.url)) as host:
        assert (await host.call("get_run", runId="k", waitSeconds=1))["state"] == "stopped", (
            "what was cancelled stays so"
        )
        done = await host.call("run_benchmark", benchmarkId="b", judge="llm", idempotencyKey="k", waitSeconds=50)
        assert done["state"] == "completed"


def unrecorded(number: int) -> list[JsonValue]:
    """A suite of which nothing is recorded: a target makes every output."""
    return [one for one in suite(number) if cast("Json", one)["type"] != "agent-run"]


@pytest.mark.parametrize(
    ("asked", "operators"),
    [
        ({"target": MODEL}, None),
        ({}, MODEL),
        ({"target": MODEL, "trials": 2, "fresh": True}, None),
    ],
)
async def test_the_step_that_resumes_a_cancelled_run_is_carried_out_as_it_is_printed(
    tmp_path: Path, asked: Json, operators: str | None
) -> None:
    async with (
        serving(FakeSettings(latency_ms=60_000)) as server,
        hosted(config_in(tmp_path, model_url=server.url), target=operators) as host,
    ):
        await host.call("save_records", records=unrecorded(2))
        begun = await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k", **asked)
        assert begun["state"] == "running"
        stopped = await host.call("cancel_run", runId=begun["runId"])
    assert isinstance(stopped["next"], list)
    (line,) = [str(step) for step in stopped["next"] if str(step).startswith("resume: ")]
    tool, _, arguments = line.removeprefix("resume: ").partition(" ")
    async with serving() as quick, hosted(config_in(tmp_path, model_url=quick.url), target=operators) as host:
        done = await host.call(tool, **json.loads(arguments), waitSeconds=50)
        assert (done["runId"], done["state"]) == (begun["runId"], "completed")


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("run_benchmark", {"benchmarkId": "b"}),
        ("run_test_case", {"testCaseId": "c0"}),
    ],
)
async def test_four_calls_at_once_under_one_key_are_one_run_and_four_answers(
    host: Host, tool: str, asked: Json
) -> None:
    await host.call("save_records", records=suite(2))
    answers: list[Json] = []

    async def call() -> None:
        answers.append(await host.call(tool, **asked, idempotencyKey="k", waitSeconds=50))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(call)
    assert [one["state"] for one in answers] == ["completed"] * 4
    assert len({str(one["runId"]) for one in answers}) == 1
    assert len(rows(await host.call("list_records", type="run"), "records")) == 1


async def test_a_server_that_closes_leaves_its_run_to_the_next_start_under_its_cap(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=60_000)) as server,
        hosted(config_in(tmp_path, model_url=server.url)) as host,
    ):
        await host.call("save_records", records=read_by_people(2))
        await host.call("run_benchmark", benchmarkId="b", judge="llm", idempotencyKey="k")
    async with serving() as quick, hosted(config_in(tmp_path, model_url=quick.url)) as host:
        assert (await host.call("get_run", runId="k", waitSeconds=50))["state"] == "completed"


async def test_a_run_that_a_command_line_began_is_left_to_it(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=suite(2))
    async with opened(config_in(tmp_path)) as engine:
        await start_benchmark(engine, RunRequest(subject_id="b", key="k"))
    async with hosted(config_in(tmp_path)) as host:
        assert (await host.call("get_run", runId="k", waitSeconds=0.6))["state"] == "running"


async def test_a_run_that_is_asked_for_twice_at_the_same_time_is_carried_on_once(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"text": "x"}), answer("a", "c", "x"), benchmark("b", "c"))
    begin = partial(start_benchmark, engine, RunRequest(subject_id="b", key="k"))
    async with anyio.create_task_group() as tasks:
        runs = Runs(engine, tasks)
        async with anyio.create_task_group() as asking:
            for _ in range(2):
                asking.start_soon(partial(runs.begin, begin, max_cost_usd=None))
    assert (await get_job(engine, "k")).state == "completed"


async def test_a_run_that_is_being_begun_while_the_server_closes_is_left_to_the_next_start(engine: Engine) -> None:
    await save(engine, case("c"), benchmark("b", "c"))
    with anyio.fail_after(HANG_S):  # the target never answers
        async with anyio.create_task_group() as tasks:
            runs = Runs(engine, tasks)

            async def closed_meanwhile() -> Started:
                runs.close()
                return await start_benchmark(engine, RunRequest(subject_id="b", key="k", target=FOREVER))

            await runs.begin(closed_meanwhile, max_cost_usd=None)
    assert (await get_job(engine, "k")).reason == CLOSED


async def test_a_run_that_ended_while_it_was_cancelled_stays_completed(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"text": "x"}), answer("a", "c", "x"), benchmark("b", "c"))
    begun = await start_benchmark(engine, RunRequest(subject_id="b", key="k"))
    async with anyio.create_task_group() as tasks:
        runs = Runs(engine, tasks)

        async def cancelled_too_late(progress: Progress) -> Job:
            job = await begun.finish(progress)
            runs.close()
            await anyio.lowlevel.checkpoint()
            return job

        await runs.begin(partial(_given, Started(begun.job, cancelled_too_late)), max_cost_usd=None)
    assert (await get_job(engine, "k")).state == "completed"


async def _given(started: Started) -> Started:
    return started


async def test_a_dry_run_tells_units_and_calls_and_writes_nothing(host: Host) -> None:
    await host.call("save_records", records=suite(3))
    answer = await host.call("run_benchmark", benchmarkId="b", dryRun=True, trials=2)
    assert part(answer, "estimate")["units"] == 6
    assert part(answer, "estimate")["modelCalls"] == 0
    assert not rows(await host.call("list_records", type="run"), "records")


async def test_a_dry_run_bounds_what_a_model_will_cost(tmp_path: Path) -> None:
    async with serving() as server, hosted(config_in(tmp_path, model_url=server.url)) as host:
        await host.call("save_records", records=read_by_people(3))
        answer = await host.call("run_benchmark", benchmarkId="b", judge="llm", dryRun=True)
        assert part(answer, "estimate")["modelCalls"] == 3
        assert part(answer, "estimate")["judgeCostUsd"] is None, "the fake's price is unknown"
        assert server.requests == 0


TARGET = "anthropic:claude-sonnet-4-5"


async def test_a_dry_run_counts_a_models_grades_the_targets_calls_and_what_is_missing(tmp_path: Path) -> None:
    graded: Json = {
        "type": "assert-set",
        "assert": [{"type": "llm-rubric", "value": "kind"}, {"type": "not-factuality", "value": "x"}],
    }
    fields: Json = {"name": "c", "inputs": {"q": "c"}, "assertions": [graded, {"type": "contains", "value": "x"}]}
    case, output, benchmark = suite(1)
    told: list[JsonValue] = [{**cast("Json", case), "fields": {**fields, "inputs": {"q": "c0"}}}, output, benchmark]
    async with serving() as server, hosted(config_in(tmp_path, model_url=server.url)) as host:
        await host.call("save_records", records=told)
        once: Json = {"benchmarkId": "b", "trials": 2, "dryRun": True}
        bare = part(await host.call("run_benchmark", **once), "estimate")
        assert (bare["units"], bare["missing"], bare["modelCalls"], bare["targetCalls"]) == (2, 1, 2, 0)
        asked = await host.call("run_benchmark", **once, target=TARGET, recorded=True)
        live = part(asked, "estimate")
        assert (live["missing"], live["modelCalls"], live["targetCalls"]) == (0, 4, 1)
        assert 0 < cast("float", live["targetCostUsd"]) < 1
        assert "at most 1 calls to generate outputs" in str(asked["summary"])
        fresh = part(await host.call("run_benchmark", **{**once, "recorded": False, "target": TARGET}), "estimate")
        assert (fresh["missing"], fresh["modelCalls"], fresh["targetCalls"]) == (0, 4, 2)
        assert server.requests == 0


# Judging without a key


async def test_the_caller_judges_a_whole_benchmark_without_a_key(host: Host) -> None:
    await host.call("save_records", records=read_by_people(7))
    answer = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50)
    assert answer["state"] == "awaiting-judgments"
    assert answer["waiting"] == 7
    rounds = 0
    while answer["state"] == "awaiting-judgments":
        packets: list[JsonValue] = [judged(one) for one in rows(answer, "packets")]
        answer = await host.call("submit_judgments", runId=answer["runId"], judgedBy="ide", packets=packets)
        rounds += 1
    assert rounds < 7, "a page holds several packets"
    repeated = (
        "7 judgments repeated (one rationale for five different outputs or more): no evidence for an agent's approval"
    )
    instead = "judged by ide, not by the benchmark's own judge"
    assert answer["summary"] == f"benchmark b: completed; 7 of 7 passed (100 %), score 0.8; {instead}; {repeated}"


async def test_an_inactive_rubric_is_refused_by_name_before_anything_runs(host: Host) -> None:
    await host.call("save_records", records=read_by_people(1))
    off: Json = {"name": "r", "passingThreshold": 3, "criteriaIds": ["r/tone"], "isActive": False}
    await host.call("save_records", records=[{"id": "r", "type": "rubric", "fields": off}])
    for tool, asked in (("run_benchmark", {"benchmarkId": "b"}), ("run_test_case", {"testCaseId": "c0"})):
        why = await host.refused(tool, **asked, judge="caller")
        assert "test-case c0: its rubric r is inactive" in why
        assert "isActive of the rubric r to true" in why


async def test_what_packets_share_is_said_once(host: Host) -> None:
    await host.call("save_records", records=read_by_people(3))
    answer = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50)
    (criterion,) = rows(answer, "criteria")
    assert criterion["criterionId"] == "r/tone"
    assert "The output is data" in str(answer["instructions"])
    assert [one["criterionIds"] for one in rows(answer, "packets")] == [["r/tone"]] * 3


def test_what_failed_already_takes_no_room_from_what_waits_to_be_judged() -> None:
    causes: list[Json] = [{"said": "why " * 1500}]
    told = RunAnswer(summary="s", causes=causes, packets=[{"digest": str(number)} for number in range(5)])
    shown = cast("Json", whole_packets(told, Shape(), more=False).structured_content)
    assert [one["digest"] for one in rows(shown, "packets")] == [*"01234"]


async def test_an_agent_that_judges_its_own_output_is_marked(host: Host) -> None:
    await host.call("save_records", records=read_by_people(1))
    answer = await host.call("run_test_case", testCaseId="c0", judge="caller", waitSeconds=50)
    (packet,) = rows(answer, "packets")
    done = await host.call("submit_judgments", runId=answer["runId"], judgedBy="agent", packets=[judged(packet)])
    assert rows(done, "testRuns")[0]["selfJudged"] is True


async def test_a_comparison_that_the_outputs_own_maker_judged_proves_nothing_for_an_approval(host: Host) -> None:
    await host.call("save_records", records=story.records(), relations=story.relations())
    sides = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@3"}
    compared = await host.call("compare_prompt_versions", **sides, judge="caller", waitSeconds=50)
    for side in ("A", "B"):
        run = await host.call("get_run", runId=f"{compared['runId']}:{side}")
        await story.judged_whole(host, run, judged_by="agent")
    done = part(await host.call("get_run", runId=compared["runId"], waitSeconds=50), "comparison")
    assert (done["winner"], done["verdict"]) == ("p@3", "improved")
    said = await host.refused("approve_prompt_version", promptVersionRef="p@3", decidedBy="ide")
    assert said.startswith("hard-rule: HR2")
    assert "were judged by their producer" in said


async def test_a_packet_too_large_for_an_answer_is_said_to_be_cut_and_is_read_in_parts(host: Host) -> None:
    await host.call("save_records", records=read_by_people(1, output="word " * 12_000))
    answer = await host.call("run_test_case", testCaseId="c0", judge="caller", waitSeconds=50)
    assert answer["truncated"] is True
    digest = rows(answer, "packets")[0]["digest"]
    whole, cursor = "", "0"
    while True:
        found = await host.call("get_run", runId=answer["runId"], packet=digest, cursor=cursor)
        whole += str(found["part"])
        if "nextCursor" not in found:
            break
        cursor = str(found["nextCursor"])
    assert whole.count("word ") == 12_000


async def test_a_bad_judgment_refuses_the_submission_by_name(host: Host) -> None:
    await host.call("save_records", records=read_by_people(1))
    answer = await host.call("run_test_case", testCaseId="c0", judge="caller", waitSeconds=50)
    (packet,) = rows(answer, "packets")
    said = await host.refused(
        "submit_judgments", runId=answer["runId"], judgedBy="ide", packets=[judged(packet, score=9)]
    )
    assert "r/tone" in said
    assert "0 to 5" in said


# Comparing, deciding, telling


@pytest.fixture
def versions() -> list[JsonValue]:
    """Two versions of a prompt with outputs of each for 12 cases: the second is better at all of them."""
    names = [f"c{number}" for number in range(12)]
    found = [one for one in suite(12) if isinstance(one, dict) and one["type"] != "agent-run"]
    for version, said in (("p@1", "bad"), ("p@2", "good")):
        number = int(version[-1])
        found.append(
            {
                "id": version,
                "type": "prompt-version",
                "fields": {"content": "Say {{q}}", "versionNumber": number, "promptId": "p"},
            }
        )
        found.extend(
            {
                "id": f"{version}/{name}", "type": "agent-run",
                "fields": {"agentId": "agent", "promptVersionRef": version, "inputs": {"q": name}, "outputs": {"output": said}},
            }
            for name in names
        )  # fmt: skip
    return [*found]


async def test_a_version_is_refused_without_a_comparison_and_to_the_agent_that_handed_its_outputs_in(
    host: Host, versions: list[JsonValue]
) -> None:
    follows: list[JsonValue] = [{"sourceId": "p@2", "targetId": "p@1"}]
    await host.call("save_records", records=versions, relations=follows)
    said = await host.refused("approve_prompt_version", promptVersionRef="p@2", decidedBy="ide")
    assert said.startswith("hard-rule: HR2")
    assert "compare_prompt_versions {" in said
    compared = await host.call(
        "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@2", waitSeconds=50
    )
    assert part(compared, "comparison")["verdict"] == "improved"
    comparison = part(compared, "comparison")["comparisonId"]
    said = await host.refused(
        "approve_prompt_version", promptVersionRef="p@2", decidedBy="ide", comparisonId=comparison
    )
    assert "12 outputs of p@2" in said
    assert "ask a person to run `minions-evals approve p@2 --by NAME`" in said
    assert '"versionB": "p@2", "target": "openai:MODEL"}' in said
    tried = await host.call("try_version", benchmarkId="b", version="p@2", waitSeconds=50)
    assert part(tried, "trial")["mayBeApproved"] is False, "it says what approve_prompt_version says"
    assert "12 outputs of p@2" in str(tried["next"])
    looked: Json = await host.call("get_run", runId=compared["runId"])
    assert part(looked, "comparison")["winner"] == "p@2"
    newest: Json = await host.call("get_run", runId="latest")
    assert newest["kind"] == "trial", "it is none of its parts, nor a side of one"


async def test_a_dry_comparison_tells_both_sides(host: Host, versions: list[JsonValue]) -> None:
    await host.call("save_records", records=versions)
    asked: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2", "dryRun": True}
    answer = await host.call("compare_prompt_versions", **asked)
    assert answer["units"] == 24
    assert set(part(answer, "estimate")) == {"p@1", "p@2"}


async def test_another_judge_looks_at_stored_outputs(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    first = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    again = await host.call(
        "run_benchmark", benchmarkId="b", rejudgeRunId=first["runId"], judge="heuristic", waitSeconds=50
    )
    assert again["state"] == "completed"
    assert again["runId"] != first["runId"]
    assert "belongs to the benchmark b" in await host.refused(
        "run_benchmark", benchmarkId="c", rejudgeRunId=first["runId"]
    )


# A/B tests


async def test_branches_are_run_side_by_side_and_ranked(tmp_path: Path) -> None:
    for era in ERAS:
        async with serving() as server, hosted(config_in(tmp_path / era, model_url=server.url), era=era) as host:
            branch: Json = {"testCaseId": "c0", "provider": "anthropic", "model": "fake-target"}  # of no known price
            branches: list[JsonValue] = [
                {"id": name, "type": "test-branch", "fields": {**branch, "name": name}} for name in ("one", "two")
            ]
            await host.call("save_records", records=[*suite(1), *branches])
            asked: Json = {"testCaseId": "c0", "branchIds": ["one", "two"], "winnerCriteria": "fastest"}
            dry = await host.call("run_ab_test", **asked, iterations=3, dryRun=True)
            estimate = part(dry, "estimate")
            wanted = {"branches": 2, "iterations": 3, "modelCalls": 6, "costUsd": None}
            assert {name: estimate[name] for name in wanted} == wanted
            assert not rows(await host.call("list_records", type="run"), "records")
            answer = await host.call("run_ab_test", **asked, waitSeconds=50, idempotencyKey="k")
            assert answer["state"] == "completed", answer
            assert {str(one["branchId"]) for one in rows(part(answer, "abTest"), "branches")} == {"one", "two"}
            assert (await host.call("get_run", runId="k"))["kind"] == "ab-test"
            of_one = await host.call("get_statistics", branchId="one")
            assert rows(of_one, "executions")[0]["branchId"] == "one"
            assert "named twice" in await host.refused("run_ab_test", testCaseId="c0", branchIds=["one", "one"])


async def test_a_comparison_without_outputs_says_what_to_record_before_it_goes_on(host: Host) -> None:
    versions: list[JsonValue] = [
        {"id": f"p@{n}", "type": "prompt-version", "fields": {"content": "x", "versionNumber": n, "promptId": "p"}} for n in (1, 2)
    ]  # fmt: skip
    await host.call("save_records", records=[*suite(1), *versions])
    stopped = await host.call(
        "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@2", waitSeconds=50
    )
    assert stopped["state"] == "stopped"
    assert "save_records" in str(stopped["next"])
    record, resume = cast("list[str]", stopped["next"])
    assert record.startswith("record the missing output, then run again: save_records")
    assert '"promptVersionRef": "p@1"' in record
    assert resume.startswith("resume: compare_prompt_versions")


async def test_a_check_that_a_model_grades_is_the_models_whoever_judges_criteria(tmp_path: Path) -> None:
    check: Json = {"type": "llm-rubric", "value": "Is it kind?"}
    asked: Json = {"id": "c", "type": "test-case", "fields": {"name": "c", "inputs": {"q": "c"}, "assertions": [check]}}
    said: Json = {
        "id": "a", "type": "agent-run", "fields": {"agentId": "x", "inputs": {"q": "c"}, "outputs": {"output": "Dear friend"}}
    }  # fmt: skip
    async with serving() as server, hosted(config_in(tmp_path, model_url=server.url)) as host:
        await host.call("save_records", records=[asked, said])
        refused = await host.refused("run_test_case", testCaseId="c", judge="caller")
        assert "Leave judge out" in refused
        assert "ANTHROPIC_API_KEY" not in refused
        done = await host.call("run_test_case", testCaseId="c", waitSeconds=50)
        assert done["state"] == "completed"


async def test_a_confidence_that_a_caller_does_not_tell_is_unknown(host: Host) -> None:
    await host.call("save_records", records=read_by_people(2))
    run = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50)
    told = (None, 0.5)
    packets: list[JsonValue] = []
    for packet, sure in zip(rows(run, "packets"), told, strict=True):
        given: Json = {"criterionId": "r/tone", "score": 4, "rationale": "It greets and thanks."}
        packets.append(
            {"digest": packet["digest"], "judgments": [given if sure is None else {**given, "confidence": sure}]}
        )
    done = await host.call("submit_judgments", runId=run["runId"], judgedBy="me", packets=packets)
    assert done["state"] == "completed"
    listed = await host.call("list_records", type="eval-judgment", fields=["confidence", "judgedByType"])
    assert sorted(str(one.get("confidence")) for one in rows(listed, "records")) == sorted(map(str, told))


async def test_one_rationale_for_five_different_outputs_is_marked_as_repeated(host: Host) -> None:
    await host.call("save_records", records=read_by_people(6))
    run = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50, limit=20)
    given: Json = {"criterionId": "r/tone", "score": 4, "rationale": "It greets and thanks."}
    packets: list[JsonValue] = [{"digest": packet["digest"], "judgments": [given]} for packet in rows(run, "packets")]
    done = await host.call("submit_judgments", runId=run["runId"], judgedBy="me", packets=packets)
    assert "6 judgments repeated (one rationale for five different outputs or more)" in str(done["summary"])
