"""The spans of an OTLP document as promptfoo 0.123.1 tells code of them: times in milliseconds, what made them among their attributes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import attributes, obj, without_none
from minions_evals_mcp.interop.spans import raw_spans, span_of

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUS = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
KIND = "SPAN_KIND_"
TRACE_DIGITS, SPAN_DIGITS = 32, 16


def told_spans(document: JsonValue) -> Iterator[tuple[str, Json]]:
    """The spans, each with its trace's id; raises `ValueError` saying what of one cannot be read."""
    for raw, service, around in raw_spans(document):
        span_of(raw, service)  # refuses what is no span
        if not raw.get("startTimeUnixNano"):
            raise ValueError(f"span {raw.get('spanId')} has no startTimeUnixNano")
        yield _ident(raw.get("traceId"), TRACE_DIGITS), _span(raw, around)


def _span(raw: Json, around: Json) -> Json:
    status, scope, code = obj(raw.get("status")), obj(around.get("scope")), _kind_code(raw.get("kind"))
    by_kind = isinstance(code, int) and 0 <= code < len(KINDS)
    span_attributes: Json = {
        **obj(around.get("resource")), **attributes(raw.get("attributes")),
        "otel.scope.name": scope.get("name"), "otel.scope.version": scope.get("version"),
        "otel.span.kind": KINDS[code] if by_kind and isinstance(code, int) else KINDS[0], "otel.span.kind_code": code,
    }  # fmt: skip
    parent, code_said = raw.get("parentSpanId"), status.get("code")
    span: Json = {
        "spanId": _ident(raw.get("spanId"), SPAN_DIGITS), "parentSpanId": _ident(parent, SPAN_DIGITS) if parent else None,
        "name": raw.get("name"), "startTime": _millis(raw["startTimeUnixNano"]),
        "endTime": _millis(raw["endTimeUnixNano"]) if raw.get("endTimeUnixNano") else None,
        "attributes": without_none(span_attributes),
        "statusCode": STATUS.get(code_said, code_said) if isinstance(code_said, str) else code_said,
        "statusMessage": status.get("message"),
    }  # fmt: skip
    return without_none(span)


def _kind_code(kind: JsonValue) -> JsonValue:
    """The number of a kind, which protobuf's JSON says in words."""
    word = kind.removeprefix(KIND).lower() if isinstance(kind, str) else ""
    return KINDS.index(word) if word in KINDS else kind


def _millis(nanos: JsonValue) -> float:
    """Milliseconds, a whole number where they are."""
    millis = int(str(nanos)) / 1e6
    return int(millis) if millis.is_integer() else millis


def _ident(ident: JsonValue, digits: int) -> str:
    """The id in hex, also where it is written in base64."""
    text = str(ident)
    if len(text) != digits:
        try:
            decoded = base64.b64decode(text, validate=True)
        except binascii.Error:
            return text.lower()
        text = decoded.hex() if len(decoded) * 2 == digits else text
    return text.lower()
