"""What failures go back to: groups with their cases, since when, what they cost, what to do; one memory item a cause."""

from __future__ import annotations

import json

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import AgentMessage, MemoryItem
from minions_evals_mcp.engine.answers.failure_causes import read_causes
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.failures.classify_failure import classify_failures
from minions_evals_mcp.engine.failures.resolve_failure import Resolution, resolve_failures
from minions_evals_mcp.scoring.failure_causes import cause_key, suggestion
from tests.workshop import answer, bench, benchmark, case, minion, outbox, save

NAMES = tuple(f"c{number}" for number in range(10))


def broken(number: int) -> list[JsonValue]:
    """A log whose one call failed, for another order each time."""
    said = f"no order {4711 + number} of this customer"
    return [{"tool": "get_order", "arguments": {"id": 4711 + number}, "error": said}]


async def suite(engine: Engine) -> None:
    """Ten cases that want the word good, and two versions."""
    versions = [minion(f"prompt@{n}", "prompt-version", content="Hi", versionNumber=n) for n in (1, 2, 3)]
    await save(engine, versions, [case(name, expectedOutputs={"output": "good"}) for name in NAMES])
    await save(engine, benchmark("b", *NAMES))


async def outputs(engine: Engine, version: str, *, by_tool: int = 0, by_answer: int = 0) -> str:
    """Runs the benchmark under that version: so many cases fail by the tool, so many by their answer, the others pass."""
    for number, name in enumerate(NAMES):
        fields: Json = {"promptVersionRef": version, "toolCallsLog": [{"tool": "get_order", "result": "fine"}]}
        said = "good"
        if number < by_tool:
            said, fields["toolCallsLog"] = f"I could not look at {number}", broken(number)
        elif number < by_tool + by_answer:
            said, fields["toolCallsLog"] = "I'm sorry, but I can't help with that.", []
        await save(engine, answer(f"{version}/{name}", name, said, **fields))
    return (await bench(engine, "b", prompt_version_ref=version)).id


async def test_failures_that_say_the_same_are_one_cause_with_its_cases_since_and_share(engine: Engine) -> None:
    await suite(engine)
    await outputs(engine, "prompt@1", by_answer=1)
    await outputs(engine, "prompt@2", by_answer=1)
    run = await outputs(engine, "prompt@3", by_tool=6, by_answer=3)
    tool, refused = await read_causes(engine, run)
    assert tool.summary == (
        "5 of 8 newly failing cases (and 1 older): `get_order` failed: no order … of this customer; no later call of it succeeded,"
        " first seen with prompt@3"
    )
    assert (tool.cases, tool.new, tool.first_run_id, tool.first_version) == (6, 5, run, "prompt@3")
    assert {one.test_case_id for one in tool.affected} == set(NAMES[:6])
    assert all(one.test_run_id.startswith(run) for one in tool.affected)
    assert (refused.failure_type, refused.cases, refused.first_version) == ("refusal", 3, "prompt@1")
    assert abs(tool.share_of_loss + refused.share_of_loss - 1) < 1e-3
    assert "get_order" in tool.suggestion
    assert tool.suggestion != refused.suggestion
    summary = await summarize(engine, run, limit=1)
    assert [one.cause_key for one in summary.causes] == [tool.cause_key]
    (told,) = [one.record.fields for one in await outbox(engine, "agent-message") if "regression" in one.key]
    assert isinstance(told, AgentMessage)
    assert next(iter(told.payload)) == "causes"
    assert json.dumps(told.payload["causes"]).startswith('[{"summary": "5 of 8 newly failing cases: `get_order` failed')


