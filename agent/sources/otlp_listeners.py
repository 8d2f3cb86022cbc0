"""The agent's endpoints for telemetry while it works: OTLP over HTTP, over gRPC, or both."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import anyio

from agent.daemon import log
from agent.sources.otlp_http import bound, otlp_app, otlp_intake
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.logs.otlp_endpoint import OtlpServer, otlp_places
from minions_evals_mcp.interop.logs.otlp_requests import reads_protobuf


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where exporters are listened to, as HOST:PORT."""

    http: str | None
    grpc: str | None


def vet_grpc() -> None:
    """Raises `UnsupportedError` where a package is missing that gRPC needs."""
    installed = {"h2": find_spec("h2") is not None, "opentelemetry-proto": reads_protobuf()}
    missing = [package for package, is_there in installed.items() if not is_there]
    if missing:
        raise UnsupportedError(
            f"--otlp-grpc needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[otlp-grpc]', or use --otlp, which takes OTLP over HTTP.",
        )


@asynccontextmanager
async def listening(intake: TraceIntake, addresses: Addresses, token: str | None) -> AsyncGenerator[None]:
    """Takes telemetry in at these addresses as long as this lasts. All of them share the places for connections."""
    if addresses.grpc is not None:
        vet_grpc()
    places = otlp_places()
    async with AsyncExitStack() as opened, anyio.create_task_group() as tasks:
        web = None if addresses.http is None else opened.enter_context(bound(addresses.http, token))
        calls = (
            None if addresses.grpc is None else opened.enter_context(bound(addresses.grpc, token, option="--otlp-grpc"))
        )
        server = None
        if web is not None:
            url = f"http://{_authority(web.getsockname())}/v1/traces"
            server = OtlpServer(otlp_app(intake, token), lambda: log.info("otlp-listening", url=url), places)
            tasks.start_soon(server.serve, [web])
        tasks.start_soon(intake.follow)
        async with AsyncExitStack() as served:
            if calls is not None:
                from minions_evals_mcp.interop.logs.otlp_grpc import grpc_listening  # noqa: PLC0415  an extra

                await served.enter_async_context(grpc_listening(otlp_intake(intake, token), calls, places))
                log.info("otlp-grpc-listening", address=_authority(calls.getsockname()))
            try:
                yield
            finally:
                if server is not None:
                    server.should_exit = True
        tasks.cancel_scope.cancel()


def _authority(name: tuple[str, int]) -> str:
    """Host and port as they stand in a URL."""
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
