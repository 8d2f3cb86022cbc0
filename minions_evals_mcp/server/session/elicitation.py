"""A person judges where the host can ask one; where it cannot, or nobody answers, the output waits in the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import anyio
from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel, Field, JsonValue, ValidationError, create_model

from minions_evals_mcp.domain.conversations import as_read
from minions_evals_mcp.engine.people.judge_queue import next_question, question_of
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Packet, Submission
from minions_evals_mcp.operations import get_run, submit_judgments
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.report.plain import printable, revealed
from minions_evals_mcp.server.edge.guard import connection_of
from minions_evals_mcp.server.session.calls import Call, is_stateless

SHOWN = 4_000
"""Characters of an input or output that a form shows."""
IN_A_LINE = 300
"""Characters of a text in the message of a form; the first field has the rest."""
NOBODY = "a person"


def resumed_run(context: Context[Any, Any]) -> str | None:
    """The run about which somebody was asked, where this call brings the answer; the state is sealed by the SDK."""
    return _state(context)[0]


def _state(context: Context[Any, Any]) -> tuple[str | None, str | None]:
    """The run that was asked about and the name of the person who answered before, where the call brings them back."""
    if context.request_state is None:
        return None, None
    run_id, _, name = context.request_state.partition("\n")
    return run_id, name or None


async def judged_by_person(
    call: Call, context: Context[Any, Any], job: get_run.Job, *, seconds: float
) -> InputRequiredResult | None:
    """Asks about each output of the run that waits, until none does, nobody wants to or the time is over.

    The question itself where the host has to call again to answer it; else None, and the run stands as it is then.
    """
    for digest, answer in (context.input_responses or {}).items() if resumed_run(context) == job.id else ():
        if not isinstance(answer, ElicitResult) or answer.action != "accept":
            return None
        await _keep(call, context, job, digest, answer)
    until = anyio.current_time() + seconds
    while (asked := await question_about(call.engine, job, _reviewer(context))) is not None:
        digest, question = asked
        if is_stateless(context):
            return InputRequiredResult(
                input_requests={digest: question},
                request_state="\n".join(filter(None, (job.id, _reviewer(context)))),
            )
        answer = await _answer(context, question, until)
        if answer is None or answer.action != "accept":
            return None
        await _keep(call, context, job, digest, answer)
    return None


async def _answer(context: Context[Any, Any], question: ElicitRequest, until: float) -> ElicitResult | None:
    params = cast("ElicitRequestFormParams", question.params)
    with anyio.move_on_at(until):
        return await context.request_context.session.elicit_form(
            params.message, params.requested_schema, related_request_id=context.request_id
        )
    return None


async def question_about(
    engine: Engine, job: get_run.Job, name: str | None, *, likely: str = NOBODY
) -> tuple[str, ElicitRequest] | None:
    """The digest of the next output of the run that a person can judge, with the question about it.

    A case with nothing to judge by wants a baseline, and no score. Without a name it is asked for, the likely one filled in.
    """
    asked = (await next_question(engine, run_id=job.id, person=name)).question
    return None if asked is None else (asked.packet.digest, _question(asked.packet, name, likely))


async def _keep(call: Call, context: Context[Any, Any], job: get_run.Job, digest: str, answer: ElicitResult) -> None:
    name = await keep_verdicts(call.engine, job, digest, answer, known=_reviewer(context))
    if name != NOBODY:
        connection_of(context.request_context).state[__name__] = name


async def keep_verdicts(
    engine: Engine, job: get_run.Job, digest: str, answer: ElicitResult, *, known: str | None
) -> str:
    """The person's verdicts on that packet, kept under their name, which is returned.

    Raises `BadInputError` for an answer that does not fit the form.
    """
    question = await question_of(engine, job.id, digest)
    if question is None:
        raise ConflictError("that output is already judged, or its case has changed.", remedy=_looked_at(job))
    packet = question.packet
    try:
        fields = _form(packet, known).model_validate(answer.content or {}).model_dump()
    except ValidationError:
        raise BadInputError(
            "the person's answer does not fit the form. Nothing was saved, and the output still waits.",
            remedy=_looked_at(job),
        ) from None
    judgments = tuple(
        GivenJudgment(
            criterion_id=criterion.criterion_id, score=fields[f"score{number}"], rationale=fields[f"why{number}"]
        )
        for number, criterion in enumerate(packet.criteria, 1)
    )
    speaker = engine.speaker
    if not speaker.is_person:  # whoever answers a form that the host shows is one
        speaker = await submit_judgments.spoken_by(engine, known or str(fields["judgedBy"]).strip() or NOBODY)
    whole = AnsweredPacket(digest=digest, judgments=judgments)
    await submit_judgments.run(engine.speaking(speaker), Submission(run_id=job.id, packets=(whole,)))
    return speaker.name


def _looked_at(job: get_run.Job) -> str:
    return f'get_run {{"runId": "{job.id}"}} shows the waiting outputs.'


def _form(packet: Packet, name: str | None = None, likely: str = NOBODY) -> type[BaseModel]:
    """A score and a reason for each criterion, and who judges where no name is known; flat, as hosts can show it.

    The first field's description holds the texts whole: hosts fold a long message away, never a field.
    """
    fields: dict[str, Any] = {}
    for number, criterion in enumerate(packet.criteria, 1):
        least, most = criterion.min_score, criterion.max_score
        criterion_name = printable(criterion.name, 80)
        hints = [". ".join(printable(text, 400) for text in (criterion.description, criterion.scoring_guide) if text)]
        if number == 1:
            hints += [f"{title}:\n{_in_words(value)}" for title, value in _texts(packet)]
        fields[f"score{number}"] = (
            float,
            Field(ge=least, le=most, title=f"{criterion_name} ({least:g} to {most:g})", description="\n\n".join(hints)),
        )
        fields[f"why{number}"] = (str, Field(min_length=1, max_length=SHOWN, title=f"Reason for {criterion_name}"))
    if name is None:
        fields["judgedBy"] = (str, Field(default=likely, max_length=200, title="Your name"))
    return create_model("Judgment", **fields)


def _texts(packet: Packet) -> Iterator[tuple[str, JsonValue]]:
    """What is judged, then what it answers and what was expected."""
    for title, value in (
        ("Output", as_read(packet.output)),
        ("Input", packet.inputs),
        ("Expected", packet.expected_outputs),
    ):
        if value:
            yield title, value


def _question(packet: Packet, name: str | None, likely: str) -> ElicitRequest:
    """The question in three lines, the output first: Claude Code folds away what follows."""
    lines = [f"{title}: {_in_a_line(value)}" for title, value in _texts(packet)][:2]
    lines.append(f"Judge this output of the test case {packet.test_case_id}. It is data under test.")
    schema = render_elicitation_schema(_form(packet, name, likely))
    return ElicitRequest(params=ElicitRequestFormParams(message="\n".join(lines), requested_schema=schema))


def _in_a_line(value: JsonValue) -> str:
    only = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    text = " ".join(_in_words(only if isinstance(only, str) else value).split())
    return text if len(text) <= IN_A_LINE else f"{text[:IN_A_LINE]}… (whole text below)"


def _reviewer(context: Context[Any, Any]) -> str | None:
    """The name that the person gave in this session; None before the first answer."""
    name = connection_of(context.request_context).state.get(__name__) or _state(context)[1]
    return name if isinstance(name, str) else None


def _in_words(value: JsonValue) -> str:
    """The values of an input or output, each by its name; control and invisible characters are shown as what they are."""
    values = value if isinstance(value, dict) else {"": value}
    text = "\n".join(f"{name}: {value}" if name else str(value) for name, value in values.items())
    return revealed(text if len(text) <= SHOWN else text[:SHOWN] + "…")


async def run_of(call: Call, run_id: str, subject_id: str) -> get_run.Job:
    """The run that a question was about; raises `ConflictError` where the call now names another subject."""
    job = await get_run.stored_job(call.engine, run_id)
    if job.subject_id != subject_id:
        raise ConflictError(f"the question was about {job.subject_id}.", remedy=_looked_at(job))
    return job
