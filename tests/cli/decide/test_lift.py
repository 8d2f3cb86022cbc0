"""Does it help? A skill and files tried on the same cases with and without them, each output made in a fresh workspace."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import cast

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import Server

AGENT = Path(__file__).with_name("lift_agent.py")
TOTAL: JsonValue = {"type": "contains", "value": "TOTAL"}
FOUR: JsonValue = {"type": "contains", "value": "4"}


def skill(at: Terminal, *evals: Json, says: str = "Answer with the TOTAL.", folder: str = "csv") -> str:
    """A skill's folder with those evals."""
    root = at.folder / folder
    (root / "evals" / "files").mkdir(parents=True)
    at.file(f"{folder}/SKILL.md", f"---\nname: csv-totals\ndescription: Sums columns.\n---\n{says}\n")
    at.file(f"{folder}/evals/files/x.csv", "a,b\n1,2\n3,4\n")
    at.file(f"{folder}/evals/evals.json", {"skill_name": "csv-totals", "evals": list(evals)})
    return folder


def totals(number: int) -> list[Json]:
    return [{"id": at, "prompt": f"total of column {at}", "assertions": [TOTAL, FOUR]} for at in range(number)]


def target(at: Terminal, *, log: bool = True, starts: str = "") -> str:
    """A target file for the agent; with `log` its tool calls are read."""
    told = "  toolCalls: log\n" if log else ""
    run = json.dumps([sys.executable, str(AGENT), *([starts] if starts else [])])
    usage = "  usage: {inputTokens: tokens.in, outputTokens: tokens.out}\n"
    return at.file("t.yaml", f"command:\n  run: {run}\n  output: output\n{told}{usage}")


def lift(at: Terminal, subject: str, *more: str) -> Ended:
    return at.run("lift", subject, "--target-config", "t.yaml", "--json", *more)


def outputs(at: Terminal) -> dict[tuple[str, str], JsonValue]:
    """What was answered, by arm and case."""
    rows = [cast("Json", row["fields"]) for row in at.run("export", "--type", "test-run").rows()]
    return {
        ("with" if "/with-" in str(row["promptVersionRef"]) else "without", str(row["testCaseId"]).rpartition("/")[2]):
        cast("Json", row["actualOutput"])["output"] for row in rows
    }  # fmt: skip


def test_a_skill_that_helps_is_said_to_with_what_it_costs(at: Terminal) -> None:
    target(at)
    other: Json = {"id": "t1", "prompt": "hello", "should_trigger": False}
    missed: Json = {"id": "t2", "prompt": "sum it up", "should_trigger": True}
    ended = lift(at, skill(at, *totals(8), other, missed), "-o", "benchmark.json")
    assert ended.code == 0, ended.err
    told = ended.one()
    assert told["verdict"] == "helps"
    comparison = cast("Json", told["comparison"])
    assert (comparison["scoreA"], comparison["scoreB"], comparison["sampleSize"]) == (0.5, 1.0, 8)
    tokens = next(one for one in cast("list[Json]", told["costs"]) if one["unit"] == "tokens")
    assert (tokens["withoutSubject"], tokens["withSubject"], tokens["interval"]) == (110.0, 160.0, [50.0, 50.0])
    triggers = cast("Json", told["triggers"])
    assert cast("Json", triggers["precision"])["share"] == 1.0
    recall = cast("Json", triggers["recall"])
    assert (recall["found"], recall["of"]) == (8, 9)
    assert triggers["missed"] == ["lift/csv-totals/t2"]


