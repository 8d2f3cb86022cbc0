"""Records through the tools: saved, merged, resolved, listed, read, hidden; and the figures that are read from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.server.edge.argument_types import RUN
from tests.server.story import SIZE, judged_whole, records, relations
from tests.shared.fakes.llm_server import serving
from tests.shared.server.hosts import Host, hosted, part, rows, suite
from tests.workshop import Json, config_in

UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."


async def test_saving_twice_changes_nothing(host: Host) -> None:
    first = await host.call("save_records", records=suite(2))
    again = await host.call("save_records", records=suite(2))
    assert (first["new"], again["new"], again["changed"], again["unchanged"]) == (5, 0, 0, 5)


async def test_a_batch_is_saved_whole_or_not_at_all(host: Host) -> None:
    said = await host.refused(
        "save_records", records=[*suite(1), {"id": "x", "type": "test-case", "fields": {"nam": "x"}}]
    )
    assert said.startswith("invalid-record: ")
    assert "unknown key" in said or "missing" in said
    assert "fields.nam" in said
    assert not rows(await host.call("list_records", type="test-case"), "records")


async def test_a_new_baseline_is_a_merge_that_keeps_all_else(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    before = part(await host.call("get_record", id="c0"), "record")
    change = {"id": "c0", "type": "test-case", "fields": {"expectedOutputs": {"output": "bad"}}}
    assert (await host.call("save_records", records=[change], merge=True))["changed"] == 1
    after = part(await host.call("get_record", id="c0"), "record")
    assert part(after, "fields") == {**part(before, "fields"), "expectedOutputs": {"output": "bad"}}
    assert after["updatedAt"] != before["updatedAt"]


@pytest.mark.parametrize("kind", ["run", "message"])
async def test_pages_of_the_newest_show_each_once_whatever_comes_between_and_count_what_they_show(
    host: Host, kind: str
) -> None:
    await host.call("save_records", records=suite(1))

    async def another(number: int) -> None:
        if kind == "message":
            await host.call("send_message", type="run-benchmark", payload={"benchmarkId": "b"}, id=f"m{number}")
        else:
            await host.call("run_benchmark", benchmarkId="b", idempotencyKey=f"k{number}" * 20)

    for number in range(40):
        await another(number)
    seen: list[JsonValue] = []
    asked: Json = {"type": kind, "limit": 100}
    while "cursor" not in asked or asked["cursor"] is not None:
        page = await host.call("list_records", **asked)
        shown = [one["id"] for one in rows(page, "records")]
        assert str(page["summary"]).startswith(f"{len(shown)} ")
        seen += shown
        await another(1000 + len(seen))
        asked["cursor"] = page.get("nextCursor")
    assert len(seen) == len(set(map(str, seen))) == 40


async def test_two_editors_of_one_record_do_not_overwrite_each_other(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    seen = part(await host.call("get_record", id="c0"), "record")["updatedAt"]
    base: Json = {"id": "c0", "type": "test-case", "updatedAt": seen}
    mine, theirs = ({**base, "fields": {"description": said}} for said in ("mine", "theirs"))
    assert (await host.call("save_records", records=[mine], merge=True))["changed"] == 1
    assert (await host.call("save_records", records=[mine], merge=True))["unchanged"] == 1, "sent twice"
    said = await host.refused("save_records", records=[theirs], merge=True)
    assert said.startswith(f"conflict: test-case c0 has changed since you read it at {seen}")
    assert 'Next: get_record {"id": "c0"}' in said
    now = part(await host.call("get_record", id="c0"), "record")["updatedAt"]
    again = {**theirs, "updatedAt": now}
    assert (await host.call("save_records", records=[again], merge=True))["changed"] == 1


async def test_an_unknown_name_in_fields_is_refused_with_the_nearest(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    run = await host.call("run_test_case", testCaseId="c0", waitSeconds=50)
    asked: list[tuple[str, Json, str, str]] = [
        ("list_records", {"type": "test-case"}, "inputz", "inputs"),
        ("list_records", {"type": "run"}, "stat", "state"),
        ("get_record", {"id": "c0"}, "nam", "name"),
        ("get_run", {"runId": run["runId"]}, "failure", "failures"),
    ]
    for tool, about, unknown, near in asked:
        said = await host.refused(tool, **about, fields=[unknown])
        assert f"has no {unknown!r}; did you mean {near!r}?" in said
    (row,) = rows(await host.call("list_records", type="test-case", fields=["tags", "name"]), "records")
    assert row.keys() == {"id", "name", "tags"}


async def test_a_prompt_version_without_a_number_is_the_next_of_its_prompt(host: Host) -> None:
    def version(content: str, **more: JsonValue) -> Json:
        return {"type": "prompt-version", "fields": {"promptId": "mood", "content": content}, **more}

    first = await host.call("save_records", records=[version("Say {{x}}"), version("Tell {{x}}", id="second")])
    assert first["new"] == 2
    for repeated in (version("Tell {{x}}"), version("Tell {{x}}", id="second")):
        again = await host.call("save_records", records=[repeated])
        assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 1)
        assert again.get("ids", []) == ([] if "id" in repeated else ["second"]), (
            "what the caller named is not told again"
        )
    third = await host.call("save_records", records=[version("Sing {{x}}")])
    assert third["new"] == 1
    listed = await host.call("list_records", type="prompt-version", fields=["versionNumber", "content"])
    assert [(row["versionNumber"], row["content"]) for row in rows(listed, "records")] == [
        (1, "Say {{x}}"), (2, "Tell {{x}}"), (3, "Sing {{x}}")
    ]  # fmt: skip
    seen = await host.call("get_record", id="second")
    assert {(one["sourceId"], one["targetId"]) for one in rows(seen, "relations") if one["type"] == "follows"} >= {
        ("second", str(cast("list[str]", first["ids"])[0]))
    }


async def test_a_case_is_saved_and_changed_in_the_words_of_the_testing_api(host: Host) -> None:
    made: Json = {
        "id": "mood/happy", "type": "test-case",
        "fields": {"promptId": "mood", "name": "Happy", "input": {"text": "I am happy"}, "expectedOutput": "positive"},
    }  # fmt: skip
    output: Json = {
        "type": "agent-run", "fields": {"agentId": "a", "inputs": {"text": "I am happy"}, "outputs": {"output": "positive"}}
    }  # fmt: skip
    await host.call("save_records", records=[made, output])
    run = await host.call("run_test_case", testCaseId="mood/happy", waitSeconds=50)
    (judged_run,) = rows(run, "testRuns")
    assert (judged_run["passed"], judged_run["passRule"], judged_run["exactMatch"]) == (True, "similarity_0_8", True)
    change: Json = {
        "id": "mood/happy",
        "type": "test-case",
        "fields": {"expectedOutput": "glad", "input": {"text": "b"}},
    }
    assert (await host.call("save_records", records=[change], merge=True))["changed"] == 1
    fields = part(part(await host.call("get_record", id="mood/happy"), "record"), "fields")
    assert (fields["inputs"], fields["expectedOutputs"]) == ({"text": "b"}, {"output": "glad"})


async def test_the_figures_of_a_skill_are_those_of_its_cases(host: Host) -> None:
    made = [cast("Json", one) for one in suite(2)]
    for one in made:
        if one["type"] == "test-case":
            part(one, "fields")["skillId"] = "sing"
    await host.call("save_records", records=[*made])
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    found = await host.call("get_statistics", skillId="sing")
    assert found["summary"] == "2 test cases of the skill sing: 2 runs, 50 % passed"
    assert (found["totalRuns"], found["passRate"], found["avgScore"]) == (2, 50.0, 0.5)
    assert [case["id"] for case in rows(found, "testCases")] == ["c0", "c1"]


async def test_the_status_of_a_draft_is_that_of_its_fields_everywhere(host: Host) -> None:
    made = [
        {
            "id": f"s-{status}",
            "type": "test-case",
            "fields": {"name": status, "inputs": {"q": status}, "status": status},
        }
        for status in ("active", "draft", "deprecated")
    ]
    await host.call("save_records", records=made)
    for more in ({}, {"detail": "full"}, {"fields": ["status", "name"]}):
        listed = await host.call("list_records", type="test-case", **more)
        assert [row["status"] for row in rows(listed, "records")] == ["active", "draft", "deprecated"]
    read = await host.call("get_record", id="s-draft")
    assert read["summary"] == "test-case s-draft, draft"
    assert part(read, "record")["status"] == "draft"
    again = await host.call("save_records", records=[part(read, "record")])
    assert again["unchanged"] == 1


async def test_a_drop_that_is_no_new_level_yet_names_what_changed_at_it(host: Host) -> None:
    await host.call("save_records", records=records(), relations=relations())
    for version in ("p@1", "p@2"):
        asked: Json = {"benchmarkId": "b", "promptVersionRef": version, "judge": "caller", "waitSeconds": 50}
        await judged_whole(host, await host.call("run_benchmark", **asked))
    found = await host.call("detect_trend", benchmarkId="b", whatChanged=True)
    (drop,) = rows(found, "drops")
    assert drop["changed"] == ["the version: p@1 → p@2"]
    assert (drop["worse"], drop["better"]) == (SIZE, 0)
    assert "the version: p@1 → p@2" in str(found["summary"])


async def test_the_trend_stands_beside_what_changed(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    trend = await host.call("detect_trend", benchmarkId="b")
    both = await host.call("detect_trend", benchmarkId="b", whatChanged=True)
    assert both.items() >= {name: value for name, value in trend.items() if name != "summary"}.items()
    assert str(both["summary"]).startswith(str(trend["summary"]))
    assert len(rows(both, "levels")) == 1


async def test_a_failure_is_resolved_and_nothing_else_of_it_is_written(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    run = await host.call("run_test_case", testCaseId="c0", waitSeconds=50)
    ident = f"{rows(run, 'testRuns')[0]['id']}:failure"
    resolution = {"id": ident, "type": "eval-failure", "fields": {"resolutionNotes": "the prompt was fixed"}}
    assert (await host.call("save_records", records=[resolution]))["changed"] == 1
    assert (await host.call("save_records", records=[resolution]))["unchanged"] == 1
    fields = part(part(await host.call("get_record", id=ident), "record"), "fields")
    assert fields["resolutionNotes"] == "the prompt was fixed"
    assert fields["resolvedAt"]
    other = {"id": ident, "type": "eval-failure", "fields": {"resolutionNotes": "x", "severity": "minor"}}
    assert "only the resolution of an eval-failure" in await host.refused("save_records", records=[other])
    assert "not-found" in await host.refused("save_records", records=[{**resolution, "id": "nowhere"}])


async def test_results_can_be_neither_saved_nor_deleted(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    run = await host.call("run_test_case", testCaseId="c0", waitSeconds=50)
    ident = rows(run, "testRuns")[0]["id"]
    made: Json = {"id": "forged", "type": "test-run", "fields": {}}
    assert "invalid-record" in await host.refused("save_records", records=[made])
    assert "results cannot be deleted" in await host.refused("delete_record", id=ident)


async def test_a_hidden_record_leaves_the_lists_and_comes_back_when_saved(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    assert (await host.call("delete_record", id="c0"))["type"] == "test-case"
    assert not rows(await host.call("list_records", type="test-case"), "records")
    await host.call("save_records", records=suite(1)[:1])
    assert len(rows(await host.call("list_records", type="test-case"), "records")) == 1


async def test_a_record_shows_what_it_is_linked_to(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    found = await host.call("get_record", id="b")
    assert {"sourceId": "b", "type": "groups", "targetId": "c0"} in rows(found, "relations")


async def test_a_record_of_many_links_names_each_kind_and_is_read_whole_in_parts(host: Host) -> None:
    await host.call("save_records", records=suite(30))
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    shown = await host.call("get_record", id="b")
    assert {str(one["type"]) for one in rows(shown, "relations")} == {"groups", "produces", "tracked_by"}
    text, cursor = "", shown["nextCursor"]
    while cursor is not None:
        piece = await host.call("get_record", id="b", cursor=cursor)
        text, cursor = text + str(piece["part"]), piece.get("nextCursor")
    whole = json.loads(text)
    assert whole["fields"]["name"] == "b"
    assert len({(str(one["type"]), str(one["targetId"])) for one in whole["relations"]}) == 32


async def test_runs_are_listed_newest_first(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    for key in ("one", "two"):
        await host.call("run_benchmark", benchmarkId="b", idempotencyKey=key, waitSeconds=50)
    assert [one["key"] for one in rows(await host.call("list_records", type=RUN), "records")] == ["two", "one"]
    page = await host.call("list_records", type=RUN, limit=1)
    rest = await host.call("list_records", type=RUN, cursor=page["nextCursor"])
    assert [one["key"] for one in rows(rest, "records")] == ["one"]
    assert rest["summary"] == "1 of 2 runs"


# Looking back


async def test_failures_are_classified_a_page_at_a_time(host: Host) -> None:
    await host.call("save_records", records=suite(4, bad=3))
    run = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    first = await host.call("classify_failure", id=run["runId"], limit=2)
    rest = await host.call("classify_failure", id=run["runId"], cursor=first["nextCursor"])
    assert len(rows(first, "failures")) == 2
    assert len(rows(rest, "failures")) == 1
    unlike, alike = rows(first, "failures")
    assert (unlike["failureType"], alike["sameAs"]) == ("wrong-output", unlike["testRunId"])
    one = await host.call("classify_failure", id=rows(run, "failures")[0]["testRunId"])
    assert one["summary"] == f"1 of 1 failures of {rows(run, 'failures')[0]['testRunId']} analysed"
    of_case = f"{run['runId']}:{rows(run, 'failures')[0]['testCaseId']}"
    for named in (rows(one, "failures")[0]["id"], of_case):  # the eval-failure itself, and as promote_failure takes it
        again = await host.call("classify_failure", id=named)
        assert rows(again, "failures") == rows(one, "failures")


async def test_a_trend_shows_its_points_and_says_when_it_is_provisional(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    assert 'run_benchmark {"benchmarkId": "b"}' in await host.refused("detect_trend", benchmarkId="b")
    for number in range(3):
        made = await host.call("run_benchmark", benchmarkId="b", idempotencyKey=str(number), waitSeconds=50)
        assert ("direction" in part(made, "trend")) == (number == 2), "a guess from one run is no direction"
        found = await host.call("detect_trend", benchmarkId="b")
        assert ("direction" in found) == (number == 2)
        said = str(found["summary"])
        assert said.startswith("b: stable (provisional" if number == 2 else "b: no trend yet")
    answer = await host.call("detect_trend", benchmarkId="b", limit=2)
    assert answer["direction"] == "stable"
    assert answer["provisional"] is True
    assert len(rows(answer, "points")) == 2


async def test_a_test_cases_figures_runs_and_days_are_read(host: Host) -> None:
    await host.call("save_records", records=suite(1, bad=0))
    for number in range(3):
        await host.call("run_benchmark", benchmarkId="b", idempotencyKey=str(number), waitSeconds=50)
    stats = await host.call("get_statistics", testCaseId="c0")
    assert (stats["totalRuns"], stats["passRate"], stats["avgScore"]) == (3, 100, 1)
    assert len(rows(stats, "recentRuns")) == 3
    assert rows(stats, "trendData")[0]["totalRuns"] == 3
    page = await host.call("get_statistics", testCaseId="c0", executions=True, limit=2)
    rest = await host.call("get_statistics", testCaseId="c0", executions=True, cursor=page["nextCursor"])
    assert len({str(one["id"]) for one in [*rows(page, "executions"), *rows(rest, "executions")]}) == 3
    assert "exactly one of" in await host.refused("get_statistics")


async def test_the_figures_of_a_prompts_cases_are_read(host: Host) -> None:
    records = suite(2)
    for one in records[:2]:
        assert isinstance(one, dict)
        part(one, "fields")["promptId"] = "p"
        part(one, "fields")["passRule"] = "max_score"
    await host.call("save_records", records=records)
    answer = await host.call("get_statistics", promptId="p")
    assert [one["id"] for one in rows(answer, "testCases")] == ["c0", "c1"]
    none = await host.call("get_statistics", promptId="q")
    assert (rows(none, "testCases"), none["next"]) == (
        [],
        ['list_records {"type": "test-case", "fields": ["promptId"]}'],
    )


# Scoring without keeping


async def test_rows_are_checked_and_a_bad_one_does_not_stop_the_others(host: Host) -> None:
    good = {"id": "1", "output": "Paris", "assert": [{"type": "contains", "value": "Paris"}]}
    answer = await host.call("score_outputs", rows=[good, {**good, "id": "2", "output": "Rome"}, {"id": "3"}])
    assert answer["summary"] == "1 of 3 passed, 1 could not be checked"
    first, second, third = rows(answer, "results")
    assert first == {"id": "1", "pass": True, "score": 1.0}
    assert rows(second, "failed")[0]["type"] == "contains"
    assert "is missing" in str(third["error"])
    whole = await host.call("score_outputs", rows=[good], detail="full")
    assert rows(rows(whole, "results")[0], "results")[0]["reason"]


async def test_the_best_of_several_outputs_is_selected(host: Host) -> None:
    pick = {"id": "1", "outputs": ["Rome", "Paris"], "assert": [{"type": "contains", "value": "Paris"}]}
    (found,) = rows(await host.call("score_outputs", picks=[pick]), "results")
    assert found["selected"] == 1


async def test_a_table_and_a_run_have_score_cards_that_compare(host: Host) -> None:
    answer = await host.call(
        "score_outputs", table=[{"ok": True}, {"ok": False}], compareTable=[{"ok": False}, {"ok": False}]
    )
    assert answer["summary"] == "score 50 % from 1 column, before 0"
    await host.call("save_records", records=suite(4, bad=1))
    run = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    assert part(await host.call("score_outputs", runId=run["runId"]), "card")["score"] == 0.75
    assert "unknown column 'nope'" in await host.refused("score_outputs", table=[{"ok": True}], columns=["nope"])


async def test_what_came_of_a_message_is_read_under_its_id_and_all_are_listed_newest_first(host: Host) -> None:
    await host.call("save_records", records=suite(1))
    for number in range(3):
        sent = await host.call("send_message", type="run-benchmark", payload={"benchmarkId": "b"}, id=f"m{number}")
        assert sent["next"] == [f'get_record {{"id": "m{number}"}}']
    kept = part(await host.call("get_record", id="m2"), "record")
    assert (kept["state"], kept["payload"]) == ("pending", {"benchmarkId": "b"})
    page = await host.call("list_records", type="message", limit=2)
    assert [one["id"] for one in rows(page, "records")] == ["m2", "m1"]
    rest = await host.call("list_records", type="message", limit=2, cursor=page["nextCursor"])
    assert [one["id"] for one in rows(rest, "records")] == ["m0"]
    assert "nextCursor" not in rest
    assert "not-found" in await host.refused("get_record", id="m9")
    early = await host.call("send_message", type="run-benchmark", payload={"benchmarkId": "nope"})
    assert (
        "No benchmark with the id 'nope'. The agent refuses it unless that exists when it handles the message."
        in str(early["summary"])
    )


# What classifying costs


def _unsure(records: list[JsonValue]) -> Iterator[JsonValue]:
    """The same with outputs of which the rules are not sure why they are wrong."""
    for one in records:
        assert isinstance(one, dict)
        if one["type"] == "agent-run":
            yield {**one, "fields": {**part(one, "fields"), "outputs": {"output": UNSURE}}}
        else:
            yield one


async def test_a_model_explains_failures_within_a_cap_that_a_dry_run_told_beforehand(tmp_path: Path) -> None:
    async with serving() as server:
        config = replace(
            config_in(tmp_path, model_url=server.url), judge_model="anthropic:claude-haiku-4-5-judge", explain=True
        )
        async with hosted(config) as host:
            await host.call("save_records", records=[*_unsure(suite(3, bad=3))])
            run = await host.call("run_benchmark", benchmarkId="b", judge="heuristic", waitSeconds=50)
            asked: Json = {"id": run["runId"], "askModel": True}
            told = await host.call("classify_failure", **asked, dryRun=True)
            assert part(told, "estimate")["modelCalls"] == 3
            assert "3 model calls, at most 0." in str(told["summary"])
            assert server.requests == 0
            each = cast("float", part(told, "estimate")["costUsd"]) / 3
            capped = await host.call("classify_failure", **asked, maxCostUsd=each * 1.01, waitSeconds=50)
            assert server.requests == 1
            assert str(capped["summary"]).startswith(
                f"1 of 3 failures of {run['runId']} analysed; the next call might exceed"
            )
            assert "maxCostUsd" in str(capped["summary"])
            assert 0 < cast("float", part(capped, "spent")["costUsd"]) <= each
            rest = await host.call("classify_failure", **asked, cursor=capped["nextCursor"], waitSeconds=50)
    said = [
        (str(one["classifiedBy"]).partition("/")[0], part(one, "modelCause")["by"]) for one in rows(rest, "failures")
    ]
    assert said == [("rules", "anthropic:claude-haiku-4-5-judge")] * 2


async def test_a_caller_cannot_have_a_model_asked_where_the_operator_did_not_allow_it(tmp_path: Path) -> None:
    async with serving() as server, hosted(config_in(tmp_path, model_url=server.url)) as host:
        await host.call("save_records", records=[*_unsure(suite(1, bad=1))])
        run = await host.call("run_benchmark", benchmarkId="b", judge="heuristic", waitSeconds=50)
        said = await host.refused("classify_failure", id=run["runId"], askModel=True)
        assert "operator" in said
        assert "MINIONS_EVALS_EXPLAIN=llm" in said
        found = await host.call("classify_failure", id=run["runId"])
        assert len(rows(found, "failures")) == 1
        assert server.requests == 0


async def test_a_threshold_that_reads_like_a_share_is_told_in_points(host: Host) -> None:
    rubric: Json = {
        "id": "r",
        "type": "rubric",
        "fields": {"name": "r", "passingThreshold": 0.6, "criteriaIds": ["r/a"]},
    }
    criterion: Json = {"id": "r/a", "type": "rubric-criterion", "fields": {"rubricId": "r", "name": "a", "maxScore": 5}}
    saved = await host.call("save_records", records=[rubric, criterion])
    assert "rubric r passes from 0.6 of 5 points (12 %); for 60 % of them set passingThreshold to 3" in str(
        saved["summary"]
    )
    part(rubric, "fields")["passingThreshold"] = 3
    assert "passes from" not in str((await host.call("save_records", records=[rubric]))["summary"])


async def test_a_sealed_case_is_not_edited_and_no_conflict_is_made_up(host: Host) -> None:
    records = suite(2)
    part(cast("Json", records[-1]), "fields")["sealed"] = True
    saved = await host.call("save_records", records=records)
    assert "2 cases sealed in b; too few to decide any comparison (at least 7 are needed)" in str(saved["summary"])
    edit: Json = {"id": "c0", "type": "test-case", "fields": {"expectedOutputs": {"output": "x"}}}
    said = await host.refused("save_records", records=[edit], merge=True)
    assert said.startswith("sealed: test-case c0 belongs to the sealed benchmark b and is not edited.")
    said = await host.refused("run_benchmark", benchmarkId="b")
    assert '"versionB": "VERSION-B", "target": "openai:MODEL"}' in said
    assert "Ask the operator to run `minions-evals seal b --unseal REASON`, which ends the seal for good" in said


async def test_what_an_assistant_gets_wrong_is_told_with_what_it_is(host: Host) -> None:
    await host.call("save_records", records=suite(3))
    listed = await host.call("list_records", type="test-case", limit=2)
    assert listed["summary"] == "2 of 3 test-case records"
    assert "no test-case with the id 'b': that is a benchmark." in await host.refused("get_statistics", testCaseId="b")
    beside: Json = {"id": "x", "type": "test-case", "name": "x", "inputs": {"q": "x"}}
    said = await host.refused("save_records", records=[beside])
    assert "Put name, inputs into fields." in said
    assert "inputs: unknown key" in said
    done = await host.call("run_test_case", testCaseId="c1", waitSeconds=50)
    assert "completed; 1 of 1 passed" in str(done["summary"])
    assert "nothing to cancel" in str((await host.call("cancel_run", runId=done["runId"]))["summary"])


async def test_a_card_is_made_by_code_of_the_callers_own_which_reaches_nothing(host: Host) -> None:
    table = [{"ok": True}, {"ok": False}, {"ok": True}]
    code = "return {'score': sum(row['ok'] for row in data) * 10}"
    answer = await host.call("score_outputs", table=table, code=code, compareTable=table[:2])
    assert (part(answer, "card")["score"], part(answer, "before")["score"]) == (20, 10)
    await host.call("save_records", records=suite(3))
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    of_run = await host.call("score_outputs", runId="latest", code="return {'score': len(data)}")
    assert part(of_run, "card")["score"] == 3
    refused = await host.refused("score_outputs", table=table, code="return open('/etc/passwd').read()")
    assert "has no files" in refused, refused
    assert "columns" in await host.refused("score_outputs", table=table, code=code, columns=["ok"])
    assert "code" in await host.refused("score_outputs", table=table, code="return 'nothing'")
