"""`tracing` of a config: its calls are traced, and spans that applications send are taken in on this machine.

Where promptfoo 0.123.1 and we differ: a port that is taken stops the evaluation before anything runs (there it goes on
without spans); what listens is reached from this machine only; of a model's calls the spans are not known.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio.to_thread

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.evaluation import Column, EvaluationTraces
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.interop.promptfoo_config.tests import Test
from minions_evals_mcp.interop.told_spans import told_spans
from minions_evals_mcp.targets.call_traces import HeldSpans

HOST, PORT = "127.0.0.1", 4318
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LAST_PORT = 65_535
FORMATS = ("json", "protobuf")
HARMLESS = {
    "storage": "spans are kept with their output",
    "failOnReceiverStartFailure": "a port that is taken stops the evaluation before anything runs",
    "queryDelay": "no other store of traces is asked",
}
OF_TEST = "tracingEnabled"


@dataclass(frozen=True, slots=True)
class Receiver:
    """Listens for spans at that address, in those formats."""

    host: str
    port: int
    formats: tuple[str, ...]
    held: HeldSpans

    async def take(self, document: Json) -> None:
        """Holds a request's spans."""
        for trace_id, span in told_spans(document):
            self.held.add(trace_id, span)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None]:
        """Listens as long as the evaluation lasts, in a thread of its own: a provider's code may hold up the loop that calls it."""
        from minions_evals_mcp.interop.logs.otlp_endpoint import OtlpServer, otlp_app  # noqa: PLC0415  a web server, which few evaluations need
        from minions_evals_mcp.interop.logs.otlp_intake import OtlpIntake  # noqa: PLC0415  as above
        from minions_evals_mcp.network_address import listening_socket  # noqa: PLC0415  as above

        try:
            listener = listening_socket(self.host, self.port)
        except OSError as error:
            raise BadInputError(
                f"tracing: cannot listen on {self.host}:{self.port}: {error.strerror or error}.",
                remedy="Choose another tracing.otlp.http.port.",
            ) from None
        with listener:
            ready = threading.Event()
            server = OtlpServer(otlp_app(OtlpIntake({"traces": self.take}), formats=self.formats), ready.set)
            thread = threading.Thread(target=server.run, args=([listener],), name="otlp", daemon=True)
            thread.start()
            await anyio.to_thread.run_sync(ready.wait)
            try:
                yield
            finally:
                server.should_exit = True
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(thread.join)


def read_tracing(node: Node | None, tests: Sequence[Test], refusals: Refusals) -> EvaluationTraces | None:
    """The tracing that the config asks for; None where it is off, and refused where only some tests ask for it."""
    traces = None if node is None else _traces(node, refusals)
    for test in tests if traces is None else ():
        if OF_TEST in test.metadata and test.metadata[OF_TEST].value is True:
            refusals.add(test.metadata[OF_TEST], "tracing of single tests: say tracing: {enabled: true}")
    return traces


def _traces(node: Node, refusals: Refusals) -> EvaluationTraces | None:
    members = refusals.known(node, ("enabled", "otlp", "forwarding"), harmless=HARMLESS)
    if "enabled" not in members or not members["enabled"].yes():
        return None
    _vet_off(members, "forwarding", "spans are sent nowhere else", refusals)
    held = HeldSpans()
    receiver = _receiver(members["otlp"], held, refusals) if "otlp" in members else None
    return EvaluationTraces(held, None if receiver is None else receiver.listening)


def _receiver(node: Node, held: HeldSpans, refusals: Refusals) -> Receiver | None:
    otlp = refusals.known(node, ("http", "grpc"))
    _vet_off(otlp, "grpc", "spans are taken over HTTP", refusals)
    if "http" not in otlp:
        return None
    http = refusals.known(otlp["http"], ("enabled", "port", "host", "acceptFormats"))
    if "enabled" not in http or not http["enabled"].yes():
        return None
    host = http["host"].text() if "host" in http else HOST
    if host not in LOOPBACK:
        refusals.add(http["host"], f"{host}: spans are taken from this machine only ({HOST})")
    formats = tuple(node.text() for node in http["acceptFormats"].elements()) if "acceptFormats" in http else ()
    known = tuple(name for name in formats if name in FORMATS)
    return Receiver(host, _port(http), known or FORMATS, held)


def _port(http: Mapping[str, Node]) -> int:
    """The port; one that the environment gives is a text."""
    node = http.get("port")
    if node is None or not node.value:
        return PORT
    if isinstance(node.value, str) and node.value.isdecimal():
        node = replace(node, value=int(node.value))
    port = node.whole(least=1)
    if port > LAST_PORT:
        raise node.wrong(f"must be a port, at most {LAST_PORT}")
    return port


def _vet_off(members: Mapping[str, Node], name: str, why: str, refusals: Refusals) -> None:
    """Refuses a part that is there and not off."""
    node = members.get(name)
    if node is not None and not (isinstance(node.value, dict) and node.value.get("enabled") is False):
        refusals.add(node, why)


def traced(columns: Iterable[Column], traces: EvaluationTraces | None) -> tuple[Column, ...]:
    """The columns, whose outputs come with their traces where they are traced."""
    if traces is None:
        return tuple(columns)

    def with_trace(column: Column) -> Column:
        parts = (
            replace(
                part,
                provider=part.provider.model_copy(
                    update={"traced_as": f"{column.provider.label}\n{column.prompt_label}"}
                ),
            )
            for part in column.parts
        )
        return replace(column, parts=tuple(parts))

    return tuple(map(with_trace, columns))
