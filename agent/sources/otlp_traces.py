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
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.otlp_requests import Rejected
from minions_evals_mcp.interop.logs.session_run import session_run
from minions_evals_mcp.interop.spans import Span
from minions_evals_mcp.interop.traces import Traces, kind_of
from minions_evals_mcp.messages.send_message import FROM_TRACES, Letter, keep_unreadable, send_message
from minions_evals_mcp.sessions.telemetry import FORM, EventTurns, Read
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import traces_judged

LOOKED_EVERY_S = 0.5
MOST_WAITING = 5_000
"""So many traces may wait to be whole; then exporters are asked to wait."""
NO_EVENT = "no log record is read: they are not events of Claude Code, Codex or Gemini CLI with a session's id"
UNKNOWN = "no trace is read: none says gen_ai.operation.name (invoke_agent, chat, …) or openinference.span.kind (AGENT, LLM, …)"
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


class TraceIntake:
    """Spans in, agent-runs out: gathered until their trace is whole, then sent as messages, which survive a crash."""

    def __init__(self, agent: Agent, judging: TraceJudging) -> None:
        self._agent = agent
        self._judging = judging
        self._traces = Traces()
        self._turns = EventTurns()
        self._day = ""
        self._taken = 0
        self._capped = False
        self._came = SpansCame()

    async def vet(self) -> None:
        """Raises `BadInputError` where the rubric that is to judge does not exist."""
        rubric = self._judging.rubric_id
        if rubric is not None:
            await self._agent.engine.store.read(lambda db: records.require(db, rubric, Rubric))

    @property
    def is_full(self) -> bool:
        """Returns whether exporters have to wait."""
        return self._traces.waiting + self._turns.waiting >= MOST_WAITING

    def add(self, spans: Sequence[Span]) -> Rejected | None:
        """Take the spans in of traces in the share; the others are left out at once. Says where none of them can be read."""
        taken = [span for span in spans if self._judging.takes(span.trace_id)]
        self._came.spans += len(spans)
        self._came.in_share += len(taken)
        self._came.known += sum(kind_of(span) is not None for span in taken)
        for trace_id in self._traces.add(taken, now=anyio.current_time()):
            log.warning("trace-given-up", source="otlp", trace_id=trace_id)
        is_known = not taken or any(kind_of(span) is not None for span in taken)
        return None if is_known else Rejected(0, UNKNOWN)  # a step of a trace whose agent's span may still come

    def add_events(self, read: Read) -> Rejected | None:
        """Take in the events of sessions in the share, and say which records are no events of a coding agent."""
        taken = [event for event in read.events if self._judging.takes(event.session)]
        for session_id in self._turns.add(taken, now=anyio.current_time()):
            log.warning("session-given-up", source="otlp", session_id=session_id)
        left = read.records - len(read.events)
        return Rejected(left, f"{NO_EVENT}: {', '.join(read.unknown[:5])}") if left else None

    def whole(self) -> list[Json]:
        """All traces and turns that are there as agent-runs on the wire, be they settled or not; they are given once."""
        return self._settled(at_once=True)

    def _settled(self, *, at_once: bool = False) -> list[Json]:
        now = anyio.current_time()
        turns = self._turns.completed(now=now, at_once=at_once)
        return [*self._traces.completed(now=now, at_once=at_once), *(session_run(turn, FORM) for turn in turns)]

    async def follow(self) -> None:
        """Sends what is whole and tells of a fall, until the agent ends."""
        while True:
            await anyio.sleep(LOOKED_EVERY_S)
            await self.settle()

    async def settle(self) -> None:
        """Sends the traces that are whole, and says what came since the last time."""
        if self._came.spans:
            self._came.tell(waiting=self._traces.waiting)
            self._came = SpansCame()
        for wire in self._settled():
            await surely(self._agent, partial(self._send, wire), doing="otlp")
        if self._judging.alert_below is not None:
            await surely(self._agent, self._alert, doing="otlp-alert")

    async def _send(self, wire: Json) -> None:
        """The run as a message to be judged; over the day's cap it is left out, which is said once a day."""
        if not await self._is_within_cap():
            return
        engine = self._agent.engine
        run_id = str(wire["id"])
        try:
            case_id = await self._case(wire, run_id)
            payload: Json = {"agentRun": wire, **({} if case_id is None else {"testCaseId": case_id})}
            await send_message(
                engine,
                Letter(type="agent-run-completed", payload=payload, id=f"{FROM_TRACES}{digest(run_id)}"),
                from_source=True,
            )
            self._taken += 1
        except BadInputError as error:
            await keep_unreadable(engine, str(wire), str(error), source="otlp")
            log.warning("trace-refused", run_id=run_id, reason=str(error))

    async def _case(self, wire: Json, run_id: str) -> str | None:
        """A case of the trace's own, judged by the rubric; none where the cases that ask the same judge it."""
        if self._judging.rubric_id is None:
            return None
        case_id = f"{run_id}:judged"
        inputs: JsonValue = obj(wire.get("fields")).get("inputs", {})
        fields: Json = {
            "name": f"trace {run_id}", "inputs": inputs, "rubricId": self._judging.rubric_id, "extra": {"agentRunId": run_id},
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
        now = engine.clock()
        key = f"otlp-alert:{now.date().isoformat()}"
        newest = next(ident for ident, held in verdicts if not held)
        words = f"{passed} of the newest {len(verdicts)} production traces passed, under {least:.0%}."
        task = Task(
            title="Investigate production traces", description=words, priority="high", created_by=EVAL_AGENT, created_at=now,
            context_ref=ContextRef(type="test-run", id=newest),
        )  # fmt: skip
        telling = message("traces-degraded", {"passed": passed, "judged": len(verdicts), "testRunId": newest}, at=now)

        def tell(db: Db) -> None:
            queue(db, f"{key}:task", task, key=f"{key}:task", at=now)
            queue(db, f"{key}:message", telling, key=f"{key}:message", at=now)

        await engine.store.write(tell)
