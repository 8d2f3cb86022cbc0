"""From options and the environment to an open engine: the agent's composition root."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import structlog
from cyclopts import Parameter
from rich.console import Console
from structlog.types import Processor

from agent.daemon import Rhythm, Route, pulled
from agent.integrations.neighbours import Neighbours, delivery_folder, open_neighbours
from agent.integrations.neighbours_file import read_neighbours
from agent.sources.otlp_judging import TraceJudging
from minions_evals_mcp.cli.session import Common
from minions_evals_mcp.configured import Chosen, db_path, engine_config
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.speaker import REMOTE_AGENT
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.project import project_at
from minions_evals_mcp.server.edge.logs import as_line
from minions_evals_mcp.settings import named_variables, read_settings

MOST_WORKERS = 100


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Working:
    """The options of `run` and `drain`."""

    db: Annotated[Path | None, Parameter(help="The store file (MINIONS_EVALS_DB, otherwise in your data folder).")] = (
        None
    )
    stdin: Annotated[bool, Parameter(help="Read messages as JSON lines from standard input.", negative="")] = False
    watch: Annotated[Path | None, Parameter(help="Read every JSON file in this folder as a message.")] = None
    deliver_to: Annotated[
        Path | None,
        Parameter(
            help="Write notifications as JSON lines, one file per addressee. Without this, addressees pull the outbox."
        ),
    ] = None
    integrations: Annotated[
        Path | None,
        Parameter(
            name=("--integrations", "--neighbours"),
            help="A TOML or YAML file with the systems to notify and to read (docs/how-to/run-the-agent.md).",
        ),
    ] = None
    target: Annotated[
        str | None, Parameter(help="The live target of runs, as `minions-evals run-benchmark` takes it.")
    ] = None
    project: Annotated[
        Path | None,
        Parameter(help="minions-evals.toml: store, judge, embedder, limits, and its target if that is a model."),
    ] = None
    judge_model: Annotated[str | None, Parameter(help="Judge model, as provider:model.")] = None
    explain: Annotated[
        Literal["off", "llm"] | None,
        Parameter(
            help="llm: ask the model why a case failed if rules are unsure (MINIONS_EVALS_EXPLAIN, default off)."
        ),
    ] = None
    workers: Annotated[int, Parameter(help="Maximum number of topics handled in parallel.")] = 8
    otlp: Annotated[
        str | None,
        Parameter(
            help="HOST:PORT to receive traces by OTLP/HTTP (127.0.0.1:4318). Other addresses need MINIONS_EVALS_HTTP_TOKEN."
        ),
    ] = None
    otlp_grpc: Annotated[
        str | None,
        Parameter(
            help="HOST:PORT to receive traces by OTLP/gRPC (127.0.0.1:4317), beside or instead of --otlp. Needs the extra otlp-grpc."
        ),
    ] = None
    otlp_rate: Annotated[float, Parameter(help="Share of traces to accept, chosen by id.")] = 1.0
    otlp_daily: Annotated[int, Parameter(help="Maximum number of traces per day (UTC).")] = 1000
    otlp_rubric: Annotated[
        str | None, Parameter(help="Rubric for every trace (default: the cases with the same inputs).")
    ] = None
    otlp_alert: Annotated[
        float | None, Parameter(help="Notify when the pass rate of the newest 50 traces drops below this (0–1).")
    ] = None
    retry_seconds: Annotated[
        float, Parameter(help="First wait after a failure. Each further wait is four times as long.")
    ] = 2.0

    def rhythm(self) -> Rhythm:
        """The loop's measures; raises `BadInputError` for ones that cannot be."""
        if not 1 <= self.workers <= MOST_WORKERS or not 0 < self.retry_seconds <= 3600:
            raise BadInputError(
                "--workers or --retry-seconds is out of range.", remedy="1–100 workers, up to 3600 seconds."
            )
        return Rhythm(self.workers, self.retry_seconds)

    def judging(self) -> TraceJudging:
        """Returns which traces are judged, and by what; raises `BadInputError` for measures that cannot be, or that measure nothing."""
        judging = TraceJudging(self.otlp_rate, self.otlp_daily, self.otlp_rubric, self.otlp_alert)
        options = [] if self.otlp is not None or self.otlp_grpc is not None else judging.set_options()
        if options:
            raise BadInputError(
                f"{' and '.join(options)} {'needs' if len(options) == 1 else 'need'} --otlp or --otlp-grpc, which receive traces.",
                remedy="Add --otlp 127.0.0.1:4318, or leave it out.",
            )
        return judging

    def route(self) -> Route:
        """Returns who takes what is queued for whom."""
        if self.deliver_to is None:
            return pulled
        folder = delivery_folder(self.deliver_to.absolute())
        return lambda _: folder

    def live_target(self) -> str | None:
        """The target: the one named, else the project's, where that is a model."""
        project = project_at(self.project)
        return self.target or (project and project.model_target())

    def retention(self) -> dict[str, int]:
        """The days that content is kept, by kind, as the project says."""
        project = project_at(self.project)
        return {} if project is None else project.fields.retention.days()

    def people(self) -> tuple[str, ...]:
        """The addressees whose answers are a person's word, as the file of integrations names them."""
        return () if self.integrations is None else read_neighbours(self.integrations.absolute()).people

    def integrations_listed(self) -> list[Json]:
        """Who is notified or read, and how, in the words of `status`."""
        listed: list[Json] = [] if self.integrations is None else read_neighbours(self.integrations.absolute()).listed()
        if self.deliver_to is not None:
            listed.append({"name": "*", "does": "notified by", "how": f"the folder {self.deliver_to.absolute()}"})
        endpoints = {"OTLP/HTTP": self.otlp, "OTLP/gRPC": self.otlp_grpc}
        for protocol, address in endpoints.items():
            if address is not None:
                listed.append({"name": "telemetry", "does": "received by", "how": f"{protocol} at {address}"})
        return listed

    @asynccontextmanager
    async def opened_neighbours(self) -> AsyncGenerator[Neighbours]:
        """Yields who is told and read; raises `BadInputError` where the file that names them does not fit."""
        if self.integrations is None:
            yield Neighbours(self.route())
            return
        path = self.integrations.absolute()
        file = read_neighbours(path)
        file.vet_programs(path)
        secrets = named_variables(file.variables())
        async with open_neighbours(file, secrets=secrets, folder=path.parent, otherwise=self.route()) as neighbours:
            yield neighbours


