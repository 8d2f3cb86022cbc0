"""The requests of an OTLP/HTTP exporter, as the document that its JSON form is, and the replies: protobuf or JSON, within bounds."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.interop.logs.json_stream import more_values_than
from minions_evals_mcp.interop.logs.protobuf_writing import counted, sized
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.protobuf_fields import more_fields_than

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LARGEST = 16_000_000
"""So many bytes may one request have, unpacked."""
SMALL = 65_536
"""A request of so many bytes, unpacked, is read at once; a larger one may take a second, in which others are answered."""
MOST_VALUES = 500_000
"""So many values may it hold: as empty ones they would take a hundred times their own size in memory."""
Signal = Literal["traces", "logs", "metrics"]
LISTS: dict[Signal, str] = {"traces": "resourceSpans", "logs": "resourceLogs", "metrics": "resourceMetrics"}
"""Where a document holds what it brings."""
_REJECTED: dict[Signal, str] = {
    "traces": "rejectedSpans",
    "logs": "rejectedLogRecords",
    "metrics": "rejectedDataPoints",
}
_GZIP = 31
_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass(frozen=True, slots=True)
class Rejected:
    """How many spans, log records or data points of a request were not taken, and why."""

    number: int
    why: str


def small_enough(body: bytes, encoding: str) -> bytes | None:
    """The request's bytes where they are few; None where they are not, or cannot be unpacked."""
    if encoding in ("", "identity"):
        return body if len(body) <= SMALL else None
    unpacking = zlib.decompressobj(_GZIP)
    try:
        content = unpacking.decompress(body, SMALL) if encoding == "gzip" else b""
    except zlib.error:
        return None
    return content if unpacking.eof else None


def unpacked(body: bytes, encoding: str) -> bytes:
    """The request's bytes; raises `BadInputError` where they are damaged or more than is taken, before all is unpacked."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BadInputError(f"Content-Encoding {encoding!r} is not read.", remedy="Send gzip, or nothing.")
    unpacking = zlib.decompressobj(_GZIP)
    try:
        content = unpacking.decompress(body, LARGEST + 1)
    except zlib.error as error:
        raise BadInputError(f"the request is no gzip: {error}.") from None
    if len(content) > LARGEST or unpacking.unconsumed_tail:
        raise BadInputError(f"the request unpacks to more than {LARGEST} bytes.", remedy="Export smaller batches.")
    if not unpacking.eof:
        raise BadInputError("the request's gzip is cut off.")
    return content


def reads_protobuf() -> bool:
    """Whether the package is installed that knows OTLP's messages."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.proto") is not None


def document(body: bytes, kind: str, signal: Signal = "traces") -> Json:
    """The document of a request; raises `BadInputError` where it holds none, `UnsupportedError` for another kind of content."""
    read = _of_protobuf(body, signal) if kind == PROTOBUF else _of_json(body) if kind == JSON else None
    if read is None:
        raise UnsupportedError(f"Content-Type {kind!r} is not read.", remedy=f"Send {PROTOBUF} or {JSON}.")
    if not isinstance(read.get(LISTS[signal], []), list):
        raise BadInputError(f"the request holds no {LISTS[signal]}.")
    return read


def partial_success(signal: Signal, rejected: int, why: str, kind: str) -> bytes:
    """The body of a reply that says how many items were not taken, and why; empty where all were."""
    if kind == JSON:
        about: Json = {} if not why else {"partialSuccess": {_REJECTED[signal]: str(rejected), "errorMessage": why}}
        return json.dumps(about).encode()
    if not why:
        return b""
    # ExportTracePartialSuccess and its like: field 1 of the response, in which 1 is the number and 2 the message
    return sized(1, counted(1, rejected) + sized(2, why.encode()))


def _of_json(body: bytes) -> Json:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadInputError(f"the request is no UTF-8: {error.reason}.") from None
    if more_values_than(MOST_VALUES, text):
        raise _too_many()
    read: JsonValue = parse_json(text, "request", is_log=True)  # pyright: ignore[reportAssignmentType]  JSON all through
    if not isinstance(read, dict):
        raise BadInputError("the request is no JSON object.")
    return read


def _too_many() -> BadInputError:
    return BadInputError(f"the request holds more than {MOST_VALUES} values.", remedy="Export smaller batches.")


def _of_protobuf(body: bytes, signal: Signal) -> Json:
    if not reads_protobuf():
        raise UnsupportedError(
            "protobuf needs the package opentelemetry-proto, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[logs]', or export as JSON.",
        )
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415  an extra: imported where it is used
    from google.protobuf.message import DecodeError  # noqa: PLC0415  as above

    request = _message_of(signal)
    try:
        if more_fields_than(MOST_VALUES, body, cast("Descriptor", request.DESCRIPTOR)):
            raise _too_many()
        request.ParseFromString(body)
    except (DecodeError, ValueError):
        raise BadInputError(f"the request is no protobuf of {signal}.") from None
    message: Json = MessageToDict(request)
    for resource in listed_values(message.get(LISTS[signal])):
        for scope in listed_values(obj(resource).get(_ITEMS[signal][0])):
            for item in listed_values(obj(scope).get(_ITEMS[signal][1])):
                _write_ids(obj(item))
    return message


_ITEMS: dict[Signal, tuple[str, str]] = {
    "traces": ("scopeSpans", "spans"), "logs": ("scopeLogs", "logRecords"), "metrics": ("scopeMetrics", "metrics"),
}  # fmt: skip


def _message_of(signal: Signal) -> Message:
    """An empty request of that signal."""
    if signal == "traces":
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: PLC0415  an extra

        return ExportTraceServiceRequest()
    if signal == "logs":
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest  # noqa: PLC0415  as above

        return ExportLogsServiceRequest()
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: PLC0415  as above

    return ExportMetricsServiceRequest()


def _write_ids(span: Json) -> None:
    """Ids in hex, as OTLP's own JSON has them, where protobuf's general one has base64."""
    for name in _IDS:
        ident = span.get(name)
        if isinstance(ident, str):
            span[name] = base64.b64decode(ident).hex()
