"""How messages are taken: once, in order for each topic, again after a failure, and never in silence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from agent.actions.table import ACTIONS, UNBOUND
from agent.binding import Doing
from agent.daemon import Agent, Rhythm
from agent.instructions.instruction import SKILL_DUE
from agent.loop import look, serve
from agent.message_work import MessageWork
from agent.retry import retry
from agent.wakeups import Pulse, follow_store
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import AgentMessage
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import (
    ConflictError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
    StoreError,
    UnsupportedError,
)
from minions_evals_mcp.messages.payloads import KINDS, OWN
from minions_evals_mcp.messages.send_message import Letter, keep_unreadable, send_message
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Arriving
from minions_evals_mcp.store.database import Db, Store
from tests.hang import HANG_S
from tests.shared.agent.inside import QUICK, at_work, drained, kept, sent
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.workshop import (
    all_of,
    answer,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    measured,
    minion,
    opened,
    outbox,
    rubric,
    save,
)

T = TypeVar("T")


async def one_case(engine: Engine) -> None:
    """The case `c` with an answer that is right."""
    await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"))


async def test_a_message_is_done_once_and_answered_in_the_transaction_of_its_end(engine: Engine) -> None:
    await one_case(engine)
    await sent(engine, "m", "run-test-case", testCaseId="c")
    await drained(engine)
    await sent(engine, "m", "run-test-case", testCaseId="c")
    await drained(engine)
    done = await kept(engine, "m")
    assert done.state == "done"
    assert done.result is not None
    assert len(await all_of(engine, TestRun)) == 1
    (told,) = await outbox(engine, "agent-message")
    assert isinstance(told.record.fields, AgentMessage)
    assert (told.addressee, told.record.fields.type) == ("orchestrator", "run-test-case-complete")
    assert told.record.fields.payload == {"messageId": "m", "type": "run-test-case", "result": done.result}


async def test_another_message_under_a_taken_id_is_refused(engine: Engine) -> None:
    await one_case(engine)
    await sent(engine, "m", "run-test-case", testCaseId="c")
    with pytest.raises(ConflictError, match="another message"):
        await sent(engine, "m", "run-test-case", testCaseId="other")


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("run-test-case", {}, "payload.testCaseId: is missing"),
        ("run-test-case", {"testCaseId": "c", "trails": 2}, "payload.trails: unknown key; did you mean 'trials'?"),
        (
            "run-test-case",
            {"testCaseId": "c", "trials": 0},
            "payload.trials: Input should be greater than or equal to 1",
        ),
        (
            "run-benchmark",
            {"benchmarkId": "b", "target": "python:os:system"},
            "payload.target: name a model",
        ),
        (
            "run-benchmark",
            {"benchmarkId": "b", "target": "command:rm -rf /"},
            "payload.target: name a model",
        ),
        (
            "compare-prompts",
            {"benchmarkId": "b", "promptVersionA": "p", "promptVersionB": "p"},
            "payload.promptVersionB: same as",
        ),
        ("agent-run-completed", {}, "payload.agentRunId: give agentRunId or agentRun"),
        ("approval-decided", {"decidedBy": "ben"}, "payload.approvalRequestId: give it"),
        ("instruction", {"text": " "}, "payload.text: must say something"),
    ],
)
async def test_a_malformed_payload_is_refused_with_its_field(
    engine: Engine, kind: str, payload: Json, said: str
) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        await send_message(engine, Letter(type=kind, payload=payload))
    assert said in caught.value.message


async def test_an_unknown_type_and_the_agents_own_are_refused_by_name(engine: Engine) -> None:
    for name in ("sing", "schedule", "test-run-recorded"):
        with pytest.raises(UnsupportedError, match=name):
            await send_message(engine, Letter(type=name))


async def test_what_reaches_the_inbox_malformed_is_dead_at_once_with_its_field(engine: Engine) -> None:
    await engine.store.write(
        lambda db: inbox.put(
            db, Arriving("m", "run-benchmark", "t", "orchestrator", {"benchmark": "b"}), at=engine.clock()
        )
    )
    await drained(engine)
    dead = await kept(engine, "m")
    assert (dead.state, dead.attempts) == ("dead", 1)
    assert "payload.benchmark: unknown key" in dead.reason
    (told,) = await outbox(engine, "agent-message")
    assert isinstance(told.record.fields, AgentMessage)
    assert told.record.fields.type == "run-benchmark-failed"


async def test_what_cannot_be_done_is_dead_at_once_and_the_next_is_done(engine: Engine) -> None:
    await one_case(engine)
    await sent(engine, "lost", "run-test-case", testCaseId="none")
    await sent(engine, "words", "instruction", text="Run everything.")
    await sent(engine, "m", "run-test-case", testCaseId="c")
    await drained(engine)
    assert "no test-case with the id 'none'" in (await kept(engine, "lost")).reason
    assert "an instruction needs a model" in (await kept(engine, "words")).reason
    assert (await kept(engine, "m")).state == "done"


async def test_after_five_failures_a_message_is_dead_with_the_reason_and_can_be_retried(tmp_path: Path) -> None:
    async with serving(FakeSettings(p500=1)) as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(
            engine,
            rubric("r", 0.5, tone={"judgeType": "llm"}),
            case("c", rubricId="r"),
            answer("a", "c", "A long answer."),
        )
        await sent(engine, "m", "run-test-case", testCaseId="c")
        await drained(engine)
        dead = await kept(engine, "m")
        assert (dead.state, dead.attempts) == ("dead", 5)
        assert dead.reason
        server.settings = FakeSettings()
        await engine.store.write(lambda db: retry(db, "m", at=engine.clock()))
        assert (await kept(engine, "m")).attempts == 0
        await drained(engine)
        assert (await kept(engine, "m")).state == "done"


async def test_only_a_dead_letter_that_was_a_message_can_be_retried(engine: Engine) -> None:
    await one_case(engine)
    await sent(engine, "m", "run-test-case", testCaseId="c")
    unreadable = await keep_unreadable(engine, "no JSON", "it is none", source="stdin")
    for ident, error in (("m", ConflictError), (unreadable, ConflictError), ("none", NotFoundError)):
        with pytest.raises(error):
            await engine.store.write(lambda db, ident=ident: retry(db, ident, at=engine.clock()))


class Watched:
    """An action that notes when it begins and ends, and waits in between until somebody lets it go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.go_on = anyio.Event()

    async def __call__(self, asked: MessageWork) -> Json:
        self.begun.append(asked.message.id)
        await self.go_on.wait()
        self.ended.append(asked.message.id)
        return {}


