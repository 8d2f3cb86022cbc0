"""A person's word on the player of a user: kept, and counted before the user check's; the run is judged anew by it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.conversations import UserLabel
from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, OF_A_CONFIG, Dollars, More
from minions_evals_mcp.domain.speaker import require_role
from minions_evals_mcp.domain.values import Text, Value, first_named
from minions_evals_mcp.engine.answers.readings.user_errors import judged_anew, read_user_errors
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import kept_job, request_of, root_run
from minions_evals_mcp.engine.people.user_turns import AS_A_PERSON
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.user_review import REVIEW_FORM
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.conversations.user_checks import CHECK_VERSION
from minions_evals_mcp.store import runs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.talks import LabelledTalk, PlayedTalk

Conversations = Annotated[tuple[Text, ...], Field(strict=False, max_length=500)]
HOW_NAMED = "by case, or by POSITION.TRIAL as shown by `conversations` (append #2 for the second attempt)"
NAMED = 8


class LabelRequest(Value):
    """What a person says of the users of some conversations of a run, against the user check or with it."""

    run_id: Annotated[
        Text,
        Field(description="The run"),
        More("The run with the conversations, by id or key, or a benchmark for its newest run."),
    ]
    sound: Annotated[
        Conversations,
        Field(description="CASE, or POSITION.TRIAL"),
        More(f"Conversations whose simulated user did its part: {HOW_NAMED}."),
    ] = ()
    spoiled: Annotated[
        Conversations,
        Field(description="As sound"),
        More(f"Conversations that the simulated user spoiled: {HOW_NAMED}."),
    ] = ()
    reason: Annotated[
        Annotated[str, Field(min_length=1, max_length=2000)],
        Field(description="Why"),
        More("Why, in your words."),
        NAME_SAYS_IT,
    ]
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        More("Stop judging again before spending more than this."),
        NAME_SAYS_IT,
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.sound or self.spoiled):
            raise ValueError("sound: name a conversation there, or in spoiled")
        if both := set(self.sound) & set(self.spoiled):
            raise ValueError(f"spoiled: {min(both)} is also named in sound")
        return self


@frozen_type
class KeptLabels:
    """The labels that were kept, of the run that had the conversations, and how it is judged by them.

    `request` is None where no word contradicts the check: that run's own verdicts stand, then.
    """

    run_id: str
    labels: int
    contradicting: int
    request: RunRequest | None


class Labelled(Value):
    """What came of a person's words: how many were kept, how many contradict the check, and the run that judges by them.

    `judgedRunId` is the run itself where none does. `userErrors` are those after the words, in a sentence.
    """

    run_id: str
    labels: int
    contradicting: int
    judged_run_id: str
    user_errors: str = ""


async def keep_labels(engine: Engine, request: LabelRequest) -> KeptLabels:
    """Keeps the words, all or none. Raises `BadInputError` for an agent, and for what names no conversation that has ended."""
    speaker = engine.speaker
    if not speaker.is_person:
        raise BadInputError("only a person can do this, and the caller is an agent.", remedy=AS_A_PERSON)
    require_role(speaker, "judge")
    ident = (await find_subject(engine, request.run_id)).run_id
    return await engine.store.write(partial(_keep, engine=engine, ident=ident, request=request, by=speaker.name))


def _keep(db: Db, *, engine: Engine, ident: str, request: LabelRequest, by: str) -> KeptLabels:
    root = kept_job(db, root_run(db, kept_job(db, ident)))
    if root.kind != "benchmark" or root.state not in {"completed", "failed"}:
        raise BadInputError(
            f"the run {root.id} is {'of a test case' if root.kind != 'benchmark' else root.state}: nothing can be judged again.",
            remedy="Wait until it is complete." if root.kind == "benchmark" else "Run a benchmark with the case.",
        )
    played = talks.played(db, root.id)
    said = [(_named(played, name, root.id), True) for name in request.sound]
    said += [(_named(played, name, root.id), False) for name in request.spoiled]
    at = engine.clock()
    for talk, sound in said:
        label = UserLabel(sound=sound, reason=request.reason, labelled_by=by)
        check = f"{CHECK_VERSION}+{talk.checker}/{REVIEW_FORM}" if talk.checker else CHECK_VERSION
        talks.add_label(db, LabelledTalk(talk.key, talk.attempt, talk.case_id, label, talk.checked, check), at=at)
        detail = {
            "testCaseId": talk.case_id,
            "trial": talk.key.trial,
            "attempt": talk.attempt,
            "sound": sound,
            "by": by,
        }
        append(db, Event("user-labelled", "run", root.id, {**detail}), at=at)
    contradicting = sum(sound == bool(talk.checked) for talk, sound in said)
    return KeptLabels(root.id, len(said), contradicting, _request(db, root, played))


def _named(played: Sequence[PlayedTalk], name: str, run_id: str) -> PlayedTalk:
    """The conversation of that name: of several attempts the last, unless one is named."""
    where, _, number = name.rpartition("#")
    of = where if where and number.isdecimal() else name
    attempt = int(number) if of == where else None
    units = [talk for talk in played if of in {talk.case_id, _place(talk)}]
    if len({talk.key for talk in units}) > 1:
        places = first_named([_place(talk) for talk in units if talk.is_last], NAMED)
        raise BadInputError(f"{of} had several conversations in the run {run_id}.", remedy=f"Name one of {places}.")
    found = [talk for talk in units if (talk.is_last if attempt is None else talk.attempt == attempt)]
    if not found:
        raise BadInputError(
            f"the run {run_id} has no finished conversation {name}.",
            remedy=f"{Next('show-run', {'run_id': run_id}, 'shows it')}. Name each by its case or POSITION.TRIAL.",
        )
    return found[0]


def _place(talk: PlayedTalk) -> str:
    return f"{talk.key.position + 1}.{talk.key.trial}"


def _request(db: Db, root: Job, played: Sequence[PlayedTalk]) -> RunRequest | None:
    """The run that judges by what people say now; the same words make the same run. None where they agree with the check.

    A conversation that the check stopped goes on, with the same target.
    """
    said = talks.counting_labels(db, root.id)
    key = judged_anew(root.id, played, said)
    if key is None:
        return None
    going_on = any(
        talk.is_last
        and (label := said.get((talk.case_id, talk.key.trial, talk.attempt))) is not None
        and label.sound
        and talks.stopped(db, talk.key, talk.attempt) is not None
        for talk in played
    )
    request, figures = request_of(root), runs.benchmark_run(db, root.id)
    return request.judged_anew(
        root.id,
        subject_id=root.subject_id,
        target=request.target if going_on and not (request.target or "").startswith(OF_A_CONFIG) else None,
        prompt_version_ref=request.prompt_version_ref if figures is None else figures.fields.prompt_version_ref,
        judge=request.judge,
        trials=request.trials,
        triggered_by=request.triggered_by,
        key=key,
    )


async def labelled(engine: Engine, kept: KeptLabels, judged: Job | None) -> Labelled:
    """The answer, once the run was judged by the words."""
    errors = await engine.store.read(partial(read_user_errors, job_id=kept.run_id))
    return Labelled(
        run_id=kept.run_id,
        labels=kept.labels,
        contradicting=kept.contradicting,
        judged_run_id=kept.run_id if judged is None else judged.id,
        user_errors="" if errors is None else errors.sentence,
    )
