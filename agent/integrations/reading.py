"""The reading of neighbours' news: agent-runs as messages, prompt versions as copies; each once, whatever comes twice."""

from __future__ import annotations

import json
from functools import partial

import anyio
from pydantic import JsonValue, ValidationError

from agent.daemon import Agent, log
from agent.integrations.neighbours import RecordSource
from agent.store_retry import surely
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import AgentRun, PromptVersion
from minions_evals_mcp.domain.records import record_from_wire, wire_fields
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError, InstrumentError, InvalidRecordError
from minions_evals_mcp.interop.arrivals import held_by
from minions_evals_mcp.interop.suite import RelationRow
from minions_evals_mcp.interop.telemetry.traces import Traces
from minions_evals_mcp.messages.send_message import Letter, keep_unreadable, send_message
from minions_evals_mcp.ports import Arrived
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.sources import note_source

UNFINISHED = ("running", "pending-approval")
BRIEFLY_S = 0.5
LONGEST_WAIT_S = 300.0
"""A source that stays down is asked again after so long at the most."""
TAKEN = f"only {AgentRun.slug} and {PromptVersion.slug} records, relations between these, traces and trajectories can be read"


class Reader:
    """One origin being read. `kept`: the prompt versions and relations that stand in the store as they are."""

    def __init__(self, agent: Agent, origin: RecordSource) -> None:
        self._agent = agent
        self._origin = origin
        self._traces = Traces()
        self._kept: set[str] = set()
        self._failed = 0
        self._seen_up = False

    async def follow(self, *, once: bool) -> None:
        """Looks again and again; with `once` twice, so that what is still being written is seen as it stands."""
        await self._look(last=False)
        while not once:
            await anyio.sleep(self._wait_s())
            await self._look(last=False)
        await anyio.sleep(min(self._origin.every_s, BRIEFLY_S))
        await self._look(last=True)
        self._agent.sources -= 1
        self._agent.pulse.beat()

    def _wait_s(self) -> float:
        """Returns how long until the next look: as the operator's file says, longer each time that the source was down."""
        every_s = self._origin.every_s
        return min(every_s * 2 ** min(self._failed, 10), max(every_s, LONGEST_WAIT_S))

    async def _look(self, *, last: bool) -> None:
        """Takes in what is new; whatever a neighbour's text sets off, the reading goes on."""
        try:
            await self._take_news(last=last)
        except Exception:  # noqa: BLE001  a loop that must go on: told with its traceback
            log.exception("reading-failed", source=self._origin.name)

    async def _take_news(self, *, last: bool) -> None:
        """As `_look`; a source that is down is asked again at the next look, which is later each time."""
        try:
            arrivals = await self._origin.source.read()
        except (InstrumentError, OSError) as error:
            self._failed += 1
            if self._failed == 1:
                await self._note(str(error))
            log.warning(
                "source-down", source=self._origin.name, times=self._failed, again_s=self._wait_s(), reason=str(error)
            )
            arrivals = ()
        else:
            if self._failed or not self._seen_up:
                await self._note(None)
            self._failed, self._seen_up = 0, True
        for arrived in arrivals:
            await surely(self._agent, partial(self._take, arrived), doing=self._origin.name)
        for wire in self._traces.completed(now=anyio.current_time(), at_once=last):
            await surely(self._agent, partial(self._put, wire), doing=self._origin.name)

    async def _note(self, reason: str | None) -> None:
        """Keeps that the source went down, or is up again, for the agent's status to tell."""
        engine = self._agent.engine
        noting = partial(note_source, name=self._origin.name, reason=reason, at=engine.clock())
        await surely(self._agent, partial(engine.store.write, noting), doing=self._origin.name)

    async def _take(self, arrived: Arrived) -> None:
        try:
            held = held_by(arrived)
        except InvalidRecordError as error:
            await self._refuse(arrived.text, str(error))
            return
        for trace_id in self._traces.add(held.spans, now=anyio.current_time()):
            log.warning("trace-given-up", source=self._origin.name, trace_id=trace_id)
        for wire in held.records:
            await self._put(wire)

    async def _put(self, wire: JsonValue) -> None:
        try:
            match wire:
                case {"sourceId": _}:
                    await self._relate(wire)
                case {"type": AgentRun.slug}:
                    await self._send(wire)
                case {"type": PromptVersion.slug}:
                    await self._save(wire)
                case _:
                    raise InvalidRecordError(TAKEN, where=self._origin.name)
        except BadInputError as error:
            await self._refuse(json.dumps(wire), str(error))

    async def _refuse(self, text: str, reason: str) -> None:
        ident = await keep_unreadable(self._agent.engine, text, reason, source="read")
        log.warning("record-refused", source=self._origin.name, message_id=ident, reason=reason)

    async def _send(self, wire: JsonValue) -> None:
        """A message under the digest of what the record says: one that was edited since is another, and refused by HR1."""
        engine = self._agent.engine
        record = record_from_wire(wire, new_id="", now=engine.clock())
        assert isinstance(record.fields, AgentRun)
        if record.fields.status in UNFINISHED:
            return
        ident = f"agent-run:{digest([record.id, wire_fields(record.fields)])}"
        if await engine.store.read(lambda db: inbox.message(db, ident)) is None:
            payload: Json = {"agentRun": wire}
            await send_message(engine, Letter(type="agent-run-completed", payload=payload, id=ident))

    async def _save(self, wire: JsonValue) -> None:
        """A copy in the store; what stands there already is not written again."""
        engine = self._agent.engine
        record = record_from_wire(wire, new_id=engine.new_id(), now=engine.clock())
        marker = digest([record.id, record.content_digest()])
        if marker not in self._kept:
            await save_records(engine, [Arrival(record)])
            self._kept.add(marker)

    async def _relate(self, wire: JsonValue) -> None:
        relation = _relation(wire)
        marker = digest([relation.source_id, relation.target_id])
        if marker not in self._kept:
            await save_records(self._agent.engine, [], [relation])
            self._kept.add(marker)


def _relation(wire: JsonValue) -> Relation:
    try:
        row = RelationRow.model_validate(wire)
    except ValidationError as error:
        raise InvalidRecordError(error.errors(include_url=False)[0]["msg"], record="relation") from None
    if row.type != "follows":
        raise InvalidRecordError(f"the relation {row.type!r} is not read", field="type", record="relation")
    return Relation(row.source_id, row.target_id, row.type)