async def test_messages_about_one_topic_keep_their_order_and_others_run_beside_them(engine: Engine) -> None:
    for number in range(3):
        for topic in ("x", "y"):
            await sent(engine, f"{topic}{number}", "run-benchmark", benchmarkId=topic)
    watched = Watched()
    with anyio.fail_after(HANG_S):
        async with at_work(engine) as agent, anyio.create_task_group() as tasks:
            agent.doings = {"run-benchmark": (Doing("run-benchmark", watched),)}
            tasks.start_soon(_until_quiet, agent)
            while len(watched.begun) < 2:  # noqa: ASYNC110  the loop tells nobody what it has begun
                await anyio.sleep(0.001)
            assert sorted(watched.begun) == ["x0", "y0"]
            watched.go_on.set()
    for topic in ("x", "y"):
        assert [one for one in watched.ended if one[0] == topic] == [f"{topic}{number}" for number in range(3)]


async def _until_quiet(agent: Agent) -> None:
    await serve(agent, until_quiet=True)


async def test_a_message_that_is_put_off_holds_up_its_topic_and_no_other(engine: Engine) -> None:
    order: list[str] = []

    async def failing_once(asked: MessageWork) -> Json:
        order.append(asked.message.id)
        if asked.message.id == "x0" and asked.message.attempts == 0:
            raise InstrumentError("not now.")
        return {}

    for ident in ("x0", "x1", "y0"):
        await sent(engine, ident, "run-benchmark", benchmarkId=ident[0])
    with anyio.fail_after(HANG_S):
        async with at_work(engine) as agent:
            agent.doings = {"run-benchmark": (Doing("run-benchmark", failing_once),)}
            await serve(agent, until_quiet=True)
    assert [one for one in order if one[0] == "x"] == ["x0", "x0", "x1"]
    assert order.count("y0") == 1
    assert (await kept(engine, "x0")).state == "done"


async def test_a_clock_that_is_set_back_holds_no_message_up(engine: Engine) -> None:
    await one_case(engine)
    await sent(engine, "m", "run-test-case", testCaseId="c")
    until = engine.clock() + timedelta(days=1)
    await engine.store.write(lambda db: inbox.put_off(db, "m", "not now.", until=until))
    await drained(engine)
    assert (await kept(engine, "m")).state == "done"


async def test_what_ends_while_the_loop_looks_is_not_begun_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sent(engine, "m", "run-benchmark", benchmarkId="b")
    async with at_work(engine) as agent:
        (message,) = (await look(agent, longest_s=60)).due
        agent.in_flight.add(message.seq)
        monkeypatch.setattr(Store, "read", _read_while(agent.in_flight.clear, Store.read))
        assert (await look(agent, longest_s=60)).due == []


