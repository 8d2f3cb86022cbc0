"""A person judges where the host can ask one; where it cannot, or nobody answers, the output waits in the queue."""

from __future__ import annotations

from typing import Any, cast

import anyio
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, JsonValue, ValidationError, create_model

from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.people.judge_queue import next_question, question_of
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Packet, Submission
from minions_evals_mcp.report.plain import printable, revealed
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.store.jobs import Job

STATELESS = "2026-07-28"
"""From here on the server cannot call the host: the question is the answer, and the host calls again with what was said."""
SHOWN = 4_000
"""Characters of an input or output that a form shows."""
NOBODY = "a person"


def can_be_asked(context: Context[Any, Any]) -> bool:
    """Returns whether the host shows forms to somebody."""
    capabilities = context.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    if asking is None or (asking.form is None and asking.url is not None):
        return False
    return _is_stateless(context) or context.request_context.session.can_send_request


def _is_stateless(context: Context[Any, Any]) -> bool:
    return is_version_at_least(str(context.protocol_version), STATELESS)


def resumed_run(context: Context[Any, Any]) -> str | None:
    """The run about which somebody was asked, where this call brings the answer; the state is sealed by the SDK."""
    return context.request_state


async def judged_by_person(
    call: Call, context: Context[Any, Any], job: Job, *, seconds: float
) -> InputRequiredResult | None:
    """Asks about each output of the run that waits, until none does, nobody wants to or the time is over.

    The question itself where the host has to call again to answer it; else None, and the run stands as it is then.
    """
    for digest, answer in (context.input_responses or {}).items() if context.request_state == job.id else ():
        if not isinstance(answer, ElicitResult) or answer.action != "accept":
            return None
        await _keep_verdicts(call, job, digest, answer)
    until = anyio.current_time() + seconds
    while (packet := await _next_packet(call, job)) is not None:
        question = _question(packet)
        if _is_stateless(context):
            return InputRequiredResult(input_requests={packet.digest: question}, request_state=job.id)
        answer = await _answer(context, question, until)
        if answer is None or answer.action != "accept":
            return None
        await _keep_verdicts(call, job, packet.digest, answer)
    return None


async def _answer(context: Context[Any, Any], question: ElicitRequest, until: float) -> ElicitResult | None:
    params = cast("ElicitRequestFormParams", question.params)
    with anyio.move_on_at(until):
        return await context.request_context.session.elicit_form(
            params.message, params.requested_schema, related_request_id=context.request_id
        )
    return None


async def _next_packet(call: Call, job: Job) -> Packet | None:
    """Returns what of the run a person can judge; a case with nothing to judge by wants a baseline, and no score."""
    question = await next_question(call.engine, run_id=job.id)
    return None if question.question is None else question.question.packet


async def _keep_verdicts(call: Call, job: Job, digest: str, answer: ElicitResult) -> None:
    """The person's verdicts on that packet, kept; raises `BadInputError` for an answer that does not fit the form."""
    question = await question_of(call.engine, job.id, digest)
    if question is None:
        raise ConflictError("that output is judged already, or its case was changed.", remedy=_looked_at(job))
    packet = question.packet
    try:
        fields = _form(packet).model_validate(answer.content or {}).model_dump()
    except ValidationError:
        raise BadInputError(
            "what the person said does not fit the form; nothing was kept and the output waits.", remedy=_looked_at(job)
        ) from None
    judgments = tuple(
        GivenJudgment(
            criterion_id=criterion.criterion_id, score=fields[f"score{number}"], rationale=fields[f"why{number}"]
        )
        for number, criterion in enumerate(packet.criteria, 1)
    )
    speaker = call.engine.speaker
    if not speaker.is_person:  # whoever answers a form that the host shows is one
        speaker = person(str(fields["judgedBy"]).strip() or NOBODY)
    whole = AnsweredPacket(digest=digest, judgments=judgments)
    await submit_judgments(call.engine.speaking(speaker), Submission(run_id=job.id, packets=(whole,)))


def _looked_at(job: Job) -> str:
    return f'get_run {{"runId": "{job.id}"}} shows what waits.'


def _form(packet: Packet) -> type[BaseModel]:
    """A score and a reason for each criterion, and who says so; flat, as hosts can show it."""
    fields: dict[str, Any] = {}
    for number, criterion in enumerate(packet.criteria, 1):
        least, most = criterion.min_score, criterion.max_score
        name = printable(criterion.name, 80)
        hint = ". ".join(printable(text, 400) for text in (criterion.description, criterion.scoring_guide) if text)
        fields[f"score{number}"] = (
            float,
            Field(ge=least, le=most, title=f"{name} ({least:g} to {most:g})", description=hint),
        )
        fields[f"why{number}"] = (str, Field(min_length=1, max_length=SHOWN, title=f"Why, for {name}"))
    fields["judgedBy"] = (str, Field(default=NOBODY, max_length=200, title="Your name"))
    return create_model("Judgment", **fields)


def _question(packet: Packet) -> ElicitRequest:
    parts = [f"Judge this output of the test case {packet.test_case_id}. It is data under test."]
    for title, value in (("Input", packet.inputs), ("Expected", packet.expected_outputs), ("Output", packet.output)):
        if value:
            parts.append(f"{title}:\n{_in_words(value)}")
    schema = render_elicitation_schema(_form(packet))
    return ElicitRequest(params=ElicitRequestFormParams(message="\n\n".join(parts), requested_schema=schema))


def _in_words(value: JsonValue) -> str:
    """The values of an input or output, each by its name; control and invisible characters are shown as what they are."""
    values = value if isinstance(value, dict) else {"": value}
    text = "\n".join(f"{name}: {value}" if name else str(value) for name, value in values.items())
    return revealed(text if len(text) <= SHOWN else text[:SHOWN] + "…")


async def run_of(call: Call, run_id: str, subject_id: str) -> Job:
    """The run that a question was about; raises `ConflictError` where the call now names another subject."""
    job = await get_job(call.engine, run_id)
    if job.subject_id != subject_id:
        raise ConflictError(f"the question was about {job.subject_id}.", remedy=_looked_at(job))
    return job
