"""One's own application as the target of a run, named on the command line or set up in a file."""

from __future__ import annotations

import sys
from typing import cast

import anyio.to_thread
import pytest

from tests.cli.suites import answer, benchmark, case, judged_suite, suite
from tests.shared.cli.terminal import CLI, Json, Terminal
from tests.shared.targets.application import Asked, application, reply

PROGRAM = "import json, sys; print(json.dumps({'said': {'it': 'green ' + json.load(sys.stdin)['ask']}}))"


@pytest.fixture
def asking(at: Terminal) -> Terminal:
    """A benchmark of two cases without recorded outputs."""
    at.file("s.json", suite(case("a"), case("c"), benchmark("b", "a", "c")))
    assert at.run("import", "s.json").code == 0
    at.file("app.py", PROGRAM)
    return at


def test_a_program_set_up_in_a_file_makes_the_outputs(asking: Terminal) -> None:
    asking.file(
        "t.yaml", f"command: {{run: [{sys.executable}, app.py], input: {{ask: 'Q {{{{q}}}}'}}, output: said.it}}\n"
    )
    ran, exported = asking.many(
        ["run-benchmark", "b", "--target-config", "t.yaml", "--json"], ["export", "--type", "test-run"]
    )
    assert ran.code == 0
    runs = [row["fields"] for row in exported.rows() if isinstance(row["fields"], dict)]
    outputs = {str(run["testCaseId"]): run["actualOutput"] for run in runs}  # recorded in the order in which they ended
    assert sorted(map(str, outputs.values())) == ["{'output': 'green Q a'}", "{'output': 'green Q c'}"]


def test_a_program_that_fails_is_no_failed_test(asking: Terminal) -> None:
    ended, exported = asking.many(
        ["run-benchmark", "b", "--target", "command:sh -c 'echo no luck >&2; exit 4'", "--json"],
        ["export", "--type", "test-run"],
    )
    assert ended.code == 3
    assert "ended with code 4: no luck" in str(ended.error()["message"])
    assert exported.out == ""


async def test_an_address_set_up_in_a_file_is_sent_its_secret_which_is_kept_nowhere(asking: Terminal) -> None:
    async def answering(asked: Asked) -> bytes:
        return reply({"choices": [{"text": "green"}]})

    async with application(answering) as app:
        asking.file(
            "t.yaml",
            f"http:\n  url: {app.url}/v1\n  headersFrom: {{Authorization: APP_TOKEN}}\n  output: choices[0].text\n",
        )
        run = ["run-benchmark", "b", "--target-config", "t.yaml", "--json"]
        missing = await anyio.to_thread.run_sync(lambda: asking.run(*run))
        assert app.asked == []
        ran = await anyio.to_thread.run_sync(lambda: asking.with_env(APP_TOKEN="Bearer S3CRET ").run(*run))
    assert missing.code == 2
    assert missing.error()["message"] == "the environment variable APP_TOKEN is not set."
    assert ran.code == 0
    assert [asked.headers["authorization"] for asked in app.asked] == ["Bearer S3CRET"] * 2
    kept = [path.read_bytes() for path in asking.folder.glob("evals.db*") if path.is_file()]
    assert kept
    assert all(b"S3CRET" not in content for content in kept)
    assert "S3CRET" not in ran.out + ran.err


def test_a_function_that_never_returns_does_not_keep_the_command(asking: Terminal) -> None:
    asking.file(
        "stuck.py", "import threading\ndef answer(q):\n    return 'green' if q == 'a' else threading.Event().wait()\n"
    )
    run = [*CLI, "run-benchmark", "b", "--target", "python:stuck:answer", "--json"]
    ended = asking.with_env(MINIONS_EVALS_CALL_TIMEOUT="0.2").carried_out(run)
    assert ended.code == 3
    assert "did not answer within 0.2 s" in ended.out + ended.err


NO_TARGETS = {
    "": "an object",
    "http: {url: nowhere}": "'nowhere' is not a web address",
    "command: {run: []}": "command.run",
    "http: {url: http://h, port: 1}": "http.port",
    "[1]": "t5.yaml",
    "http: {": "t6.yaml:",
    "http: {url: http://h, output: '[?'}": "not a JMESPath",
    "{}": "it needs either",
    "command: {run: [x]}\nhttp: {url: http://h}": "it needs either",
    "command: {run: [no-such-program-anywhere]}": "not found",
}