def _read_while(happening: Callable[[], None], read: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Reads during which that happens: after the snapshot was taken, before anything is looked up in it."""

    async def reading(store: Store, work: Callable[[Db], T]) -> T:
        def looking_up(db: Db) -> T:
            db.execute("SELECT 1 FROM inbox").fetchone()
            happening()
            return work(db)

        return await read(store, looking_up)

    return reading


async def test_a_store_that_cannot_be_read_for_a_while_does_not_end_what_follows_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, refused = Store.version, iter([True, True, False])

    async def unusable_at_first(store: Store) -> int:
        if next(refused, False):
            raise StoreError("busy.")
        return await version(store)

    monkeypatch.setattr(Store, "version", unusable_at_first)
    pulse = Pulse()
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow_store, engine, pulse)
            await pulse.after(0)
            tasks.cancel_scope.cancel()


async def test_a_message_that_is_settled_is_not_settled_again(engine: Engine) -> None:
    await sent(engine, "m", "run-benchmark", benchmarkId="b")
    at = engine.clock()
    await engine.store.write(lambda db: inbox.finish(db, "m", {"n": 1}, at=at))
    for again in (
        partial(inbox.finish, ident="m", result={}, at=at),
        partial(inbox.bury, ident="m", reason="late", at=at),
        partial(inbox.put_off, ident="m", reason="late", until=at),
    ):
        with pytest.raises(ConflictError, match="already settled"):
            await engine.store.write(again)
    done = await kept(engine, "m")
    assert (done.state, done.attempts, done.result) == ("done", 0, {"n": 1})


async def test_an_unforeseen_error_does_not_end_the_loop(engine: Engine) -> None:
    async def broken(asked: MessageWork) -> Json:
        raise ZeroDivisionError(asked.message.id)

    await one_case(engine)
    await sent(engine, "m", "run-benchmark", benchmarkId="b")
    await sent(engine, "n", "run-test-case", testCaseId="c")
    with anyio.fail_after(HANG_S):
        async with at_work(engine, rhythm=replace(QUICK, attempts=2)) as agent:
            agent.doings = {**agent.doings, "run-benchmark": (Doing("run-benchmark", broken),)}
            await serve(agent, until_quiet=True)
    assert (await kept(engine, "m")).reason == "ZeroDivisionError: m"
    assert (await kept(engine, "n")).state == "done"


async def test_many_messages_run_side_by_side_up_to_the_bound(engine: Engine) -> None:
    at_once: list[int] = []
    running = 0

    async def counted(asked: MessageWork) -> Json:
        nonlocal running
        running += 1
        at_once.append(running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return {}

    for number in range(20):
        await sent(engine, f"m{number}", "run-benchmark", benchmarkId=f"b{number}")
    with anyio.fail_after(HANG_S):
        async with at_work(engine, rhythm=Rhythm(workers=3)) as agent:
            agent.doings = {"run-benchmark": (Doing("run-benchmark", counted),)}
            await serve(agent, until_quiet=True)
    assert len(at_once) == 20
    assert max(at_once) <= 3


async def test_a_run_that_somebody_else_recorded_is_reacted_to_once(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(1, 4))
    await drained(engine)
    await drained(engine)
    assert len(await outbox(engine, "memory-item")) == 1  # three cases failed for one cause
    state = await engine.store.read(inbox.counts)
    assert state == {"done": 4}


async def test_a_comparisons_runs_are_no_points_of_a_trend(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(4, 4), purpose="comparison")
    await drained(engine)
    state = await engine.store.read(inbox.counts)
    assert state == {"done": 1}


async def test_a_schedule_that_was_missed_runs_once_however_often_it_was_missed(engine: Engine) -> None:
    await one_case(engine)
    await save(
        engine, benchmark("b", "c", schedule="*/5 * * * *"), minion("x", "benchmark", name="x", testCaseIds=["c"])
    )
    await drained(engine)
    assert await engine.store.read(inbox.counts) == {}
    engine.clock.now += timedelta(minutes=20)  # pyright: ignore[reportFunctionMemberAccess]  the workshop's clock
    await drained(engine)
    await drained(engine)
    ((state, triggered),) = await engine.store.read(
        lambda db: db.execute(
            "SELECT i.state, json_extract(b.rest, '$.triggeredBy') FROM inbox i, benchmark_run b WHERE i.type = 'schedule'"
        ).fetchall()
    )
    assert (state, triggered) == ("done", "schedule:b")


def test_every_action_belongs_to_a_skill_and_a_message_or_event() -> None:
    triggers = [name for actions in ACTIONS.values() for name in actions]
    assert len(triggers) == len(set(triggers))
    assert set(triggers) == {*KINDS, *OWN} - {*UNBOUND, SKILL_DUE}
