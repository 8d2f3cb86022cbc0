"""Messages to the EvalAgent as answers: what each asked for, how far it is, and what came of it."""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.server.answers.sizes import (
    Pages,
    Shape,
    answered,
    cursor_of,
    going_on_from,
    part_of,
    readable_in_parts,
    selected,
    vet_fields,
)
from minions_evals_mcp.server.edge.argument_types import MESSAGE
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.records import GetRecord, ListRecords, RecordAnswer, RecordsAnswer
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.inbox import Message


async def messages_page(call: Call, request: ListRecords) -> CallToolResult:
    """A page of the messages, newest first, in a line each or whole."""
    before = cursor_of(request.cursor) or None
    page = await call.engine.store.read(partial(inbox.newest, before=before, limit=request.limit + 1))
    if page:
        vet_fields(request.fields, _names(page[0]), "a message")
    rows = [_whole(message) if request.detail == "full" else _line(message) for message in page[: request.limit]]
    answer = RecordsAnswer(summary=f"{len(rows)} messages, newest first", records=selected(rows, request.fields))
    result = answered(answer, shape=Shape(request.detail), pages=Pages(("records",), len(page) > request.limit))
    return going_on_from(result, "records", [message.seq for message in page], of_all="messages, newest first")


def message_answer(message: Message, request: GetRecord) -> CallToolResult:
    """The message with what came of it, or a stretch of its JSON text."""
    whole = _whole(message)
    vet_fields(request.fields, _names(message), "a message")
    if request.cursor is not None:
        return part_of(whole, cursor_of(request.cursor), about={"id": message.id})
    shown_fields = (
        whole if not request.fields else {n: value for n, value in whole.items() if n == "id" or n in request.fields}
    )
    return readable_in_parts(
        RecordAnswer(summary=f"{MESSAGE} {message.id}, {message.state}", record=shown_fields), request.detail
    )


def _line(message: Message) -> Json:
    return {name: value for name, value in message.wire().items() if value not in (None, "")}


def _names(message: Message) -> list[str]:
    return [*message.wire(), "payload"]


def _whole(message: Message) -> Json:
    return {**_line(message), "payload": message.payload}
