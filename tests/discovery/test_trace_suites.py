"""A suite from production traces: what went wrong is found in kinds, and drafts have checks that tell wrong from right."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from pydantic import ValidationError

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import AgentRun, ToolCall
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.engine.records.save_records import Arrival, delete_record, save_records
from minions_evals_mcp.errors import BadInputError, NotFoundError, StoppedError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.suites.suite_from_traces import Request, TraceNote, run
from minions_evals_mcp.scoring.discovery.coverage import Dimension, coverage
from minions_evals_mcp.scoring.discovery.proposals import passed, proposed
from minions_evals_mcp.scoring.discovery.readings import Trace, read_by_rules
from minions_evals_mcp.store import records
from minions_evals_mcp.store.erasure.forgetting import forget
from minions_evals_mcp.store.erasure.scope import ErasureScope
from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.production_traces import AGENT, CARD, MAIL, Made, made, step
from tests.shared.trace_suite_figures import figures
from tests.workshop import START, config_in, opened


async def kept(engine: Engine, *traces: Made) -> None:
    """Save the traces."""
    await save_records(engine, [
        Arrival(record_from_wire({"id": trace.ident, "type": "agent-run", "fields": trace.fields}, new_id="none", now=START))
        for trace in traces
    ])  # fmt: skip


@pytest.mark.parametrize("seed", [3, 11])
async def test_planted_modes_duplicates_and_checks(engine: Engine, seed: int) -> None:
    came = await figures(engine, made(500, seed=seed), each=2)
    assert (len(came.found) >= 10, came.purity >= 0.9, came.duplicates_f1 >= 0.9) == (True, True, True), came
    assert came.told_apart == came.proposals >= 20
    assert all(kind.ci[0] < kind.share < kind.ci[1] for kind in came.suite.kinds)
    again = await run(engine, Request(agent_id=AGENT, each=2))
    assert [draft.test_case_id for draft in again.drafts] == [draft.test_case_id for draft in came.suite.drafts]


async def test_drafts_hold_no_personal_data_and_run_once_they_are_accepted(engine: Engine) -> None:
    answer = {
        "toolCallsLog": [step("find_order", {"mail": MAIL}, error="timed out")],
        "outputs": {"output": f"Sent to {MAIL}."},
    }
    asked = f"Where is order 77441? I am {MAIL}, +49 30 1234567, card {CARD}."
    trace = Made("t1", "", "r1", {"agentId": AGENT, "inputs": {"input": asked}, **answer}, {})
    await kept(engine, trace)
    suite = await run(engine, Request(agent_id=AGENT))
    assert suite.masked == {"email": 3, "phone": 1, "card": 1}
    (draft,) = suite.drafts
    case = await engine.store.read(lambda db: records.require(db, draft.test_case_id, TestCase))
    written = json.dumps(case.fields.model_dump(mode="json"))
    assert "[email]" in written
    assert not any(found in written for found in (MAIL, CARD, "1234567"))
    assert case.fields.status == "draft"
    accepted = await run(engine, Request(agent_id=AGENT, accept=(draft.test_case_id,)))
    assert accepted.accepted == (draft.test_case_id,)
    case = await engine.store.read(lambda db: records.require(db, draft.test_case_id, TestCase))
    assert case.fields.status == "active"
    assert (await run(engine, Request(agent_id=AGENT, accept=(draft.test_case_id,)))).accepted == ()
    with pytest.raises(BadInputError, match="t1"):
        await run(engine, Request(agent_id=AGENT, accept=("t1",)))
    run_as_it_came = await engine.store.read(lambda db: records.require(db, "t1", AgentRun))
    assert MAIL in str(run_as_it_came.fields.outputs)  # what the agent produced is never changed


async def test_what_was_decided_on_a_draft_stays(engine: Engine) -> None:
    await kept(engine, *made(40, seed=2))
    accepted, rejected, waiting, *_ = (await run(engine, Request(agent_id=AGENT))).drafts
    await run(engine, Request(agent_id=AGENT, accept=(accepted.test_case_id,)))
    await delete_record(engine, rejected.test_case_id)
    again = {draft.test_case_id: draft.status for draft in (await run(engine, Request(agent_id=AGENT))).drafts}
    assert again[accepted.test_case_id] == "active"
    assert again[rejected.test_case_id] == "deleted"
    assert again[waiting.test_case_id] == "draft"
    cases = await engine.store.read(lambda db: records.get_all(db, list(again), TestCase))
    assert cases[accepted.test_case_id].fields.status == "active"
    assert cases[rejected.test_case_id].deleted_at is not None
    with pytest.raises(NotFoundError):
        await run(engine, Request(agent_id=AGENT, accept=(rejected.test_case_id,)))


async def test_the_caller_reads_packets_and_what_it_corrects_is_tried(engine: Engine) -> None:
    traces = [trace for trace in made(40, seed=5) if trace.mode in ("lookup-timed-out", "english-to-germans", "")]
    await kept(engine, *traces)
    packets = (await run(engine, Request(agent_id=AGENT, reader="caller"))).packets
    by_id = {trace.ident: trace for trace in traces}
    assert {packet.trace_id for packet in packets} <= by_id.keys()
    assert MAIL not in str(packets)
    names = ("says it without data", "says it with no data", "answers without data")
    notes = [
        TraceNote(
            trace_id=packet.trace_id, kind=names[place % 3], what="It answered though the look-up failed.",
            corrected=f"I cannot see the order right now; please write again in an hour. Case {place}.",
        )
        if by_id[packet.trace_id].mode
        else TraceNote(trace_id=packet.trace_id)
        for place, packet in enumerate(packets)
    ]  # fmt: skip
    suite = await run(engine, Request(agent_id=AGENT, reader="caller", notes=tuple(notes), each=20))
    wrong = [note for note in notes if note.kind]
    assert suite.failed == sum(kind.traces for kind in suite.kinds) == len(wrong) >= 4
    assert len(suite.kinds) < 3  # names that mean the same are one kind
    assert all(draft.passes_corrected for draft in suite.drafts)
    with pytest.raises(BadInputError, match="not one of the traces"):
        await run(engine, Request(agent_id=AGENT, reader="caller", notes=(TraceNote(trace_id="other", kind="x"),)))


async def test_readings_that_were_paid_for_are_kept_where_the_cap_stops_the_model(tmp_path: Path) -> None:
    async with serving() as server:
        config = replace(config_in(tmp_path, model_url=server.url), judge_model="anthropic:claude-haiku-4-5-judge")
        async with opened(config) as engine:
            await kept(engine, *made(12, seed=2))
            with pytest.raises(StoppedError, match="cost"):
                await run(engine, Request(agent_id=AGENT, reader="model", max_cost_usd=1e-7))
            assert not server.requests, "nothing is asked that the cap does not allow"
            capped = await run(engine, Request(agent_id=AGENT, reader="model", max_cost_usd=0.006))
            asked = server.requests
            assert (capped.unread, "cost" in capped.stopped) == (12 - asked, True)
            assert 0 < capped.failed == asked < 12
            whole = await run(engine, Request(agent_id=AGENT, reader="model"))
            assert (whole.unread, whole.stopped, whole.failed) == (0, "", 12)
            assert server.requests == 12, "a second call pays for what is missing"


async def test_readings_outlive_a_kill(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    async with serving(FakeSettings(latency_ms=5)) as server:
        config = config_in(tmp_path / "live", model_url=server.url, concurrency=1)
        config = replace(config, judge_model="anthropic:claude-haiku-4-5-judge")
        async with opened(config) as engine:
            await kept(engine, *made(12, seed=2))
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run, engine, Request(agent_id=AGENT, reader="model"))
                    while server.requests < 5:  # noqa: ASYNC110  the fake tells nobody that it is asked
                        await anyio.sleep(0.002)
                    shutil.copytree(tmp_path / "live", tmp_path / "killed")  # all that a kill would leave
                    scope.cancel()
        killed = replace(config, db=tmp_path / "killed" / config.db.name)
        async with opened(killed) as engine:
            server.reset()
            first = await run(engine, Request(agent_id=AGENT, reader="model"))
            assert (first.unread, first.failed) == (0, 12)
            assert server.requests == 12 - 4, "the fifth was under way, and is lost"
            again = await run(engine, Request(agent_id=AGENT, reader="model"))
            assert again == first
            other = replace(killed, judge_model="anthropic:claude-sonnet-4-5-judge")
        server.reset()
        async with opened(other) as engine:
            await run(engine, Request(agent_id=AGENT, reader="model"))
            assert server.requests == 12, "another model reads for itself"


async def test_erased_traces_are_read_no_more(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    async with opened(config) as engine:
        await kept(engine, *made(12, seed=2))
        before = await run(engine, Request(agent_id=AGENT))
    gone = before.drafts[0].trace_id
    assert forget(config.db, ErasureScope(record=gone), at=START, by="ada").rows["agent-run"]
    async with opened(config) as engine:
        after = await run(engine, Request(agent_id=AGENT))
    assert after.read == before.read - 1
    assert gone not in after.model_dump_json()
    assert "forgotten" not in after.model_dump_json()


async def test_what_a_reader_writes_is_masked_in_kinds_and_labels_too(engine: Engine) -> None:
    await kept(
        engine, Made("t1", "", "r1", {"agentId": AGENT, "inputs": {"input": "Hi"}, "outputs": {"output": "No"}}, {})
    )
    note = TraceNote(trace_id="t1", kind=f"sent to {MAIL}", what=MAIL, corrected="Yes.", labels={"who": MAIL})
    suite = await run(engine, Request(agent_id=AGENT, reader="caller", notes=(note,), dimensions=("who",)))
    kept_cases = await engine.store.read(lambda db: db.execute("SELECT title, fields, tags FROM minion").fetchall())
    assert MAIL not in f"{suite.model_dump_json()}{kept_cases}"


async def test_coverage_names_the_pairs_that_no_case_has(engine: Engine) -> None:
    await kept(engine, *made(200, seed=8, failing=0.04))
    covered = (await run(engine, Request(agent_id=AGENT, dimensions=("language", "tool")))).coverage
    assert covered is not None
    assert 0 < covered.covered < covered.pairs
    assert covered.covered + len(covered.missing) == covered.pairs
    assert 0 < len(covered.by_traces) <= len(covered.missing)


async def test_declared_values_that_no_trace_shows_are_missing(engine: Engine) -> None:
    await kept(engine, *made(60, seed=8, failing=0.1))
    declared = ("language=EN, de,fr", "tool", "customer=private,business")
    covered = (await run(engine, Request(agent_id=AGENT, dimensions=declared))).coverage
    assert covered is not None
    assert covered.unseen == ("language=fr", "customer=private", "customer=business")
    assert covered.no_trace > 0
    assert covered.covered < covered.pairs
    assert len(covered.missing) == min(20, covered.pairs - covered.covered)
    assert "customer=business, language=EN" not in covered.missing  # the names stand in the order given
    assert "language=EN, customer=business" in covered.missing
    for wrong in ("=en", "language=en,", "tool=" + ",".join(map(str, range(51)))):
        with pytest.raises(BadInputError, match="dimensions"):
            await run(engine, Request(agent_id=AGENT, dimensions=(wrong,)))
    with pytest.raises(BadInputError, match="twice"):
        await run(engine, Request(agent_id=AGENT, dimensions=("tool", "tool=a")))


def test_coverage_over_declared_and_shown_values() -> None:
    traces = {
        "a": {"language": "en", "tool": "find"},
        "b": {"language": "en", "tool": "pay"},
        "c": {"language": "de", "tool": "find"},
    }
    both = [Dimension("language", ("en", "de", "fr")), Dimension("tool")]
    came = coverage(traces, [traces["a"]], both)
    assert (came.pairs, came.covered, came.uncoverable) == (6, 1, 3), (
        "three languages by two tools, of which traces show three pairs"
    )
    assert came.unseen == (("language", "fr"),)
    assert set(came.by_traces) == {"b", "c"}
    assert coverage(traces, [], [Dimension("language"), Dimension("tool")]).pairs == 3, (
        "what is not declared counts where it is shown"
    )
    alone = coverage(traces, [traces["a"]], [Dimension("language", ("EN", "fr")), Dimension("intent")])
    assert alone.missing == ((("language", "de"),), (("language", "fr"),))
    assert (alone.pairs, alone.covered) == (3, 1)
    nothing = coverage({}, [], [Dimension("intent", ("refund",)), Dimension("customer", ("private", "business"))])
    assert (nothing.pairs, len(nothing.unseen), nothing.by_traces) == (2, 3, ())


async def test_an_agent_without_traces_and_options_that_do_not_fit_are_refused(engine: Engine) -> None:
    with pytest.raises(BadInputError, match="no complete trace of 'nobody'"):
        await run(engine, Request(agent_id="nobody"))
    with pytest.raises(BadInputError, match="no model is configured"):
        await run(engine, Request(agent_id="nobody", reader="model"))
    for wrong in ({"notes": [{"trace_id": "t"}]}, {"max_cost_usd": 1.0}):
        with pytest.raises(ValidationError, match="set reader to"):
            Request.model_validate({"agent_id": "a", **wrong})


def _claiming(number: int, *, calls: bool, request: str = "Refund order {} please, I am in a hurry") -> Trace:
    """A trace that says a refund was made; a sound one made it, and says so in other words."""
    said = f"I refunded order {number}." if calls else f"Your refund for order {number} has been issued."
    steps = (ToolCall(tool="refund_order", arguments={"order": number}, result="ok"),) if calls else ()
    return Trace(str(number), {"input": request.format(number)}, {"output": said}, steps=steps, has_log=True)


@pytest.mark.parametrize(
    ("sound", "expected"),
    [
        ([_claiming(number, calls=True) for number in range(3)], ("trajectory:tool-used", "refund_order")),
        ([_claiming(number, calls=True) for number in range(2)], ("trajectory:step-count", {"min": 1})),
        (
            [_claiming(number, calls=True, request="Hello {}") for number in range(9)],
            ("trajectory:step-count", {"min": 1}),
        ),
    ],
)
def test_a_claim_without_a_call_is_checked_by_calls_and_not_by_its_words(
    sound: list[Trace], expected: tuple[str, object]
) -> None:
    wrong = _claiming(99, calls=False)
    reading = read_by_rules(wrong)
    assert reading is not None
    assert reading.code == "claimed-without-call"
    checks = proposed(reading, wrong, None, sound)
    assert checks is not None
    assert [(check.type, check.value) for check in checks.assertions] == [expected]
    assert not checks.only_this
    right = replace(wrong, steps=_claiming(99, calls=True).steps)
    assert passed(checks.assertions, right)


def test_the_command_tells_kinds_drafts_and_what_comes_next(tmp_path: Path) -> None:
    at = Terminal(tmp_path)
    traces = made(60, seed=2)
    lines = [json.dumps({"id": trace.ident, "type": "agent-run", "fields": trace.fields}) for trace in traces]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    assert at.run("import", str(tmp_path / "traces.jsonl")).code == 0
    told = at.run("suite", "from-traces", "--agent", AGENT, "--dimension", "language", "--dimension", "tool")
    assert told.code == 0
    assert "traces failed, in" in told.out
    assert "95 % CI" in told.out
    assert "Next: minions-evals suite from-traces" in told.out
    shown = cast("list[dict[str, Any]]", at.run("suite", "from-traces", "--agent", AGENT, "--json").one()["drafts"])
    draft = shown[0]["testCaseId"]
    accepted = at.run("suite", "from-traces", "--agent", AGENT, "--accept", draft[:13]).out
    assert f"{draft}: active" in accepted
    assert f"Next: minions-evals run {draft} --target python:MODULE:FUNCTION" in accepted
    waiting = cast(
        "list[dict[str, Any]]",
        at.run("suite", "from-traces", "--agent", AGENT, "--reader", "caller", "--json").one()["packets"],
    )
    notes = [{"traceId": packet["traceId"], "kind": "wrong answer", "corrected": "Right."} for packet in waiting[:2]]
    (tmp_path / "notes.json").write_text(json.dumps(notes))
    read = at.run(
        "suite", "from-traces", "--agent", AGENT, "--reader", "caller", "--notes", str(tmp_path / "notes.json")
    )
    assert "2 of" in read.out
    (tmp_path / "notes.json").write_text('[{"kind": 3}]')
    refused = at.run(
        "suite", "from-traces", "--agent", AGENT, "--reader", "caller", "--notes", str(tmp_path / "notes.json")
    )
    assert (refused.code, "--notes" in refused.err) == (2, True)
