"""The requests of an OTLP/HTTP exporter, as the document that its JSON form is: protobuf or JSON, gzipped or not, within bounds."""

from __future__ import annotations

import base64
import zlib
from importlib.util import find_spec

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.interop.logs.json_stream import more_values_than
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.protobuf_fields import more_fields_than

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LARGEST = 16_000_000
"""So many bytes may one request have, unpacked."""
MOST_VALUES = 500_000
"""So many values may it hold: as empty ones they would take a hundred times their own size in memory."""
_GZIP = 31
_IDS = ("traceId", "spanId", "parentSpanId")


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


def document(body: bytes, kind: str) -> Json:
    """The traces of a request; raises `BadInputError` where it holds none, `UnsupportedError` for another kind of content."""
    read = _of_protobuf(body) if kind == PROTOBUF else _of_json(body) if kind == JSON else None
    if read is None:
        raise UnsupportedError(f"Content-Type {kind!r} is not read.", remedy=f"Send {PROTOBUF} or {JSON}.")
    if not isinstance(read.get("resourceSpans", []), list):
        raise BadInputError("the request holds no resourceSpans.")
    return read


def _of_json(body: bytes) -> Json:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadInputError(f"the request is no UTF-8: {error.reason}.") from None
    if more_values_than(MOST_VALUES, text):
        raise _too_many()
    read: JsonValue = parse_json(text, "request")  # pyright: ignore[reportAssignmentType]  JSON all through
    if not isinstance(read, dict):
        raise BadInputError("the request is no JSON object.")
    return read


def _too_many() -> BadInputError:
    return BadInputError(f"the request holds more than {MOST_VALUES} values.", remedy="Export smaller batches.")


def _of_protobuf(body: bytes) -> Json:
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
        raise UnsupportedError(
            "protobuf needs the package opentelemetry-proto, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[logs]', or export as JSON.",
        )
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415  an extra: imported where it is used
    from google.protobuf.message import DecodeError  # noqa: PLC0415  as above
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: PLC0415  as above

    if more_fields_than(MOST_VALUES, body):
        raise _too_many()
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise BadInputError("the request is no protobuf of traces.") from None
    message: Json = MessageToDict(request)
    for resource in listed_values(message.get("resourceSpans")):
        for scope in listed_values(obj(resource).get("scopeSpans")):
            for span in listed_values(obj(scope).get("spans")):
                _write_ids(obj(span))
    return message


def _write_ids(span: Json) -> None:
    """Ids in hex, as OTLP's own JSON has them, where protobuf's general one has base64."""
    for name in _IDS:
        ident = span.get(name)
        if isinstance(ident, str):
            span[name] = base64.b64decode(ident).hex()
