"""Production traces, judged as they come: a share of them, so many a day, and an alert when too few pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from pydantic import JsonValue

from agent.daemon import Agent, log
from agent.sources.otlp_judging import TraceJudging
from agent.store_retry import surely
from minions_evals_mcp.domain.definitions import Json, Rubric
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import ContextRef, Task
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.engine.outbox import EVAL_AGENT, message, queue
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.interop.logs.otlp_requests import Rejected
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.telemetry.host_spans import host_of
from minions_evals_mcp.interop.telemetry.intake import Parts, Telemetry, parts_of
from minions_evals_mcp.interop.telemetry.settled import Settled
from minions_evals_mcp.interop.telemetry.traces import kind_of
from minions_evals_mcp.messages.send_message import FROM_TRACES, Letter, keep_unreadable, send_message
from minions_evals_mcp.operations import agent_work
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.sessions.telemetry import Read
from minions_evals_mcp.sessions.unfinished import is_unfinished
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import traces_judged

LOOKED_EVERY_S = 0.5
MOST_WAITING = 5_000
"""So many traces may wait to be whole; then exporters are asked to wait."""
NO_EVENT = (
    "log records are read that are events of Claude Code, Codex or Gemini CLI with a session's id,"
    " or GenAI events with the ids of their trace and span; left out"
)
UNKNOWN = "no trace is read: none says gen_ai.operation.name (invoke_agent, chat, …) or openinference.span.kind (AGENT, LLM, …)"
ASKED = 80
"""The characters of the question that stand in a trace's title."""
WATCHED_EVERY_S = 5.0
"""A fall of the pass rate is looked for so often."""
DRIFT_EVERY_S = 600.0
"""A drift is looked for so often: it reads all requests that are watched."""
WINDOW, LEAST = 50, 10
"""An alert looks at so many of the newest verdicts, once there are so many."""


@dataclass(slots=True)
class SpansCame:
    """Spans that came: so many in the share that is taken, so many of those an agent's, a model's or a tool's."""

    spans: int = 0
    in_share: int = 0
    known: int = 0

    def tell(self, *, waiting: int) -> None:
        """Says so in the log; and what spans must bear to be read, where none of them did."""
        counted = {"spans": self.spans, "in_share": self.in_share, "of_agents": self.known, "traces_waiting": waiting}
        if self.in_share and not self.known:
            log.warning("otlp-spans", **counted, hint=UNKNOWN)
        else:
            log.info("otlp-spans", **counted)


def _title(fields: Json) -> str:
    """The agent and the beginning of what it was asked."""
    asked = " ".join(text for text in obj(fields.get("inputs")).values() if isinstance(text, str))
    return f"{fields.get('agentId')}: {' '.join(asked.split())[:ASKED] or 'a trace without a text input'}"


