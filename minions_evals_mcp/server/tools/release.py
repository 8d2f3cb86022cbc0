"""Tools that decide on a version, and that hand work to the agent."""

from __future__ import annotations

import json
from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.cases.current_version import name_current
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, evidence_judges
from minions_evals_mcp.engine.compare.approve_prompt_version import approve_prompt_version as decide
from minions_evals_mcp.engine.version_chain import find_version
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.messages.foreseen import foreseen
from minions_evals_mcp.messages.payloads import kind_of
from minions_evals_mcp.messages.send_message import Letter
from minions_evals_mcp.messages.send_message import send_message as send
from minions_evals_mcp.server.answers.record import fitting
from minions_evals_mcp.server.answers.run import brief
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.callers import client_name
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.release import ApprovalAnswer, ApprovePromptVersion, ReceiptAnswer, SendMessage


async def approve_prompt_version(call: Call, arguments: ApprovePromptVersion) -> CallToolResult:
    """The decision as it is kept: an agent's, unless a person's token came with the call."""
    speaker = call.engine.speaker
    for name, name_given in (
        ("decidedBy", arguments.decided_by),
        ("reason", arguments.reason),
        ("overrideReason", arguments.override_reason),
    ):
        if name_given is not None and is_blank(name_given):
            raise InvalidRecordError("must say something that can be seen", field=name)
    if arguments.decision == "in-use":
        return await _in_use(call, arguments)
    record = await decide(
        call.engine,
        ApprovalAsked(
            prompt_version_ref=arguments.prompt_version_ref,
            comparison_id=arguments.comparison_id,
            decision=arguments.decision,
            reason=arguments.reason,
            decided_by=speaker.name if speaker.is_person else arguments.decided_by or client_name(call.context),
            decided_by_type=speaker.kind,
            override_reason=arguments.override_reason,
        ),
    )
    fields = record.fields
    judge = await evidence_judges(call.engine, fields)
    answer = ApprovalAnswer(
        summary=f"{fields.prompt_version_ref}: {fields.decision}", id=record.id,
        prompt_version_ref=fields.prompt_version_ref, comparison_id=fields.comparison_id, decision=fields.decision,
        reason=fields.reason, decided_by=fields.decided_by, decided_by_type=fields.decided_by_type,
        judge=None if judge.state == "none" else brief(judge),
    )  # fmt: skip
    return answered(answer)


async def _in_use(call: Call, arguments: ApprovePromptVersion) -> CallToolResult:
    """That a person named the version which is in use."""
    version = (await call.engine.store.read(partial(find_version, name=arguments.prompt_version_ref))).id
    await name_current(call.engine, version)
    name = call.engine.speaker.name
    answer = ApprovalAnswer(
        summary=f"{version} is in use, {name} says", id=version, prompt_version_ref=version,
        decision="in-use", reason=arguments.reason or f"{name} named it", decided_by=name, decided_by_type="human",
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
    waits = "" if receipt.agent_running else "; no EvalAgent is running yet, it waits"
    sentence = (
        f"message {receipt.id} {'is taken in' if receipt.is_new else 'was taken in before'}: {receipt.state}{waits}"
    )
    warnings = await foreseen(call.engine, letter) if receipt.state == "pending" else []
    sentence = (
        " ".join([f"{sentence}.", *(in_tools(f"{warning[0].upper()}{warning[1:]}") for warning in warnings)])
        if warnings
        else sentence
    )
    return answered(ReceiptAnswer.of(receipt, summary=sentence, next=[f"get_record {json.dumps({'id': receipt.id})}"]))
