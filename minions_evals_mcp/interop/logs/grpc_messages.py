"""gRPC's own parts of a call, as its specification writes them: the message in its frame, and the headers of a reply."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import quote

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.otlp_intake import AGAIN_S, IntakeAnswer, Sent
from minions_evals_mcp.interop.logs.otlp_requests import LARGEST
from minions_evals_mcp.interop.logs.protobuf_writing import counted, sized

FRAME = 5
"""Before a message stand a byte that says whether it is packed, and its length in four."""
CONTENT_TYPE = "application/grpc"
ENCODINGS = "identity,gzip"
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
Headers = list[tuple[str, str]]


@dataclass(slots=True)
class MessageFrame:
    """The one message of a call, as it comes in."""

    body: bytearray

    def add(self, data: bytes) -> None:
        """Takes a part; raises `BadInputError` once it is more than is taken, be it by its own word."""
        self.body += data
        if len(self.body) > LARGEST + FRAME or self._told() > LARGEST:
            raise BadInputError(f"the request is larger than {LARGEST} bytes.", remedy="Export smaller batches.")

    def sent(self, encoding: str) -> Sent:
        """The message; raises `BadInputError` where it is cut off."""
        if len(self.body) < FRAME or self.body[0] > 1 or len(self.body) != FRAME + self._told():
            raise BadInputError("the request is not one whole gRPC message.")
        return Sent(bytes(self.body[FRAME:]), encoding if self.body[0] else "")

    def _told(self) -> int:
        """The length that the frame says, once it is there."""
        return int.from_bytes(self.body[1:FRAME], "big") if len(self.body) >= FRAME else 0


def framed(message: bytes) -> bytes:
    """The message in its frame, not packed."""
    return b"\x00" + len(message).to_bytes(4, "big") + message


def opening() -> Headers:
    """The headers of a reply that has a message."""
    return [(":status", "200"), ("content-type", CONTENT_TYPE), ("grpc-accept-encoding", ENCODINGS)]


def closing(answer: IntakeAnswer) -> Headers:
    """The trailers: the status, and where it is not well the reason, and when to come again."""
    code = answer.outcome.grpc
    if code == 0:
        return [("grpc-status", "0")]
    trailers = [("grpc-status", str(code)), ("grpc-message", quote(answer.why, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~"))]
    if answer.outcome.is_again:
        trailers += [
            ("grpc-status-details-bin", _binary(_details(answer))),
            ("google.rpc.retryinfo-bin", _binary(_retry_info())),
        ]
    return trailers


def _retry_info() -> bytes:
    """A google.rpc.RetryInfo: field 1 is a duration, of which field 1 is the seconds. Python's exporter looks for it bare."""
    return sized(1, counted(1, AGAIN_S))


def _details(answer: IntakeAnswer) -> bytes:
    """A google.rpc.Status, as OTLP's specification asks for it: 1 is the code, 2 the message, 3 a detail of any type."""
    any_type = sized(1, _RETRY_INFO.encode()) + sized(2, _retry_info())
    return counted(1, answer.outcome.grpc) + sized(2, answer.why.encode()) + sized(3, any_type)


def _binary(value: bytes) -> str:
    return base64.b64encode(value).rstrip(b"=").decode()
