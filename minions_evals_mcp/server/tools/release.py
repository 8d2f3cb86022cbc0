"""Tools that decide on a version, and that hand work to the agent."""

from __future__ import annotations

import json

from mcp_types import CallToolResult

from minions_evals_mcp.domain.speaker import Speaker
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.messages.foreseen import foreseen
from minions_evals_mcp.messages.payloads import kind_of
from minions_evals_mcp.messages.send_message import Letter
from minions_evals_mcp.messages.send_message import send_message as send
from minions_evals_mcp.operations import approve_prompt_version as operation
from minions_evals_mcp.server.answers.record import fitting
from minions_evals_mcp.server.answers.run import brief
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge.derived import DerivedArguments
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call, client_name
from minions_evals_mcp.server.signatures.release import ApprovalAnswer, ReceiptAnswer, SendMessage


async def approve_prompt_version(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """The decision as it is kept: an agent's, unless a person's token came with the call."""
    request = arguments.request(operation.Request)
    speaker = call.engine.speaker
    if request.decision == operation.IN_USE:
        return await _in_use(call, request)
    by = speaker if speaker.is_person else Speaker(name=request.decided_by or client_name(call.context))
    decided = await operation.run(call.engine, request, by=by)
    fields, judge = decided.approval.fields, decided.judge
    answer = ApprovalAnswer(
        summary=f"{fields.prompt_version_ref}: {fields.decision}", id=decided.approval.id,
        prompt_version_ref=fields.prompt_version_ref, comparison_id=fields.comparison_id, decision=fields.decision,
        reason=fields.reason, decided_by=fields.decided_by, decided_by_type=fields.decided_by_type,
        judge=None if judge.state == "none" else brief(judge),
    )  # fmt: skip
    return answered(answer)


async def _in_use(call: Call, request: operation.Request) -> CallToolResult:
    """That a person named the version which is in use."""
    version, name = await operation.name_in_use(call.engine, request), call.engine.speaker.name
    answer = ApprovalAnswer(
        summary=f"{version} is in use, set by {name}", id=version, prompt_version_ref=version,
        decision="in-use", reason=request.reason or f"set by {name}", decided_by=name, decided_by_type="human",
    )  # fmt: skip
    return answered(answer)


async def send_message(call: Call, arguments: SendMessage) -> CallToolResult:
    """The receipt of the message."""
    letter = Letter(
        type=arguments.type, payload=arguments.payload, id=arguments.id, from_agent_id=arguments.from_agent_id
    )
    try:
        receipt = await send(call.engine, letter)
    except InvalidRecordError as error:
        raise fitting(arguments.type, kind_of(arguments.type).payload, error) from None
    waits = "" if receipt.agent_running else "; it waits, because no EvalAgent is running yet"
    sentence = (
        f"message {receipt.id} {'is accepted' if receipt.is_new else 'was accepted before'}: {receipt.state}{waits}"
    )
    warnings = await foreseen(call.engine, letter) if receipt.state == "pending" else []
    sentence = (
        " ".join([f"{sentence}.", *(in_tools(f"{warning[0].upper()}{warning[1:]}") for warning in warnings)])
        if warnings
        else sentence
    )
    return answered(ReceiptAnswer.of(receipt, summary=sentence, next=[f"get_record {json.dumps({'id': receipt.id})}"]))
