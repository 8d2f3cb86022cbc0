"""A person plays the user of a conversation on the page, one message at a time, or says whether another player did its part."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from urllib.parse import urlencode

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.people.judge_queue import UserQuestion, say, user_of
from minions_evals_mcp.engine.run.run_benchmark import Started, silent
from minions_evals_mcp.errors import BadInputError, BusyError, ConflictError, EvalsError
from minions_evals_mcp.judges.packets import AnsweredPacket, Submission
from minions_evals_mcp.operations.operator import label_user
from minions_evals_mcp.operations.submit_judgments import going_on
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.view.parameters import engine_of, form_of, person_of, person_required, signed_in
from minions_evals_mcp.view.rendering import rendered
from minions_evals_mcp.view.runs_again import Start, followed_here

ANSWER_S = 20.0
"""So long the page waits for the agent's answer before it shows what else waits."""


def play_form(  # noqa: PLR0913  what the form shows
    question: UserQuestion, request: Request, *, run: str | None, just_kept: str = "", typed: str = "", wrong: str = "",
    status: int = 200,
) -> Response:  # fmt: skip
    """The chat so far, with a field for what the user says next."""
    speaker = engine_of(request).speaker
    return rendered(
        "play", status=status, question=question, run=run, kept=just_kept, typed=typed, wrong=wrong,
        speaker=speaker.name if speaker.is_person else "", signed_in=bool(signed_in(request).token(request)),
    )  # fmt: skip


async def said(request: Request) -> Response:
    """Hands the message in and waits a moment for the agent's answer. What does not fit is told beside the form."""
    engine, form = engine_of(request), await form_of(request)
    run_id, digest, run = form.get("runId", ""), form.get("digest", ""), form.get("run") or None
    question = await user_of(engine, run_id, digest)
    if question is None:
        return rendered("judged_already", status=409, run=run, after=digest)
    speaker, token = await person_of(request, form)
    message = "" if form.get("leaves") else form.get("message", "").strip()
    wrong = "" if message or form.get("leaves") else "Write what this person says next, or end the conversation."
    if speaker is None:
        wrong = "Only people can answer here. Enter your token (minions-evals people add NAME prints one)."
    if wrong or speaker is None:
        return play_form(question, request, run=run, typed=form.get("message", ""), wrong=wrong, status=400)
    try:
        job = await say(engine, run_id, digest, message, by=speaker)
    except ConflictError:
        return rendered("judged_already", status=409, run=run, after=digest)
    except (BadInputError, BusyError) as error:
        return play_form(question, request, run=run, typed=message, wrong=f"Nothing was saved: {error}", status=400)
    following = RedirectResponse(await _following(request, job, AnsweredPacket(digest=digest, message=message)), 303)
    if token:
        signed_in(request).keep(request, following, token)
    return following


async def labelled(request: Request) -> Response:
    """Keeps the word, has the run judged by it behind the page, and leads to that run."""
    engine, form = engine_of(request), await form_of(request)
    speaker, token = await person_required(request, form, to="label a user")
    place, said, why = form.get("at", ""), form.get("said", ""), form.get("reason", "").strip()
    if said not in {"sound", "spoiled"} or not why:
        raise BadInputError("the label needs a reason.", remedy="Explain why the user did or did not do its part.")
    asked = label_user.Request.model_validate({"run_id": form.get("run", ""), said: (place,), "reason": why})
    speaking = engine.speaking(speaker)
    kept = await label_user.keep(speaking, asked)
    start: Start | None = request.app.state.start
    if start is None and kept.request is not None:
        raise BadInputError(
            "the label is saved, but no run can be started from here.",
            remedy="Use minions-evals label-user to judge with it.",
        )
    begun = await label_user.begin(speaking, kept, None)
    if begun is not None and start is not None:
        followed_here(request, start, begun)
    shown = kept.run_id if begun is None else begun.job.id
    following = RedirectResponse(f"/run?{urlencode({'id': shown})}", 303)
    if token:
        signed_in(request).keep(request, following, token)
    return following


async def _following(request: Request, job: Job, packet: AnsweredPacket) -> str:
    """The address that comes next, after the agent's answer or a while: the next turn, or the run that cannot go on from here."""
    submission = Submission(run_id=job.id, packets=(packet,))
    further = await going_on(engine_of(request), submission, job, by_person=True)
    start: Start | None = request.app.state.start
    if further is None or start is None:
        return f"/run?{urlencode({'id': job.id})}"
    ended = anyio.Event()
    start(partial(_finished, await further.starting(), ended))
    with anyio.move_on_after(ANSWER_S):
        await ended.wait()
    return f"/judge?{urlencode({'run': job.id, 'kept': '1'})}"


async def _finished(started: Started, ended: anyio.Event) -> None:
    try:
        with suppress(EvalsError):  # the run's page says why it stopped, and how it goes on
            await started.finish(silent)
    finally:
        ended.set()