@pytest.mark.parametrize(("asks", "found", "of"), [("total", 3, 3), ("sum it", 0, 3)])
def test_a_set_that_only_asks_whether_the_skill_is_taken_up_runs(at: Terminal, asks: str, found: int, of: int) -> None:
    target(at)
    should: list[Json] = [{"id": n, "prompt": f"{asks} {n}", "should_trigger": True} for n in range(3)]
    wrong: Json = {"id": "w", "prompt": "total of nothing", "should_trigger": False}
    nothing: Json = {"id": "x", "prompt": "total"}
    ended = lift(at, skill(at, *should, wrong, nothing), "-o", "b.json")
    assert ended.code == 0, ended.err
    told = ended.one()
    assert (told["verdict"], told["comparison"], told["leftOut"]) == (None, None, ["x"])
    triggers = cast("Json", told["triggers"])
    recall, precision = (cast("Json", triggers[name]) for name in ("recall", "precision"))
    assert (recall["found"], recall["of"], precision["of"] - precision["found"]) == (found, of, 1)  # type: ignore[operator]
    assert triggers["wrong"] == ["lift/csv-totals/w"]
    kept = json.loads((at.folder / "b.json").read_text("utf-8"))
    assert [run["eval_id"] for run in kept["runs"]] == [0, 1, 2, "w"]
    assert lift(at, "csv", "--fail-on-harm").code == 3  # nothing says that it does no harm


@pytest.mark.parametrize("judged", [0, 6])
def test_trials_that_crash_are_counted_beside_the_skills_use(at: Terminal, judged: int) -> None:
    target(at)
    crashing: list[Json] = [{"id": f"c{n}", "prompt": f"crash {n}", "should_trigger": n < 2} for n in range(3)]
    taken: Json = {"id": "t", "prompt": "total", "should_trigger": True}
    ended = lift(at, skill(at, *totals(judged), taken, *crashing))
    assert ended.code == 3, ended.err  # outputs could not be judged
    triggers = cast("Json", ended.one()["triggers"])
    recall = cast("Json", triggers["recall"])
    assert (recall["found"], recall["of"]) == (judged + 1, judged + 1)
    assert (triggers["crashed"], triggers["missed"], triggers["notCaptured"]) == (3, [], 0)
    assert triggers["crashedIn"] == [f"lift/csv-totals/c{n}" for n in range(3)]
    assert triggers["recallBounds"] == [(judged + 1) / (judged + 3), 1.0]
    said = at.run("lift", "csv", "--target-config", "t.yaml").out
    assert "3 trials crashed and do not count" in said
    assert f"including them: {100 * (judged + 1) / (judged + 3):.0f} to 100 %" in said


def test_a_set_whose_outputs_come_without_a_tool_log_is_no_result(at: Terminal) -> None:
    target(at, log=False)
    ended = lift(at, skill(at, {"id": 1, "prompt": "total", "should_trigger": True}))
    assert (ended.code, ended.one()["triggers"]) == (3, None)
    assert "no output has a tool log" in str(ended.one()["inWords"])


def test_an_eval_that_asks_for_nothing_is_refused_alone_and_named_beside_others(at: Terminal) -> None:
    target(at)
    ended = lift(at, skill(at, {"id": 1, "prompt": "total"}))
    assert ended.code == 2
    assert "should_trigger" in str(ended.error()["message"])
    said = at.run(
        "lift", skill(at, *totals(6), {"id": "x", "prompt": "total"}, folder="other"), "--target-config", "t.yaml"
    )
    assert "not run, because they have no check of the output: x" in said.out


def test_a_skills_use_is_not_asked_of_what_is_no_skill(at: Terminal) -> None:
    target(at)
    at.file("AGENTS.md", "Be brief.")
    at.file("cases.json", [{"id": 1, "prompt": "total", "should_trigger": True}])
    ended = lift(at, "AGENTS.md", "--cases", "cases.json")
    assert ended.code == 2
    assert "tests no skill" in str(ended.error()["message"])


