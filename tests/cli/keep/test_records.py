"""Records in and out: import, export, list, show, delete."""

from __future__ import annotations

import json
import re
from typing import cast

from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import ROOT, Json, Terminal


def test_importing_twice_changes_nothing(at: Terminal) -> None:
    name = at.file("s.json", suite(case("a"), benchmark("b", "a")))
    take, export = ["import", name, "--json"], ["export"]
    first, before, second, after = at.many(take, export, take, export)
    assert first.one() == {"file": name, "new": 2, "changed": 0, "unchanged": 0}
    assert second.one() == {"file": name, "new": 0, "changed": 0, "unchanged": 2}
    assert len(before.rows()) == 2
    assert after.rows() == before.rows()


def test_keys_that_were_read_as_fields_or_kept_as_extra_are_named(at: Terminal) -> None:
    run = record("r", "agent-run", agentId="a", input={"q": "1"}, output="four", model="m-1")
    done, shown = at.many(["import", at.file("s.json", suite(run))], ["show", "r", "--json"])
    assert "agent-run r: read input as inputs, output as outputs" in done.out
    assert "agent-run r: unknown keys kept in extra: model" in done.out
    assert '"outputs": {"output": "four"}' in shown.out


def test_of_a_file_with_a_bad_record_nothing_is_imported(at: Terminal) -> None:
    good, bad = at.file("good.json", suite(case("a"))), at.file("bad.json", suite(case("b"), benchmark("x", "nobody")))
    found, exported = at.many(["import", good, bad, "--json"], ["export"])
    assert found.code == 2
    taken, refusal = found.rows()
    assert taken["new"] == 1
    error = refusal["error"]
    assert isinstance(error, dict)
    assert error["code"] == "invalid-record"
    assert error["message"] == "bad.json:1: benchmark x: fields.testCaseIds: there is no test-case 'nobody'"
    assert [one["id"] for one in exported.rows()] == ["a"]


def test_refusals_that_only_the_store_can_find_name_file_and_line_too(at: Terminal) -> None:
    lines = {
        "twice.jsonl": [case("a"), case("a")],
        "made.jsonl": [record("t", "test-run")],
        "chain.json": {"minions": [], "relations": [{"sourceId": "x", "targetId": "y", "type": "follows"}]},
        "edited.jsonl": [case("new"), record("v", "prompt-version", content="Other.", versionNumber=1)],
    }
    at.file(
        "first.jsonl",
        "\n".join(map(json.dumps, [case("a"), record("v", "prompt-version", content="Say.", versionNumber=1)])),
    )
    for name, content in lines.items():
        at.file(name, "\n".join(map(json.dumps, content)) if isinstance(content, list) else json.dumps(content))
    first, *refused = at.many(["import", "first.jsonl"], *(["import", name] for name in lines))
    assert first.code == 0
    assert [one.code for one in refused] == [2, 2, 2, 2]
    twice, made, chain, edited = (one.err for one in refused)
    assert "twice.jsonl:2: test-case a: id: duplicate id" in twice
    assert "made.jsonl:1: test-run t" in made
    assert "chain.json" in chain
    assert "there is no prompt-version 'x'" in chain
    assert "HR1: edited.jsonl:2: prompt-version v is already recorded with different content" in edited
    assert [one["id"] for one in at.run("export").rows()] == ["a", "v"]


def test_what_is_exported_can_be_imported_into_another_store_and_is_the_same(at: Terminal) -> None:
    other = Terminal(at.folder, {"MINIONS_EVALS_DB": str(at.folder / "other.db")})
    fixtures = [str(path) for path in sorted((ROOT / "fixtures").glob("*.yaml"))]
    assert at.run("import", *fixtures).code == 0
    exported = at.run("export")
    at.file("all.jsonl", exported.out)
    taken, again, twice = other.many(["import", "all.jsonl", "--json"], ["export"], ["import", "all.jsonl", "--json"])
    assert taken.one()["new"] == len(exported.rows())
    assert taken.one()["new"] == twice.one()["unchanged"]

    def said(rows: list[Json]) -> list[Json]:
        return sorted(({**row, "updatedAt": None} for row in rows), key=lambda row: str(row["id"]))

    assert said(again.rows()) == said(exported.rows())


