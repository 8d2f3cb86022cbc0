"""Fuzzes what listens: the testing API's documents and bodies, the page's addresses, and the endpoint of exporters."""

from __future__ import annotations

import gzip
import json
import random
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2

from agent.settings import Working
from agent.sources.otlp_http import otlp_app
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.view.app import routes
from tests.bench.fuzz.finds import Finds, held_against
from tests.bench.fuzz.mutations import EVIL_TEXTS, spoilt
from tests.shared.agent.traces import document, span, spoken
from tests.shared.interop.session_shapes import claude_logs, plan
from tests.shared.server.web import on_the_web
from tests.shared.view.visitor import visitor
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save

SLOW_S = 5.0
PATIENCE_S = 60.0
FEWEST = 25
PARAMETERS = (
    "id", "run", "at", "of", "q", "before", "after", "status", "columns", "cause", "days", "hours", "agent", "beside", "as", "version",
    "cases",
    "digest", "runId", "message", "score", "rationale", "sort", "page", "limit", "offset", "by", "token", "judge", "criterionId",
)  # fmt: skip
_NAMED = re.compile(r"type (\w+)[^{]*\{([^}]*)\}")
_FIELD = re.compile(r"^  (\w+)(\([^)]*\))?:", re.MULTILINE)
_REQUIRED = re.compile(r"(\w+): (?:ID|String)!")


_VARIABLES: tuple[Any, ...] = (
    *({"i": text} for text in EVIL_TEXTS),
    {"i": [[None]]},
    [],
    None,
    {"": {}},
    {"i": 10**40},
)


def _while(until: float) -> Iterator[None]:
    """One more try until then, and a few however long the preparations took."""
    tried = 0
    while tried < FEWEST or time.monotonic() < until:
        tried += 1
        yield


@asynccontextmanager
async def _suite(folder: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(folder)) as engine:
        await save(
            engine,
            [case(f"c{n}", expectedOutputs={"output": "yes"}) for n in range(3)],
            benchmark("b", "c0", "c1", "c2"),
        )
        await save(engine, [answer(f"a{n}", f"c{n}", "yes" if n else "no", promptVersionRef="p@1") for n in range(3)])
        await bench(engine, "b", key="k")
        yield engine


def _documents() -> Iterator[str]:
    """Whole documents, made of the fields that the schema declares."""
    for root, body in _NAMED.findall(graphql_schema().as_str()):
        for name, given in _FIELD.findall(body) if root in {"Query", "Mutation"} else ():
            filled = ", ".join(f'{one}: "c0"' for one in _REQUIRED.findall(given))
            yield f"{root.lower()} {{ {name}{f'({filled})' if filled else ''} {{ id name __typename }} }}"


async def graphql(finds: Finds, draw: random.Random, until: float, folder: Path) -> None:
    """Documents, variables and bodies over a real socket until then."""
    documents = (
        *_documents(),
        "{ __schema { types { name fields { name type { ofType { name } } } } } }",
        "query($i: ID!) { testCase(id: $i) { id } }",
    )
    async with _suite(folder) as engine:

        @asynccontextmanager
        async def opening() -> AsyncGenerator[Engine]:
            yield engine

        session = ServerSession(opening)
        async with on_the_web(build_server(session, ServerOptions()), session, with_graphql=True) as door:
            url = door.url.replace("/mcp", "/graphql")
            async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
                for _ in _while(until):
                    said: dict[str, Any] = {"query": _document(documents, draw)}
                    if draw.random() < 0.4:
                        said["variables"] = draw.choice(_VARIABLES)
                    if draw.random() < 0.1:
                        said["operationName"] = draw.choice(EVIL_TEXTS)
                    raw = json.dumps(said).encode()
                    raw = spoilt(raw, draw) if draw.random() < 0.4 else raw
                    await _asked(finds, "graphql", client, raw, url=url, kind="application/json")


def _document(documents: tuple[str, ...], draw: random.Random) -> str:
    text = draw.choice(documents)
    if draw.random() < 0.5:
        text = text.replace('"c0"', json.dumps(draw.choice(EVIL_TEXTS)))
    if draw.random() < 0.5:
        text = spoilt(text.encode(), draw).decode("utf-8", "replace")
    return text


