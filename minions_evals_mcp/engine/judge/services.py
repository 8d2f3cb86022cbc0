"""Answers of services and webhooks that assertions rest on, all of a page at once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.replies import Completion, FailedReply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.service_table import service_of
from minions_evals_mcp.outgoing import origin
from minions_evals_mcp.scoring.checks import ServiceNeed, Unmet
from minions_evals_mcp.targets.http import ApplicationConnections, HttpQuestion, fetched

if TYPE_CHECKING:
    from minions_evals_mcp.domain.assertions import Grader

Ask = Callable[[ServiceNeed], Awaitable[JsonValue | Unmet]]
Answers = dict[ServiceNeed, JsonValue | Unmet]


@frozen_type
class OpenService:
    """A service that can be asked. `grader` is how an assertion names it; None: it moderates by default."""

    client: ModelClient
    name: str
    grader: Grader | None

    async def ask(self, need: ServiceNeed, *, deadline_s: float) -> JsonValue | Unmet:
        """Returns what the service says of the text, or why it says nothing."""
        row = service_of(self.name)
        assert row is not None, "vetted when it was opened"
        request = ModelRequest(
            model=self.name.removeprefix(row.prefix), user=need.text, system=need.given, max_tokens=0,
            params=self.grader.params if self.grader else {},
        )  # fmt: skip
        reply = await self.client.complete(request, deadline_s=deadline_s)
        if isinstance(reply, FailedReply):
            return Unmet(f"{self.name} failed: {reply.kind}: {reply.reason}", reply.fatal, reply.kind != "permanent")
        assert isinstance(reply, Completion), "what a service says is neither cut off nor refused"
        answer: JsonValue = json.loads(reply.text)
        return answer


def vet_webhook(url: str, allowed: Sequence[str]) -> None:
    """Raises `BadInputError` where the operator has not named the address: an output is sent to no other."""
    if not any(_within(url, prefix) for prefix in allowed):
        raise BadInputError(
            f"the webhook {_without_secrets(url)} is not allowed.",
            remedy=f"Outputs, prompts and variables are sent there. Allow it with MINIONS_EVALS_WEBHOOKS={origin(url)}",
        )


def _without_secrets(url: str) -> str:
    """The address without what may be secret in it."""
    return f"{origin(url).rpartition('@')[2] if '@' in url else origin(url)}{urlsplit(url).path}"


def _within(url: str, allowed: str) -> bool:
    """Returns whether the address is that one, or lies under it."""
    given, wanted = urlsplit(url), urlsplit(allowed)
    if "@" in given.netloc or (given.scheme, given.netloc) != (wanted.scheme, wanted.netloc):
        return False
    folder = wanted.path.rstrip("/")
    plain = ".." not in given.path and "%2e" not in given.path.lower()
    return plain and (given.path == folder or given.path.startswith(f"{folder}/"))


async def ask_webhook(
    web: ApplicationConnections, need: ServiceNeed, allowed: Sequence[str], *, deadline_s: float
) -> JsonValue | Unmet:
    """The JSON that the webhook answers, or why there is none."""
    try:
        vet_webhook(need.service, allowed)
    except BadInputError as error:
        return Unmet(error.message_text, fatal=True)
    question = HttpQuestion("POST", need.service, {"content-type": "application/json"}, text=need.given)
    body = None
    with anyio.move_on_after(deadline_s):
        body = await fetched(web, question)
    if body is None:
        return Unmet(
            f"the webhook {_without_secrets(need.service)} did not answer within {deadline_s:g} s", unanswered=True
        )
    if not isinstance(body, bytes):
        return Unmet(f"the webhook failed: {body.reason}", body.fatal, body.unanswered)
    try:
        answer: JsonValue = json.loads(body)
    except ValueError:
        return Unmet(f"the webhook {_without_secrets(need.service)} did not return JSON")
    return answer


async def gathered(needs: Iterable[ServiceNeed], ask: Ask) -> Answers:
    """The answer to each, asked side by side; one that several need is asked once."""
    known_answers: Answers = {}

    async def into(need: ServiceNeed) -> None:
        try:
            known_answers[need] = await ask(need)
        except EvalsError as error:  # a key that is missing: no verdict rests on it, and none is made up
            known_answers[need] = Unmet(error.message_text, fatal=True)

    async with anyio.create_task_group() as asking:
        for need in dict.fromkeys(needs):
            asking.start_soon(into, need)
    return known_answers