def test_export_takes_one_type_and_lists_definitions_first(shop: Terminal) -> None:
    every, some = shop.many(["export"], ["export", "--type", "rubric"])
    assert {str(one["type"]) for one in some.rows()} == {"rubric"}
    assert every.rows()[0]["type"] == "test-case"
    assert {"test-run", "eval-judgment", "benchmark-run", "eval-failure", "eval-trend", "task", "agent-message"} <= {
        str(one["type"]) for one in every.rows()
    }


def test_a_list_is_paged_without_gaps_or_repeats(shop: Terminal) -> None:
    seen: list[str] = []
    after: object = 0
    while after is not None:
        page = shop.run("list", "test-case", "--limit", "10", "--after", str(after), "--json").one()
        records = page["records"]
        assert isinstance(records, list)
        seen += [str(one["id"]) for one in records if isinstance(one, dict)]
        after = page["nextCursor"]
    every = shop.run("export", "--type", "test-case").rows()
    assert seen == [one["id"] for one in every]
    shown, rest = shop.many(["list", "test-case", "--limit", "20"], ["list", "eval-metric", "--limit", "1"])
    assert shown.out.splitlines()[-1].startswith("more: --after ")
    assert len(shown.out.splitlines()) == 21
    assert len(rest.out.splitlines()) == 2


def test_show_tells_relations_in_both_directions(shop: Terminal) -> None:
    commands = ("support/reply", "support/damaged-on-arrival", "support/quality")
    rubric, test_case, bench = (
        one.one()["relations"] for one in shop.many(*(["show", ident, "--json"] for ident in commands))
    )
    assert link("support/reply", "composed_of", "support/reply/answers") in as_list(rubric)
    evaluated = link("support/damaged-on-arrival", "evaluated_by", "support/reply")
    assert evaluated in as_list(rubric)
    assert evaluated in as_list(test_case)
    groups = link("support/quality", "groups", "support/damaged-on-arrival")
    assert groups in as_list(bench)
    assert groups in as_list(test_case)
    told = shop.run("show", "support/reply")
    assert "support/reply --composed_of--> support/reply/answers" in told.out


def as_list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value  # pyright: ignore[reportUnknownVariableType]  of whatever


def link(source: str, kind: str, target: str) -> Json:
    return {"sourceId": source, "type": kind, "targetId": target}


def test_show_tells_which_quality_gates_of_a_skill_hold(at: Terminal) -> None:
    gates: list[JsonValue] = [{"benchmarkId": "b", "minScore": 0.5}, {"benchmarkId": "b", "minScore": 0.6}]
    skill = record("writer", "skill-definition", name="Writer", qualityGates=gates)
    name = at.file("s.json", suite(
        case("a"), case("c"), answer("ra", "a", "green"), answer("rc", "c", "red"), benchmark("b", "a", "c"), skill,
    ))  # fmt: skip
    _, unmeasured, _, measured, told = at.many(
        ["import", name],
        ["show", "writer", "--json"],
        ["run-benchmark", "b"],
        ["show", "writer", "--json"],
        ["show", "writer"],
    )
    assert [one["holds"] for one in rows(unmeasured.one()["gates"])] != [True, True]
    assert [(one["score"], one["holds"]) for one in rows(measured.one()["gates"])] == [(0.5, True), (0.5, False)]
    assert "gate b ≥ 0.6: undecided (score 0.5;" in told.out


def rows(value: object) -> list[Json]:
    return [one for one in as_list(value) if isinstance(one, dict)]