def test_a_target_file_that_does_not_fit_is_refused_by_name(asking: Terminal) -> None:
    names = [asking.file(f"t{number}.yaml", content) for number, content in enumerate(NO_TARGETS, 1)]
    ended = asking.many(*(["run-benchmark", "b", "--target-config", name] for name in names))
    assert [one.code for one in ended] == [2] * len(NO_TARGETS)
    assert [said for said, one in zip(NO_TARGETS.values(), ended, strict=True) if said not in one.err] == []


def test_one_target_is_named_at_most(asking: Terminal) -> None:
    asking.file("t.yaml", "command: {run: [cat]}")
    both, none = asking.many(
        ["run-benchmark", "b", "--target-config", "t.yaml", "--target", "command:cat"],
        ["run-benchmark", "b", "--target-config", "none.yaml"],
    )
    assert both.code == none.code == 2
    assert "Give one of them" in both.err
    assert "none.yaml cannot be read" in none.err


def test_outputs_are_used_again_when_asked_for_and_the_answer_says_so(asking: Terminal) -> None:
    target = ["--target", "command:cat", "--cache", "--json"]
    first, second, trials = asking.many(
        ["run-benchmark", "b", *target],
        ["run-benchmark", "b", *target],
        ["run-benchmark", "b", *target, "--trials", "2"],
    )
    runs = [cast("Json", one.one()["benchmarkRun"]) for one in (first, second)]
    notes = [run["notes"] for run in runs]
    assert notes == [
        "outputs: 2 from command:cat",
        "outputs: 2 cached from command:cat; every output came from the cache, so it does not count for the trend or the last"
        " score",
    ]
    assert "cannot be combined with --trials" in str(trials.error()["message"])


def test_an_output_that_still_waits_for_its_verdict_is_counted(at: Terminal) -> None:
    at.file("s.json", judged_suite())
    _, waiting = at.many(
        ["import", "s.json"], ["run-benchmark", "b", "--target", "command:cat", "--judge", "caller", "--json"]
    )
    assert waiting.one()["state"] == "awaiting-judgments"
    assert waiting.one()["outputs"] == "outputs: 1 from command:cat"


def test_a_named_target_makes_every_output_and_the_first_line_says_where_outputs_came_from(asking: Terminal) -> None:
    asking.file("runs.json", suite(answer("ra", "a", "green")))
    _, made, mixed, without, shown = asking.many(
        ["import", "runs.json"],
        ["run-benchmark", "b", "--target", "command:cat", "--json"],
        ["run-benchmark", "b", "--target", "command:cat", "--recorded", "--json"],
        ["run-benchmark", "b", "--filter", "text~a", "--json"],
        ["run-benchmark", "b", "--target", "command:cat", "--recorded"],
    )
    assert [run.one()["outputs"] for run in (made, mixed, without)] == [
        "outputs: 2 from command:cat",
        "outputs: 1 from command:cat, 1 recorded",
        "",
    ]
    assert str(cast("Json", mixed.one()["benchmarkRun"])["notes"]).startswith("outputs: 1 from command:cat, 1 recorded")
    assert "outputs: 1 from command:cat, 1 recorded" in shown.out.splitlines()[0]
    assert shown.out.count("recorded") == 1


def test_chosen_cases_are_said_to_be_no_whole_benchmark(asking: Terminal) -> None:
    asking.file("runs.json", suite(answer("ra", "a", "green"), answer("rc", "c", "red")))
    _, _, failed, passed, tagged, seed, bad = asking.many(
        ["import", "runs.json"],
        ["run-benchmark", "b", "--key", "k"],
        ["run-benchmark", "b", "--rerun-failed", "k"],
        ["run-benchmark", "b", "--filter", "status=passed"],
        ["run-benchmark", "b", "--filter", "status=passed,text~a, b", "--filter", "status=passed", "--json"],
        ["run-benchmark", "b", "--seed", "1"],
        ["run-benchmark", "b", "--filter", "nonsense"],
    )
    assert "0 of 1 passed (chosen cases only)" in failed.out
    assert "failed or not scored in k: 1 of 2 cases" in " ".join(failed.out.split())
    assert passed.out.splitlines()[1] == "Next: minions-evals view", "it does not count for the trend"
    assert str(tagged.error()["message"]).startswith("no case of b matches: status=passed, text~a, b")
    assert seed.code == bad.code == 2
    assert "--sample" in seed.err
