"""`minions-evals ab-test` and `minions-evals branches` as processes, against a server that speaks both wire forms."""

from __future__ import annotations

import json

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.cli.suites import record, suite
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import FakeSettings, Server

ANSWER = "happy am I feel: you how Say"


def branch(ident: str, provider: str, model: str, **fields: JsonValue) -> Json:
    return record(ident, "test-branch", testCaseId="mood", name=ident, provider=provider, model=model, **fields)


@pytest.fixture
def place(at: Terminal, server: Server) -> Terminal:
    """A terminal with a test case, its two branches and the providers' addresses."""
    here = at.with_env(
        OPENAI_API_KEY="k",
        OPENAI_BASE_URL=f"{server.url}/v1",
        ANTHROPIC_API_KEY="k",
        ANTHROPIC_BASE_URL=server.url,
        COLUMNS="160",
    )
    here.file(
        "suite.json",
        suite(
            record("feel@1", "prompt-version", content="Say how you feel: {{text}}", versionNumber=1, promptId="feel"),
            record(
                "mood", "test-case", name="Mood", promptId="feel", inputs={"text": "I am happy"},
                expectedOutputs={"output": ANSWER},
                assertions=[{"type": "contains", "value": "happy"}],
            ),
            branch("quick", "openai", "gpt-4o-mini"),
            branch("careful", "anthropic", "claude-opus-4-7"),
        ),
    )  # fmt: skip
    return here


async def ran(place: Terminal, *commands: list[str]) -> list[Ended]:
    """Each command in turn, in one process; the server answers meanwhile."""
    found = await anyio.to_thread.run_sync(lambda: place.many(["import", "suite.json"], *commands))
    assert found[0].code == 0, found[0].err
    return found


async def test_a_person_reads_who_wins_by_what_how_sure_that_is_and_what_each_cost(place: Terminal) -> None:
    _, found, kept = await ran(
        place, ["ab-test", "mood", "--criteria", "cheapest", "--iterations", "6"], ["branches", "mood"]
    )
    assert found.code == 0, found.err
    headline, following, sure, _, first, second, *closing = found.out.splitlines()
    assert following == "Next: minions-evals view"
    assert headline.startswith("quick wins  by cheapest ($0.0000")
    assert sure == "  first in 6 of 6 iterations: statistically significant (p = 0.031)"
    assert first.split()[:4] == ["1", "quick", "gpt-4o-mini", "1.000"]
    assert "6 of 6 (100 %)" in first
    assert second.split()[:3] == ["2", "careful", "claude-opus-4-7"]
    assert "0 of 6 (0 %)" in second
    assert not any("Not sent" in line for line in closing)  # this provider takes the document's defaults
    assert closing[-1].endswith(", prompt version 1")
    header, *rows = kept.out.splitlines()
    assert "pass rate" in header
    assert [row.split()[0] for row in rows] == ["quick", "careful"]
    assert all("100 %" in row for row in rows)


async def test_programs_read_the_same_and_a_key_pays_once(place: Terminal, server: Server) -> None:
    asked = ["ab-test", "mood", "--branch", "careful", "--branch", "quick", "--key", "k", "--json"]
    _, first, again, shown, made = await ran(
        place, asked, asked, ["branches", "mood", "--json"], ["branches", "mood", "--executions", "quick", "--json"]
    )
    assert first.one() == again.one()
    assert server.requests == 2
    found = json.loads(first.out)
    assert found["winner"]["branchId"] == "careful", "a tie: neither is the control, so the order given decides"
    assert found["note"] == (
        "1 of 1 iterations tied, decided by order with the control first; "
        "one iteration shows no uncertainty: use more iterations"
    )
    assert [one["totalRuns"] for one in json.loads(shown.out)["branches"]] == [1, 1]
    assert len(json.loads(made.out)["executions"]) == 1


async def test_what_cannot_run_is_refused_with_exit_2_and_what_brought_nothing_ends_with_3(
    place: Terminal, server: Server
) -> None:
    _, lonely, unknown, twice = await ran(
        place,
        ["ab-test", "mood", "--branch", "quick"],
        ["ab-test", "nobody"],
        ["ab-test", "mood", "--branch", "quick", "--branch", "quick"],
    )
    assert [one.code for one in (lonely, unknown, twice)] == [2, 2, 2]
    assert "--branch" in lonely.err
    assert "no test-case with the id 'nobody'" in unknown.err
    assert "named twice" in twice.err
    assert server.requests == 0
    server.configure(FakeSettings(p400=1))
    _, broken = await ran(place, ["ab-test", "mood"])
    assert broken.code == 3
    assert "NO WINNER by best_quality" in broken.out
    assert "Every execution failed, so there is no winner." in broken.out
    assert "quick: permanent: HTTP 400: the request is wrong" in broken.out


async def test_hostile_outputs_and_names_are_shown_as_text(place: Terminal) -> None:
    evil = branch("evil", "openai", "gpt-4o", description="x")
    fields = evil["fields"]
    assert isinstance(fields, dict)
    fields["name"] = "[bold]\x1b[31mred\u202e"
    place.file("evil.json", suite(evil))
    _, _, found, listed = await ran(
        place,
        ["import", "evil.json"],
        ["ab-test", "mood", "--branch", "evil", "--branch", "quick"],
        ["branches", "mood"],
    )
    for one in (found, listed):
        assert one.code == 0, one.err
        assert "[bold]" in one.out
        assert not {"\x1b", "\u202e"} & set(one.out)


async def test_every_criterion_shows_its_own_figure_and_the_executions_are_listed(place: Terminal) -> None:
    asked = ["ab-test", "mood", "--criteria"]
    _, fast, value, balanced, made, none = await ran(
        place,
        [*asked, "fastest"],
        [*asked, "best_value"],
        [*asked, "balanced"],
        ["branches", "mood", "--executions", "quick", "--limit", "2"],
        ["branches", "mood", "--executions", "quick", "--offset", "3"],
    )
    assert " ms)" in fast.out.splitlines()[0]
    assert "quick wins  by best_value (" in value.out
    assert " per dollar)" in value.out.splitlines()[0]
    assert " wins  by balanced (0." in balanced.out or " wins  by balanced (1." in balanced.out
    assert "max-score selects quick" in balanced.out, "both hold what is asked for: the first of equals"
    assert [line.split()[1] for line in made.out.splitlines()] == ["success", "success"]
    assert none.out == "quick has no executions here. Create some with `minions-evals ab-test`\n"
