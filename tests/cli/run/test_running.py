"""Running, judging from outside, gates and what they end with."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, judged_suite, suite, two_versions
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import Server


def rows(value: object) -> list[Json]:
    assert isinstance(value, list)
    return [one for one in value if isinstance(one, dict)]  # pyright: ignore[reportUnknownVariableType]  JSON


@pytest.fixture
def falling(at: Terminal) -> Terminal:
    """Ten cases that all pass under v1 and of which four pass under v2."""
    name = at.file("s.json", two_versions(range(10), range(4), passingThreshold=0.5))
    assert at.run("import", name).code == 0
    return at


def bench(version: int, *gates: str) -> list[str]:
    return ["run-benchmark", "b", "--prompt-version", f"v{version}", *gates]


def test_a_gate_that_failed_ends_with_1_and_one_that_held_with_0(falling: Terminal) -> None:
    ended = falling.many(
        bench(1, "--min-score", "1", "--fail-on-regression"),
        bench(2, "--json"),
        bench(2, "--min-score", "0.4"),
        bench(2, "--min-score", "0.41"),
        bench(1, "--json"),
        bench(2, "--fail-on-regression", "--min-score", "0.41"),
        bench(2, "--fail-on-regression", "--key", "again"),
        ["accept", "again", "--output", "x"],
        ["accept", "again", "--by", "ana"],
        bench(2, "--fail-on-regression"),
    )
    assert [one.code for one in ended] == [0, 0, 0, 3, 0, 1, 1, 2, 0, 0]
    assert "Still below" in ended[6].out, "the same run again is measured against what it fell from"
    assert "minions-evals accept" in ended[6].err
    assert "gate undecided: score 0.400 < 0.41 (95 % CI 0.122 to 0.738), which is not significant" in ended[3].err
    assert "gate failed: the pass rate fell since" in ended[5].err
    fallen = ended[1].one()
    run = fallen["benchmarkRun"]
    assert isinstance(run, dict)
    assert (run["passedCount"], run["totalCount"], run["passRate"], run["overallScore"]) == (4, 10, 40.0, 0.4)
    assert fallen["regression"]
    assert "─ regression ─" in ended[5].out


def test_a_fall_that_too_few_cases_show_ends_undecided_and_says_so_and_fails_the_literal_rule(at: Terminal) -> None:
    at.run("import", at.file("s.json", two_versions(range(10), range(5))))
    gates = ("--fail-on-regression",)
    ended = at.many(bench(1), bench(2, *gates), bench(1), bench(2, *gates, "--literal"))
    assert [one.code for one in ended] == [0, 3, 0, 1]
    assert "gate undecided: 5 of 10 cases got worse and none better" in ended[1].err


def test_a_fall_that_others_make_up_for_is_noise_to_the_gate(at: Terminal) -> None:
    at.run("import", at.file("s.json", two_versions(range(4), range(3, 5))))
    compared = ["compare", "b", "--from", "v1", "--to", "v2", "--fail-on-regression"]
    ended = at.many(bench(1), bench(2, "--fail-on-regression"), compared)
    assert [one.code for one in ended] == [0, 0, 0]
    assert "regression" in ended[1].out


def test_a_comparison_whose_fall_cannot_be_decided_ends_with_3_too(at: Terminal) -> None:
    at.run("import", at.file("s.json", two_versions(range(10), range(5))))
    compared = ["compare", "b", "--from", "v1", "--to", "v2", "--fail-on-regression"]
    ended = at.many(compared, [*compared, "--literal"])
    assert [one.code for one in ended] == [3, 1]
    assert "gate undecided" in ended[0].err


def test_a_case_that_fails_in_several_trials_is_named_once_and_all_that_got_worse_are_counted(at: Terminal) -> None:
    suite_file = at.file("s.json", two_versions(range(30), range(2), cases=30))
    at.run("import", suite_file)
    shown, told = at.many(bench(1), bench(2, "--trials", "2"))[1], at.run("runs", "latest", "--json").one()
    regression = told["regression"]
    assert isinstance(regression, dict)
    named = regression["newlyFailing"]
    assert isinstance(named, list)
    assert len({*map(str, named)}) == len(named) == 20
    assert regression["worse"] == 28
    assert "and 20 more" in " ".join(shown.out.split())


def test_a_regression_is_in_the_outbox_at_once(falling: Terminal) -> None:
    _, _, told, first, second = falling.many(
        bench(1), bench(2), ["outbox"], ["outbox", "--limit", "1", "--json"], ["outbox", "--after", "1", "--json"]
    )
    said = told.out.splitlines()
    assert any("  waiting    task to tasks: Investigate benchmark regression (" in line for line in said), said
    assert any(line.endswith("agent-message to orchestrator: benchmark-regression (b)") for line in said), said
    page, rest = first.one(), second.one()
    assert len(rows(page["outbox"])) == 1
    assert page["nextCursor"] == 1
    assert {row["state"] for row in rows(page["outbox"])} == {"pending"}  # pyright: ignore[reportUnhashable]  texts
    assert {one["type"] for one in [*rows(page["outbox"]), *rows(rest["outbox"])]} >= {"task", "agent-message"}  # pyright: ignore[reportUnhashable]  texts


def test_a_failed_case_ends_with_1_and_a_passed_one_with_0(falling: Terminal) -> None:
    good, bad, named, other = falling.many(
        ["run-test-case", "c1", "--prompt-version", "v2"],
        ["run-test-case", "c9", "--prompt-version", "v2", "--json"],
        ["run-test-case", "c9", "--agent-run", "c9/v1"],
        ["run-test-case", "c9", "--agent-run", "nobody"],
    )
    assert [one.code for one in (good, bad, named, other)] == [0, 1, 0, 2]
    assert "✓ passed  c1  1 of 1" in good.out
    (failure,) = rows(bad.one()["failures"])
    assert failure["failureType"] == "wrong-output"
    told, shown = falling.many(
        ["classify", str(failure["testRunId"])], ["classify", str(failure["testRunId"]), "--explain", "llm"]
    )
    assert told.out.splitlines()[0] == failure["testRunId"]
    assert told.out.splitlines()[1].startswith("  wrong-output (critical), by rules/")
    assert "root cause: " in told.out
    assert (shown.code, "no model is configured" in shown.err) == (2, True)


def test_the_same_key_is_the_same_run_and_another_request_under_it_is_refused(falling: Terminal) -> None:
    first, again, other, listed, one, shown = falling.many(
        bench(1, "--key", "nightly", "--json"), bench(1, "--key", "nightly", "--json"), bench(2, "--key", "nightly"),
        ["runs", "--json"], ["runs", "nightly", "--json"], ["runs"],
    )  # fmt: skip
    assert first.one() == again.one() == one.one()
    assert other.code == 2
    assert "another --key" in other.err
    assert [one["key"] for one in rows(listed.one()["runs"])] == ["nightly"]
    heading, line, *_ = shown.out.splitlines()
    assert {"of", "score", "passed", "at", "version"} <= set(heading.split())
    assert not {"target", "cost"} & set(heading.split()), "of no run there is one"
    assert str(first.one()["runId"]).startswith(line.split()[0])
    assert "p@1" in line
    assert len(line) <= 80


def test_what_has_no_output_is_skipped_by_name(at: Terminal) -> None:
    name = at.file("s.json", suite(case("a"), case("b"), answer("r", "a", "green"), benchmark("x", "a", "b")))
    _, found, told = at.many(["import", name], ["run-benchmark", "x", "--json"], ["run-benchmark", "x"])
    assert found.one()["outcomes"] == {"scored": 1, "skipped": 1}
    assert [one["testCaseId"] for one in rows(found.one()["unscored"])] == ["b"]
    assert "not scored" in told.out


def test_a_run_that_should_ask_people_says_where_its_rules_left_nothing_to_ask(at: Terminal) -> None:
    at.file("s.json", suite(case("a"), answer("r", "a", "green"), benchmark("x", "a")))
    _, asked, plain = at.many(
        ["import", "s.json"], ["run-benchmark", "x", "--judge", "human"], ["run-benchmark", "x", "--fresh"]
    )
    assert "nobody was asked: all checks are rules." in " ".join(asked.out.split())
    assert "nobody was asked" not in plain.out


def test_what_lacks_an_output_is_the_next_step_of_a_run_and_a_target_makes_it(at: Terminal) -> None:
    cases = [case(name) for name in "abcdef"]
    at.file("s.json", suite(*cases, answer("r", "a", "green"), benchmark("x", *"abcdef")))
    at.file("green_agent.py", "def answer(q):\n    return 'green'\n")
    _, told = at.many(["import", "s.json"], ["run-benchmark", "x"])
    following = told.out.splitlines()[1].removeprefix("Next: minions-evals ")
    assert following.startswith("run-benchmark x --rerun-failed ")
    assert "\n b, c, d and 2 more  skipped" in told.out, "one line for each reason"
    rest = at.run(*following.replace("TARGET", "python:green_agent:answer").split(), "--json").one()
    assert rest["outcomes"] == {"scored": 5}, "a skipped case is not scored, so it is run again"


def test_a_gate_over_fewer_outputs_than_cases_is_undecided_unless_that_is_allowed(at: Terminal) -> None:
    at.run(
        "import", at.file("s.json", suite(case("a"), case("b"), answer("r", "a", "green"), benchmark("x", "a", "b")))
    )
    gated = ["run-benchmark", "x", "--min-score", "0.9"]
    ended = at.many(gated, [*gated, "--allow-skipped"], ["run", "x", "--min-score", "0.9"], ["run", "x"])
    assert [one.code for one in ended] == [3, 0, 3, 0]
    assert "gate undecided: 1 of 2 outputs was not judged (b: no recorded agent-run" in ended[0].err
    assert "--allow-skipped" in ended[0].err
    assert "x: not decided\n" in ended[2].out


def test_a_comparison_over_fewer_outputs_than_cases_is_undecided_unless_that_is_allowed(at: Terminal) -> None:
    records = [
        answer(f"{name}{n}", name, "green", promptVersionRef=f"v{n}") for name, n in (("a", 1), ("a", 2), ("b", 1))
    ]
    versions: list[Json] = [
        {
            "id": f"v{n}",
            "type": "prompt-version",
            "fields": {"content": f"Say {n}.", "versionNumber": n, "promptId": "p"},
        }
        for n in (1, 2)
    ]
    at.run("import", at.file("s.json", suite(*versions, case("a"), case("b"), *records, benchmark("x", "a", "b"))))
    compared = ["compare", "x", "--from", "v1", "--to", "v2"]
    ended = at.many(
        [*compared, "--fail-on-regression"], [*compared, "--fail-on-regression", "--allow-skipped"], compared
    )
    assert [one.code for one in ended] == [3, 0, 0]
    assert "gate undecided: 1 of 2 outputs was not judged (b: " in ended[0].err


def test_a_key_whose_run_is_complete_says_that_nothing_was_judged_now(at: Terminal) -> None:
    at.run("import", at.file("s.json", suite(case("a"), answer("r", "a", "green"), benchmark("x", "a"))))
    first, again = at.many(*[["run-benchmark", "x", "--key", "k"]] * 2)
    assert "Nothing was re-run" not in first.err
    assert "The run under the key k was completed at" in again.err


def packets(found: Ended) -> list[Json]:
    return rows(found.one()["packets"])


def verdict(found: Ended, score: float, **more: JsonValue) -> Json:
    digests: list[JsonValue] = [
        {"digest": one["digest"], "judgments": [{"criterionId": "r/kind", "score": score, "rationale": "It says “Dear”.", **more}]}
        for one in packets(found)
    ]  # fmt: skip
    return {"runId": str(found.one()["runId"]), "judgedBy": "claude", "packets": digests}


@pytest.mark.parametrize("door", ["a file", "standard input"])
def test_a_caller_judges_the_packets_that_wait(at: Terminal, door: str) -> None:
    _, waiting = at.many(["import", at.file("s.json", judged_suite())], ["run-benchmark", "b", "--json"])
    assert (waiting.code, waiting.one()["state"]) == (0, "awaiting-judgments")
    (packet,) = packets(waiting)
    assert packet["output"] == {"output": "Dear you"}
    given = json.dumps(verdict(waiting, 4))
    if door == "a file":
        found = at.run("submit", at.file("j.json", "\ufeff" + given), "--json")
    else:
        found = at.run("submit", "-", "--json", stdin=given)
    assert found.code == 0, found
    assert found.one()["state"] == "completed"
    run = found.one()["benchmarkRun"]
    assert isinstance(run, dict)
    assert run["overallScore"] == pytest.approx(0.8)
    (judgment,) = at.run("export", "--type", "eval-judgment").rows()
    fields = judgment["fields"]
    assert isinstance(fields, dict)
    assert (fields["judgedBy"], fields["rationale"]) == ("claude", "It says “Dear”.")
    assert at.run("db", "check").code == 0


def test_judgments_that_do_not_fit_are_refused_by_name_and_nothing_is_kept(at: Terminal) -> None:
    _, waiting = at.many(["import", at.file("s.json", judged_suite())], ["run-benchmark", "b", "--json"])
    good = verdict(waiting, 4)
    wrong: dict[str, tuple[Json, str]] = {
        "out of range": (verdict(waiting, 6), "6"),
        "blank": (verdict(waiting, 4, rationale=" "), "rationale"),
        "unsure beyond measure": (verdict(waiting, 4, confidence=2), "confidence"),
        "not asked": (verdict(waiting, 4, criterionId="r/other"), "r/other"),
        "another packet": ({**good, "packets": [{"digest": "feed", "judgments": []}]}, "feed"),
        "another run": ({**good, "runId": "nobody"}, "nobody"),
        "none": ({**good, "packets": []}, "packets"),
        "unknown key": ({**good, "verdict": 1}, "verdict"),
    }
    commands = [["submit", at.file(f"{number}.json", given)] for number, (given, _) in enumerate(wrong.values())]
    for (name, (_, named)), found in zip(wrong.items(), at.many(*commands), strict=True):
        assert (found.code, found.out) == (2, ""), (name, found)
        assert named in found.err, (name, found)
    assert at.run("export", "--type", "eval-judgment").out == ""
    once, twice = at.many(*[["submit", at.file("good.json", good)]] * 2)
    assert (once.code, twice.code) == (0, 2)
    assert "already judged" in twice.err


async def test_a_judge_that_lets_nobody_in_is_an_error_and_ends_with_3(at: Terminal, server: Server) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="wrong", ANTHROPIC_BASE_URL=server.url)
    commands = (["import", at.file("s.json", judged_suite())], ["run-test-case", "c", "--json"])
    _, found = await anyio.to_thread.run_sync(lambda: at.many(*commands))
    assert found.code == 3, found
    assert at.run("export", "--type", "test-run").out == ""


async def test_a_run_says_which_model_judged_by_default_and_why(at: Terminal, server: Server) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url, OPENAI_API_KEY="k")
    whole = judged_suite()
    assert isinstance(whole, dict)
    assert isinstance(whole["minions"], list)
    by_rule = [case("d"), answer("e", "d", "green"), benchmark("both", "c", "d")]
    run = ["run-benchmark", "both", "--json"]
    commands = (
        ["import", at.file("s.json", {"minions": [*whole["minions"], *by_rule]})],
        run,
        [*run, "--judge-model", "anthropic:claude-sonnet-5-5"],
        [*run, "--judge", "heuristic"],
    )
    _, default, chosen, ruled = await anyio.to_thread.run_sync(lambda: at.many(*commands))
    said = "the judge was anthropic:claude-sonnet-5-5, the default: ANTHROPIC_API_KEY and OPENAI_API_KEY are set"
    assert said in default.err, default
    assert server.requests > 0
    assert "the default" not in chosen.err + ruled.err


def test_the_store_is_checked_copied_and_located(falling: Terminal, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    path, made, again, checked, same = falling.many(
        ["db", "path"], ["db", "backup", copy, "--json"], ["db", "backup", copy], ["db", "check", "--json", "--db", copy],
        ["db", "check", "--json"],
    )  # fmt: skip
    assert path.out == f"{falling.db}\n"
    assert made.one()["bytes"] == (tmp_path / "copy.db").stat().st_size
    assert (again.code, "not overwritten" in again.err) == (2, True)
    assert checked.one()["checked"] == same.one()["checked"]
    assert checked.one()["ok"] is True
    option = falling.run("db", "path", "--db", "other.db", "--json").one()
    assert option == {"path": str(falling.folder / "other.db"), "exists": False}


def test_a_gate_that_cannot_be_checked_because_outputs_wait_is_not_held(at: Terminal) -> None:
    at.run("import", at.file("s.json", judged_suite()))
    assert at.run("run-benchmark", "b", "--judge", "caller").code == 0
    for gate in (("--min-score", "0.5"), ("--fail-on-regression",)):
        assert at.run("run-benchmark", "b", "--judge", "caller", *gate).code == 3
