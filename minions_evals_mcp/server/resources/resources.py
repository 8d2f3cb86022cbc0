"""Resources: what can be read without a call. The edge of reading: every refusal says what to do next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from types import ModuleType

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources.templates import ResourceSecurity
from mcp.shared.exceptions import MCPError

from minions_evals_mcp.errors import EvalsError, NotFoundError, ungrouped
from minions_evals_mcp.server.edge.guard import EvalsServer, crash_told
from minions_evals_mcp.server.edge.refusals import refusal
from minions_evals_mcp.server.resources import addresses
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.session.opened import ServerSession

JSON = "application/json"
MARKDOWN = "text/markdown"
ANY_ID = ResourceSecurity(
    exempt_params={
        "id",
        "type",
        "name",
        "status",
        "limit",
        "cursor",
        "hours",
        "agent",
        "rubric",
        "tag",
        "version",
        "model",
    }
)
"""No part of an address names a file, and an id may look like a path."""
Reading = Callable[[ModuleType, Call], Awaitable[str]]


def register_resources(server: EvalsServer, session: ServerSession) -> None:
    """Offers every resource; the more particular addresses come first, for the first that fits is read."""
    read = partial(_read, session)
    _register_whole(server, read)
    _register_runs(server, read)
    _register_records(server, read)


Read = Callable[[str, Reading], Awaitable[str]]


def _register_whole(server: EvalsServer, read: Read) -> None:
    @server.resource(
        addresses.INDEX,
        name="index",
        mime_type=JSON,
        description="The content of the store: record counts by type and the newest runs.",
    )
    async def index() -> str:
        return await read("index", lambda readings, call: readings.index(call))

    @server.resource(
        addresses.GUIDE,
        name="guide",
        mime_type=MARKDOWN,
        description="How to work with Minions Evals: suites, runs, judging, comparing, the hard rules.",
    )
    async def guide() -> str:
        return await read("guide", lambda readings, call: readings.guide(call))

    @server.resource(
        addresses.OUTBOX,
        name="outbox",
        mime_type=JSON,
        description="Messages to integrations, newest first, and who they wait for.",
    )
    async def outbox() -> str:
        return await read("outbox", lambda readings, call: readings.outbox(call))

    _ = (index, guide, outbox)


def _register_runs(server: EvalsServer, read: Read) -> None:
    offer = partial(server.resource, security=ANY_ID)

    @offer(
        addresses.RESULTS,
        name="results",
        mime_type=JSON,
        description="A run's results, failed first. `status` filters: passed, failed or unscored.",
    )
    async def results(id: str, status: str = "", limit: str = "50", cursor: str = "0") -> str:  # noqa: A002  the address's own word
        return await read("results", lambda readings, call: readings.results(call, id, status, limit, cursor))

    @offer(addresses.TREND, name="trend", mime_type=JSON, description="The trend of a benchmark, with its points.")
    async def trend(id: str) -> str:  # noqa: A002  as above
        return await read("trend", lambda readings, call: readings.trend(call, id))

    @offer(
        addresses.HISTORY,
        name="history",
        mime_type=JSON,
        description="A test case over time: pass rate, regressions, newest runs.",
    )
    async def history(id: str) -> str:  # noqa: A002  as above
        return await read("history", lambda readings, call: readings.history(call, id))

    @offer(
        addresses.PRODUCTION,
        name="production",
        mime_type=JSON,
        description="Judged production traces by agent and rubric: pass rates, causes, the newest failing.",
    )
    async def production(
        hours: str = "168", agent: str = "", rubric: str = "", tag: str = "", version: str = "", model: str = ""
    ) -> str:
        only = {"agent": agent, "rubric": rubric, "tag": tag, "version": version, "model": model}
        return await read("production", lambda readings, call: readings.production(call, hours, **only))

    _ = (results, trend, history, production)


def _register_records(server: EvalsServer, read: Read) -> None:
    offer = partial(server.resource, security=ANY_ID)

    @offer(addresses.SCHEMA, name="schema", mime_type=JSON, description="The fields of a type of record.")
    async def schema(type: str) -> str:  # noqa: A002  the address's own word
        return await read("schema", lambda readings, call: readings.schema(call, type))

    @offer(addresses.SKILL, name="skill", mime_type=MARKDOWN, description="A skill, as the engine follows it.")
    async def skill(name: str) -> str:
        return await read("skill", lambda readings, call: readings.skill(call, name))

    @offer(
        addresses.RECORD,
        name="record",
        mime_type=JSON,
        description="Any record, or a run (type run), by its type and id.",
    )
    async def record(type: str, id: str) -> str:  # noqa: A002  as above
        return await read("record", lambda readings, call: readings.record(call, type, id))

    _ = (schema, skill, record)


async def _read(session: ServerSession, name: str, reading: Reading) -> str:
    """The text of a resource; the module that makes it is imported at the first read. Raises `ResourceError` only."""
    try:
        with ungrouped():
            call = Call(await session.engine(), await session.runs(), session.target, _silent)
            return await _read_or_near(reading, call)
    except NotFoundError as error:
        raise ResourceNotFoundError(refusal(error, session.store)) from None
    except EvalsError as error:
        raise ResourceError(refusal(error, session.store)) from None
    except MCPError:
        raise
    except Exception as error:  # noqa: BLE001  the edge: the reader learns an id, the log everything
        raise ResourceError(crash_told(f"the resource {name}", error)) from None


async def _read_or_near(reading: Reading, call: Call) -> str:
    """The text; an id that is not there is refused with those that are near."""
    try:
        return await reading(import_module("minions_evals_mcp.server.resources.readings"), call)
    except NotFoundError as error:
        from minions_evals_mcp.operations.engine import with_near_ids  # noqa: PLC0415  it is there with the engine

        raise await with_near_ids(call.engine, error) from None


async def _silent(progress: float, total: float | None, message: str | None) -> None:
    """Nobody waits for progress of a read."""
    del progress, total, message