def common(db: Path | None, *, as_json: bool = False) -> Common:
    """The options that the agent shares with `minions-evals`."""
    return Common(db=db, json=as_json)


@asynccontextmanager
async def engine_on(
    db: Path | None,
    *,
    made: Callable[[Path], None],
    judge_model: str | None = None,
    people: Sequence[str] = (),
    explain: str | None = None,
    project: Path | None = None,
) -> AsyncGenerator[Engine]:
    """An open engine, set up as for `minions-evals`: what the one has measured the other can continue.

    `people`: the addressees whose answers are a person's word; `made` is told the file of a store that was not there.
    """
    config = engine_config(
        read_settings(project=project_at(project)), Chosen(db=db, judge_model=judge_model, explain=explain)
    )
    is_new = not config.db.exists()
    async with open_engine(replace(config, people=tuple(people))) as engine:
        if is_new:
            made(config.db)
        yield engine.speaking(REMOTE_AGENT)


def store_path(db: Path | None) -> Path:
    """The store's file: the option, else the environment or the project file, else the project's own, else the user's."""
    return db_path(db, read_settings())


def log_events() -> None:
    """An event a line, on stderr: for a person where that is a terminal, else as a JSON object."""
    for_people = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if for_people else "iso", utc=not for_people),
            *(_for_people() if for_people else _for_programs()),
        ],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


def _for_programs() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(serializer=as_line, ensure_ascii=False),
    ]


def _for_people() -> list[Processor]:
    drawn = structlog.dev.ConsoleRenderer(
        colors=not Console(stderr=True).no_color,
        exception_formatter=structlog.dev.plain_traceback,  # values of variables are nobody's to read
        sort_keys=False,
        pad_event_to=0,
        pad_level=False,
    )
    return [lambda logger, name, event: masked(str(drawn(logger, name, event)))]
