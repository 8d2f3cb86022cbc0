"""The agreement of people and the user check on who spoiled a conversation, and whether the check can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.results import JudgeLicence
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.licences.licence import licences_by
from minions_evals_mcp.stats.intervals import wilson
from minions_evals_mcp.store import talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judge_labels import JudgeKey, LabelledJudgment
from minions_evals_mcp.store.talks import LabelledTalk

CRITERION = "user-check"
"""Stands for the criterion in a licence of the user check."""


class CaughtShare(Value):
    """So many of so many, with the 95 % interval (0 to 1)."""

    hits: int
    of: int
    interval: tuple[float, float]

    @property
    def words(self) -> str:
        """The share in words."""
        low, high = (100 * end for end in self.interval)
        return f"{self.hits} of {self.of} (95 %: {low:.0f}–{high:.0f} %)"


class UserCheckAgreement(Value):
    """People's words on users of conversations against the user check that was labelled last, and its licence by them.

    `caught`: of the conversations that people call spoiled, those that the check called so; None where they call none so.
    `falseAlarms`: of the sound ones, those that the check called spoiled. `disputed` names the ones on which they differ.
    """

    conversations: int
    caught: CaughtShare | None
    false_alarms: CaughtShare | None
    licence: JudgeLicence
    disputed: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The figures in words."""
        caught = f"; it found {self.caught.words} of the spoiled ones" if self.caught else ""
        alarms = f"; it flagged {self.false_alarms.words} of the sound ones" if self.false_alarms else ""
        return f"the {self.licence.judged_by}, against people on {self.conversations} conversations{caught}{alarms}"


def user_check_agreement(db: Db, benchmark_id: str, *, at: datetime) -> UserCheckAgreement | None:
    """The agreement over all runs of the benchmark; None where nobody labelled a user."""
    labelled = list(talks.labels(db, benchmark_id=benchmark_id))
    if not labelled:
        return None
    newest = {(talk.key, talk.attempt): talk for talk in labelled}
    check = newest_check([*newest.values()])
    said = [talk for talk in newest.values() if talk.checked_by == check]
    judged = [_by_person(talk) for talk in labelled] + [_by_check(talk) for talk in said]
    licence = licences_by(db, CRITERION, judged, at=at)[_key(check).digest]
    spoiled, sound = ([talk for talk in said if talk.label.sound is sound] for sound in (False, True))
    return UserCheckAgreement(
        conversations=len(said),
        caught=_share(spoiled),
        false_alarms=_share(sound),
        licence=licence,
        disputed=tuple(_name(talk) for talk in said if talk.label.sound == bool(talk.checked)),
    )


def newest_check(said: Sequence[LabelledTalk]) -> str:
    """The rules whose findings were labelled last."""
    return max(said, key=lambda talk: talk.seq).checked_by


def _share(of: Sequence[LabelledTalk]) -> CaughtShare | None:
    hits = sum(bool(talk.checked) for talk in of)
    interval = wilson(hits, len(of))
    return None if interval is None else CaughtShare(hits=hits, of=len(of), interval=interval)


def _name(talk: LabelledTalk) -> str:
    attempt = f"#{talk.attempt}" if talk.attempt > 1 else ""
    return f"{talk.key.run_id}{attempt}"


def _key(check: str) -> JudgeKey:
    return JudgeKey(f"user check ({check})", check, CRITERION)


def _by_person(talk: LabelledTalk) -> LabelledJudgment:
    return _judgment(talk, JudgeKey(talk.label.labelled_by, "", ""), by_person=True, sound=talk.label.sound)


def _by_check(talk: LabelledTalk) -> LabelledJudgment:
    return _judgment(talk, _key(talk.checked_by), by_person=False, sound=not talk.checked)


def _judgment(talk: LabelledTalk, who: JudgeKey, *, by_person: bool, sound: bool) -> LabelledJudgment:
    return LabelledJudgment((talk.case_id, _name(talk)), by_person, who, float(sound), None, talk.seq)
