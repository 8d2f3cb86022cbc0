"""Calls through an SDK's own client of a cloud, which signs each request: where prepared requests do not reach."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

from minions_evals_mcp.models.anthropic_client import messages_extra, read_message
from minions_evals_mcp.models.client import ModelConnection, RetriedClient, Retrying
from minions_evals_mcp.models.faults import AttemptFault, fault_of_connection, fault_of_status
from minions_evals_mcp.models.negotiation import Negotiation
from minions_evals_mcp.models.replies import Answered
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.sdk_web import vetted, web_of
from minions_evals_mcp.outgoing import UnacceptableReplyError

Send = Callable[[ModelRequest, tuple[str, ...]], Awaitable[Any]]
"""Sends one request; the second are the names that its longest reply may be called by."""


class CloudClient(RetriedClient):
    """A `ModelClient` over the SDK's client `sdk`: `send` asks it for the raw response, `read` says what that holds.

    A call is never streamed: the clouds frame streams in their own ways.
    """

    def __init__(
        self,
        connection: ModelConnection,
        sdk: Any,
        errors: ModuleType,
        *,
        send: Send,
        read: Callable[[bytes], Answered | AttemptFault],
        negotiation: Negotiation | None = None,
    ) -> None:
        self.provider = connection.provider
        self._sdk, self._errors, self._send, self._read = vetted(sdk, connection), errors, send, read
        self._retrying = Retrying(connection, self._attempt, *(() if negotiation is None else (negotiation,)))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sdk.close()

    async def _attempt(self, request: ModelRequest) -> Answered | AttemptFault:
        limits = self._retrying.negotiation.terms(request.model).limits
        try:
            response = await self._send(request, limits)
        except self._errors.APIStatusError as error:
            return fault_of_status(error.status_code, error.response.headers, error.response.text)
        except (self._errors.APIConnectionError, UnacceptableReplyError) as error:
            return fault_of_connection(error)
        except Exception as error:  # noqa: BLE001  what a cloud's library raises where it finds no credentials
            return AttemptFault(
                "permanent", f"{self.provider} could not be called: {type(error).__name__}: {error}", fatal=True
            )
        return self._read(response.http_response.content)


def shared(connection: ModelConnection, errors: ModuleType) -> Mapping[str, Any]:
    """The arguments that every such client takes: retries and deadlines are ours."""
    return {
        "base_url": connection.base_url or None,
        "max_retries": 0,
        "timeout": None,
        "http_client": web_of(connection, errors),
    }


def messages_client(connection: ModelConnection, sdk: Any, errors: ModuleType) -> CloudClient:
    """The client of a cloud that speaks Anthropic's Messages API."""

    async def send(request: ModelRequest, limits: tuple[str, ...]) -> Any:
        del limits
        return await sdk.messages.with_raw_response.create(
            model=request.model,
            max_tokens=request.max_tokens,
            messages=[{"role": "user", "content": request.user}],
            extra_body=messages_extra(request),
        )

    return CloudClient(connection, sdk, errors, send=send, read=read_message)