async def pages(finds: Finds, draw: random.Random, until: float, folder: Path) -> None:
    """Every address of the page with parameters that fit more or less."""
    known = [route for route in routes() if not route.path.endswith((".js", ".css", ".woff2"))]
    fitting = (
        "b",
        "c0",
        "a0",
        "k",
        "p",
        "p@1",
        "job1",
        "job1:1.1",
        "latest",
        "1.1",
        "failed",
        "all",
        "json",
        "expected",
    )
    async with _suite(folder) as engine, visitor(engine, judge="maria") as client:
        for _ in _while(until):
            route = draw.choice(known)
            names = draw.sample(PARAMETERS, draw.randrange(5))
            given = {
                name: draw.choice(fitting if draw.random() < 0.5 else EVIL_TEXTS)[:2000] for name in names
            }  # no client sends more
            for method in sorted({"GET", "POST"} & (route.methods or set())):
                began = time.perf_counter()
                what = f"{method} {route.path} {str(given)[:400]}"
                try:
                    got = await client.request(
                        method, route.path, params=given, data=given if method == "POST" else None
                    )
                except Exception as error:  # noqa: BLE001  whatever it is, it is a find
                    finds.fault("pages", f"{type(error).__name__}: {str(error)[:200]}", what)
                    continue
                _judged(finds, "pages", got, time.perf_counter() - began, what)


async def otlp(finds: Finds, draw: random.Random, until: float, folder: Path) -> None:
    """Exports of traces and logs, whole and spoilt, packed and not."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": spoken("user", "Where?"),
        "gen_ai.output.messages": spoken("assistant", "Here."),
    }  # fmt: skip
    trace = json.dumps(document(span(f"{1:016x}", "chat m", attributes, trace=f"{7919:032x}"))).encode()
    logs = json.dumps(claude_logs(plan(1))[0]).encode()
    async with opened(config_in(folder)) as engine:
        agent = cast("Any", SimpleNamespace(engine=engine, rhythm=Working().rhythm()))
        intake = TraceIntake(agent, TraceJudging())
        transport = httpx2.ASGITransport(app=otlp_app(intake, None))
        async with httpx2.AsyncClient(transport=transport, base_url="http://x", timeout=PATIENCE_S) as client:
            for _ in _while(until):
                whole, path = draw.choice(
                    (
                        (trace, "/v1/traces"),
                        (logs, "/v1/logs"),
                        (trace, "/v1/metrics"),
                        (trace, "/"),
                        (b"", "/v1/traces"),
                    )
                )
                raw = spoilt(whole, draw)
                kind = draw.choice(("application/json", "application/json", "application/x-protobuf", "text/plain"))
                packed = gzip.compress(raw) if draw.random() < 0.2 else raw
                packed = spoilt(packed, draw) if draw.random() < 0.1 else packed
                encoding = {"Content-Encoding": "gzip"} if packed[:2] == b"\x1f\x8b" else {}
                await _asked(finds, "otlp", client, packed, url=path, kind=kind, **encoding)
                try:
                    intake.whole()
                except Exception as error:  # noqa: BLE001  as above
                    finds.fault("otlp", f"{type(error).__name__}: {error}", f"{path} {raw[:400]!r}", raw)
                    intake = TraceIntake(agent, TraceJudging())


async def _asked(
    finds: Finds, label: str, client: httpx2.AsyncClient, raw: bytes, *, url: str, kind: str, **headers: str
) -> None:
    began = time.perf_counter()
    what = f"{url} {raw[:400]!r}"
    try:
        got = await client.post(url, content=raw, headers={"Content-Type": kind, **headers})
    except Exception as error:  # noqa: BLE001  whatever it is, it is a find
        finds.fault(label, f"{type(error).__name__}: {str(error)[:200]}", what, raw)
        return
    _judged(finds, label, got, time.perf_counter() - began, what, raw)


def _judged(finds: Finds, label: str, got: httpx2.Response, took: float, what: str, raw: bytes = b"") -> None:
    finds.tried(label, took, what)
    why = held_against(got.text)
    if got.status_code >= 500:
        why.append(f"status {got.status_code}")
    if took > SLOW_S:
        why.append(f"{took:.1f} s")
    if why:
        finds.fault(label, ", ".join(why), f"{what} → {got.text[:300]}", raw)
