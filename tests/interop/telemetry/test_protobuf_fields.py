"""No place in a request of any signal holds more values than are taken: what is tiny as bytes is huge once it is read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs import otlp_requests
from minions_evals_mcp.interop.logs.otlp_requests import PROTOBUF, Signal, document
from minions_evals_mcp.interop.logs.protobuf_writing import counted, sized, varint_of
from minions_evals_mcp.interop.protobuf_fields import more_fields_than
from tests.shared.interop.session_shapes import LOGS, plan

REQUESTS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest, "metrics": ExportMetricsServiceRequest,
}  # fmt: skip
MOST = 1000


def descriptor(signal: Signal) -> Descriptor:
    return cast("Descriptor", REQUESTS[signal].DESCRIPTOR)


def paths(message: Descriptor, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Each way to a field that takes bytes of its own, through no message twice."""
    for field in message.fields:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            inner = field.message_type
            assert inner is not None
            yield (*above, field)
            if inner.full_name not in {one.message_type.full_name for one in above if one.message_type}:
                yield from paths(inner, (*above, field))
        elif field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES) and field.is_repeated:
            yield (*above, field)


def many(path: tuple[FieldDescriptor, ...]) -> bytes:
    """A request with more values at that place than are taken."""
    *above, last = path
    number = last.number
    content = sized(number, b"") * (MOST + 1)
    if last.type != FieldDescriptor.TYPE_MESSAGE:
        content = sized(number, b"\x01" * 8 * (MOST + 1))  # a packed list
    for field in reversed(above):
        content = sized(field.number, content)
    return content


PLACES = [(signal, path) for signal in REQUESTS for path in paths(descriptor(signal))]


def test_there_are_places_of_every_signal() -> None:
    assert {signal for signal, _ in PLACES} == set(REQUESTS)
    assert len(PLACES) > 100


@pytest.mark.parametrize(
    ("signal", "path"), PLACES, ids=[f"{signal}.{'.'.join(one.name for one in path)}" for signal, path in PLACES]
)
def test_too_many_values_are_refused_wherever_they_stand(
    signal: Signal, path: tuple[FieldDescriptor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_requests, "MOST_VALUES", MOST)
    unknown_group = varint_of(100 << 3 | 3) + counted(1, 5) + varint_of(100 << 3 | 4)
    for body in (many(path), unknown_group + many(path)):
        REQUESTS[signal].FromString(body)  # the package reads it
        with pytest.raises(BadInputError, match="holds more than"):
            document(body, PROTOBUF, signal)


def test_what_the_package_reads_is_counted_and_never_called_damaged() -> None:
    drawn = random.Random(7)  # noqa: S311  no secret
    read = 0
    (whole,) = LOGS["claude-code"](plan(1))
    good = ParseDict(whole, ExportLogsServiceRequest()).SerializeToString()
    for number in range(4000):
        body = bytearray(good if number % 2 else drawn.randbytes(drawn.randint(1, 12)))
        for _ in range(drawn.randint(0, 2) if number % 2 else 0):
            body[drawn.randrange(len(body))] = drawn.randrange(256)
        try:
            ExportLogsServiceRequest.FromString(bytes(body))
        except DecodeError:
            continue
        read += 1
        assert not more_fields_than(10**6, bytes(body), descriptor("logs"))
    assert read > 500
