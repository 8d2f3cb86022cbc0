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
        ["add", "test-case", "promptId=mood", "name=x", "input=y", "expectedOutput="],
        ["set", "mood/1", "name=x"],
        ["batch-run-tests", "nobody", *TARGET],
        ["batch-run-tests", "mood", "--trials", "2", *TARGET],
    )
    assert [ended.code for ended in refusals] == [2] * 7
    words = (
        "name is missing",
        "expected FIELD=VALUE, got mood",
        "unknown field of a test case: colour",
        'an expected output of "" matches everything',
        "is a prompt-version",
        "nobody",
        "--trials",
    )
    for ended, word in zip(refusals, words, strict=True):
        assert word in ended.err
    assert server.requests == 0


def test_a_prompt_version_is_made_and_follows_the_latest(at: Terminal) -> None:
    words = ["add", "prompt-version", "promptId=song"]
    made, again, next_one, listed, colour, bare = at.many(
        [*words, "content=Say {{x}}", "--id", "song-1"],
        [*words, "content=Say {{x}}"],
        [*words, "content=Sing {{x}}", "changelog=livelier", "--json"],
        ["versions", "song", "--json"],
        [*words, "content=x", "colour=red"],
        words,
    )
    assert made.out == "made prompt-version song-1\n"
    assert (again.code, "already has that text" in again.err) == (2, True)
    fields = next_one.one()["fields"]
    assert isinstance(fields, dict)
    assert (fields["versionNumber"], fields["promptId"], fields["changelog"]) == (2, "song", "livelier")
    assert '"song-1"' in listed.out
    assert [colour.code, bare.code] == [2, 2]
    assert "unknown field of a prompt version: colour" in colour.err
    assert "content is missing" in bare.err


def test_cases_that_name_a_version_of_the_prompt_are_cases_of_the_prompt(at: Terminal) -> None:
    versions = [
        record(f"s{n}", "prompt-version", content=f"Sing {n}", versionNumber=n, promptId="song") for n in (1, 2)
    ]
    named = {"by-id": "s1", "by-place": "song@2", "of-another": "else@1"}
    asked = [
        record(name, "test-case", name=name, inputs={"q": name}, promptVersionRef=ref, expectedOutputs={"output": "la"})
        for name, ref in named.items()
    ]
    said = [
        record(
            f"a-{name}",
            "agent-run",
            agentId="x",
            promptVersionRef=version,
            inputs={"q": name},
            outputs={"output": "la"},
        )
        for name, version in (("by-id", "s1"), ("by-place", "s2"))
    ]
    at.file("suite.json", suite(*versions, *asked, *said))
    _, batch, listed = at.many(["import", "suite.json"], ["batch-run-tests", "song"], ["cases", "song", "--json"])
    assert batch.out.startswith("song: 2 of 2 passed")
    cases = rows(listed.one(), "testCases")
    assert [(case["id"], case["promptId"], case["totalRuns"]) for case in cases] == [
        ("by-id", "song", 1), ("by-place", "song", 1)
    ]  # fmt: skip


def test_the_cases_of_a_skill_are_listed_with_their_figures_and_run_alone(at: Terminal) -> None:
    asked = [
        record(name, "test-case", name=name, inputs={"q": name}, expectedOutputs={"output": "la"}, skillId=skill)
        for name, skill in (("c1", "sing"), ("c2", "sing"), ("c3", "dance"))
    ]
    said = [
        record(f"a-{name}", "agent-run", agentId="x", inputs={"q": name}, outputs={"output": output})
        for name, output in (("c1", "la"), ("c2", "lo"), ("c3", "la"))
    ]
    at.file("suite.json", suite(*asked, *said, record("b", "benchmark", name="b", testCaseIds=["c1", "c2", "c3"])))
    _, ran_alone, listed, told, neither = at.many(
        ["import", "suite.json"], ["run-benchmark", "b", "--filter", "skill=sing", "--json"],
        ["cases", "--skill", "sing", "--json"], ["cases", "--skill", "sing"], ["cases"],
    )  # fmt: skip
    assert '"totalCount":2' in ran_alone.out.replace(" ", "")
    answer = listed.one()
    assert answer["figures"] == {"cases": 2, "totalRuns": 2, "passRate": 50.0, "avgScore": 0.5}
    assert [case["id"] for case in rows(answer, "testCases")] == ["c1", "c2"]
    assert told.out.startswith("sing: 2 cases, 2 runs, 50 % passed, mean score 0.500")
    assert neither.code == 2
