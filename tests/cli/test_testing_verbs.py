"""The testing API at a terminal: a prompt's cases made, changed, listed and run in a batch."""

from __future__ import annotations

import anyio.to_thread

from tests.cli.suites import record, suite
from tests.shared.cli.terminal import Ended, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.server.hosts import rows

SAID = "happy am I feel: you how Say"
TARGET = ["--target", "openai:gpt-4o"]
HAPPY = [
    "add", "test-case", "promptId=mood", "name=Happy", 'input={"text": "I am happy"}', f"expectedOutput={SAID}", "--id", "happy",
]  # fmt: skip


async def ran(at: Terminal, server: Server, *commands: list[str]) -> list[Ended]:
    """Each command in turn on a store that holds two versions of the prompt `mood`."""
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1", COLUMNS="160")
    versions = [
        record(f"mood/{n}", "prompt-version", content=content, versionNumber=n, promptId="mood")
        for n, content in ((1, "Be brief. {{text}}"), (2, "Say how you feel: {{text}}"))
    ]
    here.file("suite.json", suite(*versions))
    made = await anyio.to_thread.run_sync(lambda: here.many(["import", "suite.json"], *commands))
    assert made[0].code == 0, made[0].err
    return made[1:]


async def test_a_case_is_made_changed_listed_and_hidden(at: Terminal, server: Server) -> None:
    made, none, listed, newest, changed, shown, _, gone = await ran(
        at,
        server,
        HAPPY,
        ["cases", "nobody"],
        ["cases", "mood"],
        ["cases", "latest"],
        ["set", "happy", "name=Glad", "expectedOutput=glad"],
        ["cases", "mood", "--json"],
        ["delete", "happy"],
        ["cases", "mood"],
    )
    assert made.out == "made test-case happy\n"
    assert none.out == "no test case has the promptId nobody\n"
    assert listed.out == f"happy  Happy: no runs yet  expects {SAID}\n"
    assert newest.out == listed.out
    assert changed.out == "changed happy: name, expectedOutput\n"
    (case,) = rows(shown.one(), "testCases")
    assert (case["name"], case["expectedOutput"]) == ("Glad", "glad")
    assert gone.out == "no test case has the promptId mood\n"


async def test_a_batch_tells_of_each_case_its_version_score_and_fall(at: Terminal, server: Server) -> None:
    lacking = [
        "add",
        "test-case",
        "promptId=mood",
        "name=Lacking",
        'input={"other": "x"}',
        "expectedOutput=y",
        "--id",
        "lacking",
    ]
    _, good, worse, _, broken = await ran(
        at,
        server,
        HAPPY,
        ["batch-run-tests", "mood", "happy", *TARGET],
        ["batch-run-tests", "mood", "--prompt-version", "1", *TARGET],
        lacking,
        ["batch-run-tests", "mood", *TARGET],
    )
    assert good.code == 0, good.err
    head, line = good.out.splitlines()
    assert head == "mood: 1 of 1 passed"
    assert line.split("  ")[1:5] == ["passed", "happy", "1.000", "version 2"]
    assert worse.code == 1
    assert worse.out.startswith("mood: 0 of 1 passed, 1 regressed")
    assert "FAILED" in worse.out.splitlines()[1].split("  ")[-2]
    assert broken.code == 3
    assert "not run  lacking: " in broken.out
    assert "text" in broken.out.splitlines()[-1]


async def test_what_does_not_fit_is_refused_by_name(at: Terminal, server: Server) -> None:
    refusals = await ran(
        at,
        server,
        ["add", "test-case", "promptId=mood"],
        ["add", "test-case", "mood"],
        ["add", "test-case", "promptId=mood", "name=x", "input=y", "colour=red"],
        ["set", "mood/1", "name=x"],
        ["batch-run-tests", "nobody", *TARGET],
        ["batch-run-tests", "mood", "--trials", "2", *TARGET],
    )
    assert [ended.code for ended in refusals] == [2] * 6
    words = (
        "name is missing",
        "mood is no FIELD=VALUE",
        "colour is no field",
        "is a prompt-version",
        "nobody",
        "--trials",
    )
    for ended, word in zip(refusals, words, strict=True):
        assert word in ended.err
    assert server.requests == 0