class TraceIntake:
    """Spans and log events in, agent-runs out: kept in the store until their turn is whole, then sent as messages."""

    def __init__(self, agent: Agent, judging: TraceJudging) -> None:
        self._agent = agent
        self._judging = judging
        self._telemetry = Telemetry()
        self._day = ""
        self._taken = 0
        self._capped = False
        self._came = SpansCame()
        self._watched_at = 0.0
        self._drift_at = 0.0

    @property
    def engine(self) -> Engine:
        """The engine of the agent that judges."""
        return self._agent.engine

    async def vet(self) -> None:
        """Raises `BadInputError` where the rubric that is to judge does not exist."""
        rubric = self._judging.rubric_id
        if rubric is not None:
            await self._agent.engine.store.read(lambda db: records.require(db, rubric, Rubric))

    async def take_up(self) -> None:
        """Take in again what had come to an agent that was ended before it was whole."""
        for row, wire in await agent_work.waiting_telemetry(self._agent.engine):
            self._telemetry.add(parts_of(wire), now=anyio.current_time(), row=row)

    @property
    def is_full(self) -> bool:
        """Returns whether exporters have to wait."""
        return self._telemetry.waiting >= MOST_WAITING

    async def add(self, spans: Sequence[Span]) -> Rejected | None:
        """Take the spans in of traces in the share; the others are left out at once. Says where none of them can be read."""
        taken = [span for span in spans if self._judging.takes((host_of(span) or ("", span.trace_id))[1])]
        known = sum(kind_of(span) is not None or host_of(span) is not None for span in taken)
        self._came.spans += len(spans)
        self._came.in_share += len(taken)
        self._came.known += known
        await self._keep(Parts(spans=tuple(taken)))
        return (
            None if known or not taken else Rejected(0, UNKNOWN)
        )  # a step of a trace whose agent's span may still come

    async def add_events(self, read: Read) -> Rejected | None:
        """Take in the events of sessions and traces in the share, and say which records are none."""
        events = tuple(event for event in read.events if self._judging.takes(event.session))
        contents = tuple(content for content in read.contents if self._judging.takes(content.trace_id))
        await self._keep(Parts(events=events, contents=contents))
        return Rejected(read.left_out, f"{NO_EVENT}: {', '.join(read.unknown[:5])}") if read.left_out else None

    async def _keep(self, parts: Parts) -> None:
        """Keep the parts in the store, where they outlive the process, before they are taken in."""
        by_subject = parts.by_subject()
        if not by_subject:
            return
        rows = await agent_work.keep_telemetry(self._agent.engine, [subject.wire() for subject in by_subject])
        for row, subject in zip(rows, by_subject, strict=True):
            for ident in self._telemetry.add(subject, now=anyio.current_time(), row=row):
                log.warning("trace-given-up", source="otlp", subject=ident)

    def whole(self) -> list[Json]:
        """All traces and turns that are there as agent-runs on the wire, be they settled or not; they are given once."""
        settled = self._telemetry.settled(now=anyio.current_time(), at_once=True)
        return [over.run for over in settled if over.run is not None]

    async def follow(self) -> None:
        """Sends what is whole and tells of a fall, until the agent ends."""
        while True:
            await anyio.sleep(LOOKED_EVERY_S)
            await self.settle()

    async def settle(self) -> None:
        """Sends the traces that are whole, and says what came since the last time."""
        if self._came.spans:
            self._came.tell(waiting=self._telemetry.waiting)
            self._came = SpansCame()
        for over in self._telemetry.settled(now=anyio.current_time()):
            await surely(self._agent, partial(self._end, over), doing="otlp")
        if self._judging.alert_below is not None:
            await surely(self._agent, self._alert, doing="otlp-alert")
        await surely(self._agent, self._watch, doing="otlp-fall")
        await surely(self._agent, self._watch_drift, doing="otlp-drift")

    async def _end(self, over: Settled) -> None:
        """Send what is whole, then drop its parts: whoever is killed between both sends the same message again, which is one."""
        engine = self._agent.engine
        if over.run is not None and not (over.unless and await agent_work.has_run_of(engine, over.unless)):
            await self._send(over.run)
        if over.rows:
            await agent_work.drop_telemetry(engine, over.rows)

    async def _send(self, wire: Json) -> None:
        """The run as a message to be judged; over the day's cap it is left out, which is said once a day."""
        if not await self._is_within_cap():
            return
        engine = self._agent.engine
        run_id = str(wire["id"])
        if is_unfinished(wire):
            await self._keep_unfinished(wire, run_id)
            return
        try:
            case_id = await self._case(wire, run_id)
            payload: Json = {"agentRun": wire, **({} if case_id is None else {"testCaseId": case_id})}
            await send_message(
                engine,
                Letter(type="agent-run-completed", payload=payload, id=f"{FROM_TRACES}{digest(run_id)}"),
                from_source=True,
            )
            self._taken += 1
        except ConflictError:
            log.info("trace-came-late", run_id=run_id)  # the turn was told without what came since
        except BadInputError as error:
            await keep_unreadable(engine, str(wire), str(error), source="otlp")
            log.warning("trace-refused", run_id=run_id, reason=str(error))

    async def _keep_unfinished(self, wire: Json, run_id: str) -> None:
        """The run as it is, for nobody judges what has no answer."""
        engine = self._agent.engine
        run = record_from_wire(wire, new_id=run_id, now=engine.clock())
        await save_records(engine, [Arrival(run)])
        log.info("trace-unfinished", run_id=run_id, hint="no final answer came: kept as running, not judged")

    async def _case(self, wire: Json, run_id: str) -> str | None:
        """A case of the trace's own, judged by the rubric; none where the cases that ask the same judge it."""
        if self._judging.rubric_id is None:
            return None
        case_id = f"{run_id}:judged"
        inputs: JsonValue = obj(wire.get("fields")).get("inputs", {})
        fields: Json = {
            "name": _title(obj(wire.get("fields"))), "inputs": inputs, "rubricId": self._judging.rubric_id, "extra": {"agentRunId": run_id},
        }  # fmt: skip
        case = record_from_wire(
            {"id": case_id, "type": "test-case", "tags": [traces_judged.TAG], "fields": fields},
            new_id=case_id, now=self._agent.engine.clock(),
        )  # fmt: skip
        await save_records(self._agent.engine, [Arrival(case)])
        return case_id

    async def _is_within_cap(self) -> bool:
        now = self._agent.engine.clock()
        if self._day != now.date().isoformat():
            midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
            self._taken = await self._agent.engine.store.read(lambda db: traces_judged.taken_since(db, midnight))
            self._day, self._capped = now.date().isoformat(), False
        if self._taken < self._judging.daily:
            return True
        if not self._capped:
            log.warning("otlp-daily-cap", daily=self._judging.daily, day=self._day)
        self._capped = True
        return False

    async def _alert(self) -> None:
        """Asks for somebody to look, once a day, while too few of the newest traces pass."""
        engine, least = self._agent.engine, self._judging.alert_below or 0.0
        verdicts = await engine.store.read(lambda db: traces_judged.newest_verdicts(db, WINDOW))
        passed = sum(held for _, held in verdicts)
        if len(verdicts) < LEAST or passed >= least * len(verdicts):
            return
        newest = next(ident for ident, held in verdicts if not held)
        words = f"{passed} of the newest {len(verdicts)} production traces passed, under {least:.0%}."
        key = f"otlp-alert:{engine.clock().date().isoformat()}"
        await self._tell_of_run(key, words, newest, {"passed": passed, "judged": len(verdicts)})

    async def _watch(self) -> None:
        """Tells of a fall of the pass rate, once, whatever its level was; then another level is learnt."""
        now = anyio.current_time()
        if now - self._watched_at < WATCHED_EVERY_S:
            return
        self._watched_at = now
        fall = await agent_work.fall_of_traces(self._agent.engine)
        if fall is None:
            return
        seen = fall.seen
        words = (
            f"The pass rate of production traces dropped from {seen.before:.1%} to {seen.after:.1%}. Most likely it began"
            f" {seen.seen_at - seen.began_at} verdicts ago."
        )
        figures: Json = {"before": seen.before, "after": seen.after, "verdicts": seen.seen_at - seen.began_at}
        await self._tell_of_run(fall.key, words, fall.test_run_id, figures)

    async def _watch_drift(self) -> None:
        """Tells of other requests than before, and of a judge that people contradict more often, each once."""
        now = anyio.current_time()
        if now - self._drift_at < DRIFT_EVERY_S:
            return
        self._drift_at = now
        for drift in await agent_work.drifts_of_traces(self._agent.engine):
            await self._tell_drift(drift)

    async def _tell_drift(self, drift: agent_work.Drift) -> None:
        kind = "test-case" if drift.of == "requests" else "rubric-criterion"
        figures: Json = {
            "of": drift.of, "figure": drift.figure, "before": drift.seen.before, "after": drift.seen.after,
            "observations": drift.seen.seen_at - drift.seen.began_at, "subjectId": drift.subject,
        }  # fmt: skip
        await self._tell(drift.key, drift.words, ContextRef(type=kind, id=drift.subject), figures, "traces-drifted")

    async def _tell_of_run(self, key: str, words: str, test_run_id: str, figures: Json) -> None:
        about = ContextRef(type="test-run", id=test_run_id)
        await self._tell(key, words, about, {**figures, "testRunId": test_run_id})

    async def _tell(
        self, key: str, words: str, about: ContextRef, figures: Json, kind: str = "traces-degraded"
    ) -> None:
        """Asks for somebody to look, once under the key."""
        now = self._agent.engine.clock()
        task = Task(
            title="Investigate production traces", description=words, priority="high", created_by=EVAL_AGENT, created_at=now,
            context_ref=about,
        )  # fmt: skip
        telling = message(kind, figures, at=now)

        def tell(db: Db) -> None:
            queue(db, f"{key}:task", task, key=f"{key}:task", at=now)
            queue(db, f"{key}:message", telling, key=f"{key}:message", at=now)

        await self._agent.engine.store.write(tell)