def test_a_deleted_record_is_hidden_kept_and_can_come_back(at: Terminal) -> None:
    name = at.file("s.json", suite(case("a"), answer("r", "a", "green"), benchmark("b", "a")))
    _, _, hidden, listed, shown, back, again = at.many(
        ["import", name], ["run-test-case", "a"], ["delete", "a", "--json"], ["list", "test-case"], ["show", "a", "--json"],
        ["import", name, "--json"], ["list", "test-case", "--json"],
    )  # fmt: skip
    assert hidden.one()["deletedAt"]
    assert listed.out == "no test-case records yet. `minions-evals import FILE` adds some\n"
    assert shown.one()["deletedAt"] == hidden.one()["deletedAt"]
    assert link("a", "produces", str(runs_of(at)[0]["id"])) in as_list(shown.one()["relations"])
    assert back.one()["changed"] == 1
    assert len(rows(again.one()["records"])) == 1


def runs_of(at: Terminal) -> list[Json]:
    return at.run("export", "--type", "test-run").rows()


def test_a_result_is_not_deleted(shop: Terminal) -> None:
    run = shop.run("runs", "--json").one()["runs"]
    found = shop.run("delete", str(rows(run)[0]["runId"]), "--json")
    assert found.code == 2
    assert found.error()["code"] == "conflict"


def test_a_result_is_listed_with_when_it_was_made_how_it_ended_and_its_case(shop: Terminal) -> None:
    first, *_, more = shop.run("list", "test-run", "--limit", "1").out.splitlines()
    assert re.search(r":1\.1  \d{4}-\d\d-\d\d \d\d:\d\d  passed  Refund inside 30 days$", first), first
    assert more.startswith("more: --after ")


def test_text_under_test_is_shown_as_text(at: Terminal) -> None:
    nasty = "[red]boo[/red] \x1b[31mred\x1b]0;title\x07 \u202eevil\u2066 \x00end"
    shown = "[red]boo[/red] [31mred]0;title evil end"
    name = at.file("s.json", suite(
        {**case("a", want="never"), "title": nasty}, answer("r", "a", nasty), benchmark("b", "a", dimension=nasty),
    ))  # fmt: skip
    at = at.with_env(COLUMNS="200")
    _, *told = at.many(
        ["import", name], ["run-test-case", "a"], ["run-benchmark", "b"], ["list", "test-case"], ["show", "r"], ["show", "b"],
        ["classify", "nobody\x1b[31m"],
    )  # fmt: skip
    for found in told:
        for mark in ("\x1b", "\x07", "\x00", "\u202e", "\u2066"):
            assert mark not in found.out + found.err, found
    case_run, bench_run, listed, shown_run, _, _ = told
    assert shown in bench_run.out
    assert shown in listed.out
    assert "[red]boo[/red]" in shown_run.out
    assert "[red]boo[/red]" in case_run.out + bench_run.out


def test_a_benchmark_that_rows_made_gets_its_threshold_and_schedule_by_a_command(at: Terminal) -> None:
    at.file("q.csv", "question,answer\nWhere is it?,Paris\n")
    rows = ["--as", "test-case", "--map", "inputs.q=question", "--map", "expectedOutputs.output=answer", "--into", "b"]
    _, changed, bad, unknown, shown, gone = at.many(
        ["import", "q.csv", *rows],
        ["set", "b", "passingThreshold=0.9", "schedule=0 6 * * *"],
        ["set", "b", "schedule=daily"],
        ["set", "b", "testCaseIds=[]"],
        ["show", "b", "--json"],
        ["set", "b", "schedule=", "--json"],
    )
    assert changed.out == "changed b: passingThreshold, schedule. `minions-eval-agent run` runs it at these times\n"
    assert (bad.code, "fields.schedule: 'daily'" in bad.err) == (2, True)
    assert (unknown.code, "unknown field of a benchmark: testCaseIds" in unknown.err) == (2, True)
    fields = cast("Json", shown.one()["fields"])
    assert (fields["passingThreshold"], fields["schedule"], len(cast("list[str]", fields["testCaseIds"]))) == (
        0.9,
        "0 6 * * *",
        1,
    )
    assert "schedule" not in cast("Json", gone.one()["fields"])