def test_it_is_written_as_skill_benchmarks_are(at: Terminal) -> None:
    target(at)
    assert lift(at, skill(at, *totals(6)), "-o", "benchmark.json").code == 0
    told = json.loads((at.folder / "benchmark.json").read_text("utf-8"))
    assert told["metadata"]["skill_name"] == "csv-totals"
    assert told["metadata"]["evals_run"] == [*range(6)]
    assert told["metadata"]["runs_per_configuration"] == 1
    assert [run["configuration"] for run in told["runs"]] == ["with_skill"] * 6 + ["without_skill"] * 6
    without = told["runs"][6]
    assert without["result"]["pass_rate"] == 0.5
    assert [(one["text"], one["passed"]) for one in without["expectations"]] == [
        ("contains TOTAL", False),
        ("contains 4", True),
    ]
    assert all(one["evidence"] for one in without["expectations"])
    assert told["run_summary"]["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0}
    assert told["run_summary"]["delta"]["pass_rate"] == "+0.50"
    assert told["run_summary"]["delta"]["tokens"] == "+50"


def test_each_output_is_made_in_a_fresh_workspace_that_holds_no_evals(at: Terminal) -> None:
    target(at)
    cases: list[Json] = [
        {
            "id": number,
            "prompt": f"list {number}, and leave a file",
            "assertions": [FOUR],
            "files": ["evals/files/x.csv"],
        }
        for number in range(2)
    ]
    assert lift(at, skill(at, *cases)).code == 0
    found = outputs(at)
    given = {"with": ".claude/skills/csv-totals/SKILL.md evals/files/x.csv", "without": "evals/files/x.csv"}
    for (arm, _), said in found.items():
        assert said == {"answer": given[arm], "files": {"out.bin": {"bytes": 2}, "out.txt": "made here"}}
    assert len(found) == 4


def test_harm_is_found_and_fails_the_gate(at: Terminal) -> None:
    target(at)
    cases: list[Json] = [{**one, "assertions": [FOUR]} for one in totals(8)]
    harmful = skill(at, *cases, says="spoils it")
    ended = lift(at, harmful, "--fail-on-harm")
    assert (ended.code, ended.one()["verdict"]) == (1, "harmful")


def test_what_too_few_cases_cannot_show_is_undecided(at: Terminal) -> None:
    target(at)
    ended = lift(at, skill(at, *totals(2)), "--fail-on-harm")
    assert (ended.code, ended.one()["verdict"]) == (3, "undecided")
    assert "more cases" in str(ended.one()["inWords"])


def test_a_skill_is_tried_against_what_it_was_before(at: Terminal) -> None:
    target(at)
    new = skill(at, *totals(8), says="always: the TOTAL")
    old = skill(at, folder="old", says="spoils it")
    ended = lift(at, new, "--without", old)
    assert (ended.code, ended.one()["verdict"]) == (0, "helps")
    assert {str(said) for (arm, _), said in outputs(at).items() if arm == "without"} == {"no idea"}


def test_without_a_tool_log_nothing_is_said_of_triggers(at: Terminal) -> None:
    target(at, log=False)
    assert lift(at, skill(at, *totals(2))).one()["triggers"] is None


def test_files_are_tried_by_a_file_that_says_what_each_arm_holds(at: Terminal) -> None:
    target(at)
    at.file("AGENTS.md", "Be brief.")
    at.file("cases.json", [{"id": "a", "prompt": "list", "expect": [{"type": "contains", "value": "AGENTS.md"}]}])
    at.file(
        "lift.yaml",
        "name: agents-file\ncases: cases.json\nwith: [AGENTS.md, {from: AGENTS.md, to: docs/RULES.md}]\ntargetConfig: t.yaml\n",
    )
    ended = at.run("lift", "lift.yaml", "--yes", "--json")
    assert ended.code == 0, ended.out
    assert outputs(at) == {("with", "a"): "AGENTS.md docs/RULES.md", ("without", "a"): ""}


def test_a_benchmark_that_is_kept_is_run_with_and_without_a_file(at: Terminal) -> None:
    target(at)
    at.file("AGENTS.md", "Be brief.")
    cases: list[JsonValue] = [
        {"id": f"k{one}", "type": "test-case", "fields": {"name": f"k{one}", "inputs": {"prompt": f"list {one}"},
         "assertions": [{"type": "contains", "value": "AGENTS.md"}]}} for one in range(8)
    ]  # fmt: skip
    kept: JsonValue = {
        "id": "kept",
        "type": "benchmark",
        "fields": {"name": "Kept", "testCaseIds": [f"k{n}" for n in range(8)]},
    }
    at.file("s.json", {"minions": [*cases, kept]})
    assert at.run("import", "s.json").code == 0
    ended = lift(at, "AGENTS.md", "--cases", "kept")
    assert (ended.code, ended.one()["verdict"]) == (0, "helps")


def test_the_same_key_goes_on_and_starts_the_agent_for_nothing_twice(at: Terminal) -> None:
    (at.folder / "starts").mkdir()
    target(at, starts=str(at.folder / "starts"))
    folder = skill(at, *totals(6))
    first, second = (lift(at, folder, "--key", "k") for _ in range(2))
    assert first.one() == second.one()
    assert len([*(at.folder / "starts").iterdir()]) == 12


async def test_statements_are_judged_by_the_model_that_is_named(at: Terminal, server: Server) -> None:
    target(at)
    folder = skill(
        at, {"id": 1, "prompt": "total", "expected_output": "A total.", "assertions": ["Says the TOTAL", "Is brief"]}
    )
    there = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
    ended = await anyio.to_thread.run_sync(
        lambda: lift(there, folder, "--judge-model", "anthropic:claude-judge", "-o", "b.json")
    )
    assert ended.code == 0, ended.out
    told = json.loads((at.folder / "b.json").read_text("utf-8"))
    assert [one["text"] for one in told["runs"][0]["expectations"]] == ["Says the TOTAL", "Is brief"]
    assert server.requests >= 4


def test_statements_wait_where_no_model_is_there_to_judge(at: Terminal) -> None:
    target(at)
    ended = at.run(
        "lift", skill(at, {"prompt": "total", "assertions": ["Says the TOTAL"]}), "--target-config", "t.yaml"
    )
    assert ended.code == 0
    assert "wait to be judged" in ended.out


def test_an_agent_is_named_from_where_one_stands(at: Terminal) -> None:
    at.file("agent.py", AGENT.read_text("utf-8"))
    ended = at.run("lift", skill(at, *totals(2)), "--target", f"command:{sys.executable} agent.py", "--json")
    assert ended.code == 0, ended.out
    assert "TOTAL" in str(outputs(at)["with", "0"])


REFUSED = {
    "no such subject": (["nothere"], "is neither a file nor a folder here"),
    "no cases": (["AGENTS.md"], "says nothing of the cases"),
    "both the same": (["csv", "--without", "csv"], "use the same workspace files"),
    "outside": (["csv", "--with", "AGENTS.md=../up.md"], "not a path below the folder"),
    "not there": (["csv", "--with", "missing.md"], "neither a file nor a folder"),
    "two at one place": (["csv", "--with", "AGENTS.md=A", "--with", "t.yaml=A"], "both be copied to A"),
    "a version": (["csv", "--prompt-version", "v"], "a lift sets the prompt versions of its arms"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_tried_is_refused_by_name_before_anything_runs(at: Terminal, name: str) -> None:
    (at.folder / "starts").mkdir()
    target(at, starts=str(at.folder / "starts"))
    at.file("AGENTS.md", "Be brief.")
    skill(at, *totals(2))
    arguments, said = REFUSED[name]
    ended = lift(at, *arguments)
    assert ended.code == 2
    assert said in str(ended.error()["message"])
    assert not [*(at.folder / "starts").iterdir()]


@pytest.mark.parametrize("name", ["../../etc/passwd", "evals/files/none.csv"])
def test_a_case_is_given_no_file_from_outside_of_its_skill(at: Terminal, name: str) -> None:
    target(at)
    ended = lift(at, skill(at, {"prompt": "total", "assertions": [TOTAL], "files": [name]}))
    assert ended.code == 2
    assert "files" in str(ended.error()["message"])


def test_a_link_that_leads_out_of_a_skill_is_refused(at: Terminal) -> None:
    target(at)
    folder = skill(at, *totals(2))
    at.file("secret.txt", "s")
    (at.folder / folder / "link.txt").symlink_to(at.folder / "secret.txt")
    ended = lift(at, folder)
    assert ended.code == 2
    assert "is outside" in str(ended.error()["message"])


def test_a_target_that_is_no_program_is_refused(at: Terminal) -> None:
    ended = at.run("lift", skill(at, *totals(2)), "--target", "anthropic:claude-sonnet-5-5", "--json")
    assert ended.code == 2
    assert "must be a program" in str(ended.error()["message"])


def test_a_workspace_that_cannot_be_laid_out_is_the_instruments_failure(at: Terminal) -> None:
    at.file("AGENTS.md", "Be brief.")
    folder = skill(at, *totals(2))
    removes = f"import os; os.path.exists({str(at.folder / 'AGENTS.md')!r}) and os.remove({str(at.folder / 'AGENTS.md')!r}); print(4)"
    at.file("t.yaml", f"command:\n  run: {json.dumps([sys.executable, '-c', removes])}\n")
    ended = lift(at, folder, "--with", "AGENTS.md", "--concurrency", "1")
    assert ended.code == 3
    assert "workspace cannot be prepared" in str(ended.error()["message"])


CLIMBING = (
    "../csv/evals/files/x.csv",
    "evals/../../csv/evals/files/x.csv",
    "evals/files/../../../csv/evals/files/x.csv",
    "up/csv/evals/files/x.csv",
    "/etc/hostname",
    "",
    ".",
    "..",
    "evals/files/out.csv",
    "a\0b",
    "evals/files/pipe",
)
"""Names of a case's file that lead out of the skill's folder, or to no regular file in it."""


@pytest.mark.parametrize("name", CLIMBING)
def test_a_strangers_skill_writes_nothing_outside_its_workspace(at: Terminal, name: str) -> None:
    target(at)
    folder = skill(at, {"id": 1, "prompt": "total", "assertions": [FOUR], "files": [name]})
    (at.folder / "secret.csv").write_text("mine", "utf-8")
    (at.folder / folder / "evals/files/out.csv").symlink_to(at.folder / "secret.csv")
    (at.folder / folder / "up").symlink_to("..")
    os.mkfifo(at.folder / folder / "evals/files/pipe")
    inside = (at.folder / folder / "up/csv/evals/files/x.csv").resolve().is_relative_to(at.folder / folder)
    temporary = at.folder / "temporary"
    temporary.mkdir()
    ended = lift(at.with_env(TMPDIR=str(temporary)), folder)
    if name.startswith("up/"):  # its end is in the folder; in the workspace it is a folder of that name, no link
        assert inside
        assert ended.code == 0, ended.err
    else:
        assert ended.code == 2, ended.out
        assert "files" in str(ended.error()["message"])
    assert [*temporary.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["../../..", "/etc", "..", ".", "a/b", "CSV", "csv totals", "-csv", "csv-", "c--sv", "c" * 65, "csv\\x", "cs\u0301v"]
)  # fmt: skip
def test_a_skills_name_is_one_of_the_agent_skills_grammar(at: Terminal, name: str) -> None:
    target(at)
    folder = skill(at, *totals(1))
    at.file(f"{folder}/SKILL.md", f"---\nname: {json.dumps(name)}\ndescription: d\n---\nx\n")
    ended = lift(at, folder)
    assert ended.code == 2
    assert "name" in str(ended.error()["message"])


@pytest.mark.parametrize("place", ["../out", "/tmp/out", "a/../../out", ".."])  # noqa: S108  nothing is written there
def test_no_option_and_no_lift_file_lays_a_file_outside_the_workspace(at: Terminal, place: str) -> None:
    target(at)
    folder = skill(at, *totals(1))
    at.file("AGENTS.md", "help")
    at.file(
        "lift.yaml", {"name": "x", "cases": f"{folder}/evals/evals.json", "with": [{"from": "AGENTS.md", "to": place}]}
    )
    for asked in (
        ("lift.yaml",),
        (folder, "--skills-at", place),
        (folder, "--with", f"AGENTS.md={place}"),
    ):
        ended = lift(at, *asked)
        assert ended.code == 2, asked
        assert "workspace" in str(ended.error())
