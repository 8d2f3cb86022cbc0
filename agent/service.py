"""The agent at work: engine, lease, sources and the loop, from start to end."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from agent.binding import bind
from agent.daemon import Agent, log
from agent.integrations.reading import Reader
from agent.lease import held_lease
from agent.loop import serve
from agent.rounds.retention import erase_old
from agent.settings import Working, engine_on, log_events
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from agent.sources.standard_input import take_lines
from agent.sources.watched_folder import vet_watched, watch
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.agent_work import note_setup
from minions_evals_mcp.settings import read_settings
from minions_evals_mcp.skills import Skills

STDIN = 0


async def work(working: Working, *, until_quiet: bool) -> None:
    """Works until it is told to stop, or until nothing is left to do; raises before anything runs where it cannot start."""
    rhythm = working.rhythm()
    judging = working.judging()
    if working.watch is not None:
        vet_watched(working.watch.absolute())
    log_events()
    new_stores: list[Path] = []
    async with (
        working.opened_neighbours() as neighbours,
        engine_on(
            working.db,
            made=new_stores.append,
            judge_model=working.judge_model,
            people=working.people(),
            explain=working.explain,
            project=working.project,
        ) as engine,
    ):
        doings = bind(engine.skills)
        async with held_lease(engine) as holder, anyio.create_task_group() as tasks:
            await note_setup(engine, skills=_skills(engine.skills), integrations=working.integrations_listed())
            agent = Agent(engine, doings, holder, rhythm, neighbours.route, working.live_target())
            agent.sources = int(working.stdin) + int(working.watch is not None) + len(neighbours.origins)
            tasks.start_soon(_stop_when_told, agent)
            if working.stdin:
                tasks.start_soon(take_lines, agent, STDIN)
            if working.watch is not None:
                tasks.start_soon(partial(watch, agent, working.watch.absolute(), once=until_quiet))
            for origin in neighbours.origins:
                tasks.start_soon(partial(Reader(agent, origin).follow, once=until_quiet))
            if until_quiet:
                await erase_old(agent, working.retention(), once=True)
            else:
                tasks.start_soon(partial(erase_old, agent, working.retention(), once=False))
            async with _listening(agent, working, judging, until_quiet=until_quiet):
                db, is_new = str(engine.config.db), bool(new_stores)
                log.info("agent-started", db=db, new_store=is_new, holder=holder, **_delivers_to(working))
                await serve(agent, until_quiet=until_quiet)
            log.info("agent-stopped", holder=holder)
            tasks.cancel_scope.cancel()


def _skills(skills: Skills) -> list[Json]:
    """The skills that were added to the shipped ones."""
    return [
        {"name": skill.name, "triggers": [*skill.triggers], "description": skill.description} for skill in skills.own
    ]


def _delivers_to(working: Working) -> dict[str, str]:
    return {} if working.deliver_to is None else {"delivers_to": str(working.deliver_to.absolute())}


@asynccontextmanager
async def _listening(
    agent: Agent, working: Working, judging: TraceJudging, *, until_quiet: bool
) -> AsyncGenerator[None]:
    """The endpoints for telemetry that were asked for, while the agent works."""
    if working.otlp is None and working.otlp_grpc is None:
        yield
        return
    from agent.sources.otlp_listeners import Addresses, listening  # noqa: PLC0415  web servers, which few runs need

    if until_quiet:
        option = "--otlp-grpc" if working.otlp is None else "--otlp"
        raise BadInputError(
            f"{option} works only with run, because drain ends when nothing is left to do.",
            remedy="Use minions-eval-agent run.",
        )
    intake = TraceIntake(agent, judging)
    await intake.vet()
    await intake.take_up()
    async with listening(intake, Addresses(working.otlp, working.otlp_grpc), read_settings().http_token):
        yield


async def _stop_when_told(agent: Agent) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            agent.stop()