async def test_a_cause_that_comes_back_is_open_again_and_told_once(engine: Engine) -> None:
    await suite(engine)
    first = await outputs(engine, "prompt@1", by_tool=2)
    assert [one.came_back for one in await read_causes(engine, first)] == [0]
    await outputs(engine, "prompt@2")
    again = await outputs(engine, "prompt@3", by_tool=3)
    (cause,) = await read_causes(engine, again)
    assert (cause.came_back, cause.first_run_id, cause.first_version) == (1, first, "prompt@1")
    assert cause.summary.endswith("first seen with prompt@1, back after it was gone")
    back = [one for one in await outbox(engine, "task") if one.key.startswith("cause-came-back:")]
    assert len(back) == 1
    facts = await engine.store.read(
        lambda db: db.execute("SELECT subject_id FROM event WHERE type = 'failure-cause-came-back'")
    )
    assert [row[0] for row in facts] == [again]


async def test_a_cause_that_a_person_called_resolved_and_that_shows_again_is_open_again(engine: Engine) -> None:
    await suite(engine)
    first = await outputs(engine, "prompt@1", by_tool=2)
    (cause,) = await read_causes(engine, first)
    ids = [f"{one.test_run_id}:failure" for one in cause.affected]
    await resolve_failures(engine, [Resolution(ids[0], "fixed")])
    assert (await kept(engine))[0] is None, "another failure of it is still open"
    await resolve_failures(engine, [Resolution(ids[1], "fixed")])
    assert (await kept(engine))[0] == first
    await outputs(engine, "prompt@2", by_tool=1)
    assert await kept(engine) == (None, 1)


async def kept(engine: Engine) -> tuple[str | None, int]:
    """Where the one cause was gone, and how often it came back."""
    ((gone, back),) = await engine.store.read(
        lambda db: db.execute("SELECT gone_run_id, came_back FROM failure_cause").fetchall()
    )
    return gone, back


async def test_findings_that_say_the_same_are_one_memory_item(engine: Engine) -> None:
    await suite(engine)
    run = await outputs(engine, "prompt@1", by_tool=5, by_answer=2)
    for _ in range(2):
        await classify_failures(engine, run)
    items = [one.record.fields for one in await outbox(engine, "memory-item")]
    assert len(items) == 2
    assert all(isinstance(one, MemoryItem) for one in items)
    await outputs(engine, "prompt@2")
    await classify_failures(engine, await outputs(engine, "prompt@3", by_tool=1))
    assert len(await outbox(engine, "memory-item")) == 3, "it came back, and is to be remembered again"


async def test_a_comparisons_run_and_a_choice_of_cases_end_no_cause(engine: Engine) -> None:
    await suite(engine)
    await outputs(engine, "prompt@1", by_tool=2)
    await outputs(engine, "prompt@2")
    before = await kept(engine)
    assert before[0] is not None
    await save(engine, answer("again/c0", "c0", "no", promptVersionRef="prompt@3", toolCallsLog=broken(0)))
    await bench(engine, "b", prompt_version_ref="prompt@3", case_ids=["c0"], selection="c0 alone")
    assert await kept(engine) == before


def test_values_do_not_set_causes_apart_and_tools_types_and_faults_do() -> None:
    def key(said: str, kind: str = "wrong-output") -> str:
        return cause_key(kind, said, (), ())  # pyright: ignore[reportArgumentType]  a type's name

    same = [
        "step 1 `get_order` failed: no order 4711 of “Ada”; no later call of it succeeded",
        "step 12 `get_order` failed: no order A-9 of “Ben, who is late”; no later call of it succeeded",
    ]
    assert key(same[0]) == key(same[1])
    others = [same[0].replace("get_order", "get_user"), same[0].replace("failed", "was slow"), same[0]]
    assert len({key(one) for one in others} | {key(same[0], "timeout")}) == 4
    bare = "There is no tool-call log; the answer itself is wrong"
    assert cause_key("wrong-output", bare, (), ("r/tone",)) != cause_key("wrong-output", bare, (), ("r/facts",))


def test_each_cause_has_one_thing_to_do_next() -> None:
    assert "`find`" in suggestion("step 2 `find` gave the right result (3), but the answer differs", "wrong-output")
    assert "tokens" in suggestion("the model stopped at its token limit (stop reason length)", "format-error")
    assert suggestion("There is no tool-call log; the model declined the task", "refusal").endswith("remove the case.")
