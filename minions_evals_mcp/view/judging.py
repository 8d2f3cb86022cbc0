"""The queue where a person judges: one output at a time, and the first of two people who judge the same one wins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.people.agreement import NothingAgreedError, judges_agreement
from minions_evals_mcp.engine.people.assignments import judging_shares
from minions_evals_mcp.engine.people.draws import DRAWN, draw_labels
from minions_evals_mcp.engine.people.judge_queue import UNASKED, JudgeQuestion, hand_in, next_question, question_of
from minions_evals_mcp.errors import BusyError, ConflictError, InvalidRecordError, NotAllowedError, RuleError
from minions_evals_mcp.judges.packets import GivenJudgment
from minions_evals_mcp.judges.rationales import weakness
from minions_evals_mcp.judges.task import Criterion
from minions_evals_mcp.operations.operator import assign_judging
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.view.parameters import engine_of, form_of, named, person_of, required, signed_in
from minions_evals_mcp.view.playing import play_form
from minions_evals_mcp.view.rendering import rendered


async def question(request: Request) -> Response:
    """The next output that waits for a person; with `run` of that run, with `after` the one after that packet."""
    run_id, (speaker, _) = named(request, "run") or None, await person_of(request, {})
    asking = partial(next_question, engine_of(request), run_id=run_id, plays=True, person=speaker and speaker.name)
    question_page = await asking(after=named(request, "after"))
    if question_page.place is None and named(request, "after"):
        question_page = await asking()  # what was skipped comes again
    if question_page.user is not None:
        return play_form(question_page.user, request, run=run_id, just_kept=named(request, "kept"))
    store = engine_of(request).config.named_db
    unasked = [(number, in_store(UNASKED[reason], store)) for reason, number in question_page.unasked.items()]
    if question_page.question is None:
        return rendered(
            "queue_empty",
            unasked=unasked,
            with_others="others" in question_page.unasked,
            run=run_id,
            kept=named(request, "kept"),
        )
    return _form(
        question_page.question,
        request,
        run=run_id,
        waiting=(question_page.waiting, question_page.units),
        just_kept=named(request, "kept"),
    )


async def judged(request: Request) -> Response:
    """Hands in what the form holds. What does not fit is told beside the form, and nothing that was typed is lost."""
    engine, form = engine_of(request), await form_of(request)
    run_id, digest, run = form.get("runId", ""), form.get("digest", ""), form.get("run") or None
    packet = await question_of(engine, run_id, digest)
    if packet is None:
        return rendered("judged_already", status=409, run=run, after=digest)
    speaker, token = await person_of(request, form)
    wrong, judgments = _read(packet, form)
    if speaker is None:
        wrong["personToken"] = (
            "Only people can judge here. Enter your token (minions-evals people add NAME prints one)."
        )
    if not wrong and speaker is not None:
        try:
            await hand_in(engine, run_id, digest, judgments, by=speaker)
        except ConflictError:
            return rendered("judged_already", status=409, run=run, after=digest)
        except (InvalidRecordError, NotAllowedError, RuleError, BusyError) as error:
            wrong = {"": f"Nothing was saved: {error}"}
    if wrong:
        return _form(packet, request, run=run, form=form, wrong=wrong, status=400)
    query = urlencode({name: value for name, value in (("run", run or ""), ("after", digest), ("kept", "1")) if value})
    following = RedirectResponse(f"/judge?{query}", 303)
    if token:
        signed_in(request).keep(request, following, token)
    return following


async def agreement(request: Request) -> Response:
    """Returns how far people and the model judge agree on a benchmark's outputs, and where they do not."""
    engine = engine_of(request)
    try:
        figures = await judges_agreement(engine, required(request, "id"))
    except NothingAgreedError as error:
        subject = error.benchmark
        return rendered(
            "nothing_agreed",
            ident=subject.id,
            title=subject.title,
            modelled=error.judged_by_model,
            drawn=DRAWN,
            user_check=error.user_check,
        )
    return rendered("agreement", found=figures, drawn=DRAWN, store=engine.config.named_db)


async def label(request: Request) -> Response:
    """Draws outputs at random for people to judge, and leads to the first."""
    form = await form_of(request)
    draw = await draw_labels(engine_of(request), form.get("id", ""), triggered_by="page")
    return RedirectResponse(f"/judge?{urlencode({'run': draw.run_id})}", 303)


async def assignment(request: Request) -> Response:
    """Who judges what of a run: each person's share, and the form that divides what waits."""
    found = await judging_shares(engine_of(request), required(request, "run"))
    return rendered("assignment", found=found, kept=named(request, "kept"))


async def assigned(request: Request) -> Response:
    """Divides what waits among the people who are ticked; without any it is anybody's again."""
    engine, form = engine_of(request), await form_of(request)
    run_id = (await judging_shares(engine, form.get("run", ""))).run_id
    people = tuple(value for name, value in form.items() if name.startswith("person-"))
    divided = await assign_judging.run(engine, assign_judging.Request(run_id=run_id, people=people))
    return RedirectResponse(f"/assign?{urlencode({'run': divided.run_id, 'kept': '1'})}", 303)


def _form(  # noqa: PLR0913  what the form shows
    packet: JudgeQuestion, request: Request, *, run: str | None, waiting: tuple[int, int] = (0, 0), just_kept: str = "",
    form: Mapping[str, str] | None = None, wrong: Mapping[str, str] | None = None, status: int = 200,
) -> Response:  # fmt: skip
    speaker = engine_of(request).speaker
    return rendered(
        "judge", status=status, question=packet, run=run, waiting=waiting, kept=just_kept,
        values=form or {}, wrong=wrong or {},
        speaker=speaker.name if speaker.is_person else "", signed_in=bool(signed_in(request).token(request)),
    )  # fmt: skip


def _read(packet: JudgeQuestion, form: Mapping[str, str]) -> tuple[dict[str, str], list[GivenJudgment]]:
    """Returns what is wrong with the form, by field, and the judgments that it holds."""
    wrong: dict[str, str] = {}
    judgments: list[GivenJudgment] = []
    for number, criterion in enumerate(packet.criteria):
        score, reason = form.get(f"score-{number}", "").strip(), form.get(f"why-{number}", "").strip()
        judgment = _judgment(criterion, score, reason)
        if isinstance(judgment, str):
            wrong[f"score-{number}"] = judgment
            continue
        if is_blank(reason):
            wrong[f"why-{number}"] = "A score needs a reason."
        elif weak := weakness(reason):
            wrong[f"why-{number}"] = weak
        judgments.append(judgment)
    return wrong, judgments


def _judgment(criterion: Criterion, score: str, reason: str) -> GivenJudgment | str:
    """The judgment, or why that is no score of this criterion."""
    fields = criterion.fields
    needed = f"Enter a number from {fields.min_score:g} to {fields.max_score:g}."
    try:
        judgment = GivenJudgment(criterion_id=criterion.id, score=float(score), rationale=reason)
    except (ValueError, ValidationError):
        return needed
    return judgment if fields.min_score <= judgment.score <= fields.max_score else needed
