"""Cases as a page shows them: in brief for the list, and whole for when one is opened; every text revealed and cut to fit."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.report_data import Report, ReportedCase, Tried
from minions_evals_mcp.report.plain import printable, revealed
from minions_evals_mcp.report.sentences import change_words, fraction, number, score_words
from minions_evals_mcp.scoring.word_diff import stretches
from minions_evals_mcp.store.reporting import Judged

ROOM = 40_000_000
"""Characters of texts in one file until they are cut short."""
LONG, SHORT = 20_000, 600
"""A text is cut at so many characters; once the room is used up, at fewer."""


@dataclass(slots=True, eq=False)
class Room:
    """How much text a file still takes."""

    left: int = ROOM

    def cut(self, text: str) -> str:
        """The text as it is shown, and how much of it is not."""
        limit = LONG if self.left > 0 else SHORT
        self.left -= min(len(text), limit)
        if len(text) <= limit:
            return revealed(text)
        return f"{revealed(text[:limit])}\n… {len(text) - limit} more characters: a .json report has all of them."


async def lines(
    report: Report, cases: AsyncIterator[ReportedCase], columns: Sequence[str]
) -> AsyncIterator[tuple[JsonValue, JsonValue]]:
    """Each case in brief and whole."""
    room = Room()
    titles = {one.id: one.title for one in report.criteria}
    async for case in cases:
        beside = (case.before, case.tried) if report.diff is not None else (case.tried,)
        diff = _diff(case, room)
        told = diff is not None
        sides = [None if tried is None else _side(tried, room, titles, in_diff=told) for tried in beside]
        yield _brief(case, columns), {**_whole(case, room), "diff": diff, "sides": [*sides]}


def _brief(case: ReportedCase, columns: Sequence[str]) -> JsonValue:
    shown = case.shown
    scores = {judged.criterion_id: judged for judged in shown.judgments}
    return {
        "id": case.test_case_id,
        "title": printable(case.title, 200),
        "trial": case.trial,
        "status": case.status,
        "score": shown.score,
        "before": None if case.before is None or case.change is None else case.before.score,
        "cells": [_cell(shown, scores.get(column), column) for column in columns],
        "cause": shown.cause.failure_type if shown.cause is not None else shown.outcome if shown.passed is None else "",
        "kind": "" if case.change is None else case.change.kind,
    }


def _cell(tried: Tried, judged: Judged | None, column: str) -> JsonValue:
    """A criterion's score as text and as a share; null where the case has no such criterion."""
    if judged is not None:
        return [score_words(judged), fraction(judged)]
    score = tried.metrics.get(column)
    return None if score is None else [number(score, 2), score]


def _whole(case: ReportedCase, room: Room) -> Json:
    return {
        "inputs": _named(case.inputs, room),
        "expected": _named(case.expected or {}, room),
        "edited": case.edited,
        "change": "" if case.change is None else change_words(case.change),
    }


def _named(values: Json, room: Room) -> list[JsonValue]:
    return [[printable(name, 120), room.cut(_text(value))] for name, value in values.items()]


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _diff(case: ReportedCase, room: Room) -> JsonValue:
    """Both outputs word by word, where there are two that differ."""
    if case.before is None or case.tried is None or case.before.output is None or case.tried.output is None:
        return None
    one, other = room.cut(case.before.text), room.cut(case.tried.text)
    return None if one == other else [list(part) for part in stretches(one, other)]


def _side(tried: Tried, room: Room, titles: dict[str, str], *, in_diff: bool) -> Json:
    """One run's part; its output stands there unless the word by word comparison tells it."""
    return {
        "run": tried.test_run_id or "",
        "outcome": tried.outcome,
        "reason": room.cut(tried.reason),
        "figures": _figures(tried),
        "output": None if tried.output is None else "" if in_diff else room.cut(tried.text),
        "judgments": [_judged(judged, room, titles) for judged in tried.judgments],
        "tools": [room.cut(_text(call)) for call in tried.tool_calls],
        "cause": None if tried.cause is None else _cause(tried, room),
    }


def _figures(tried: Tried) -> str:
    known = (
        "" if tried.points is None or tried.possible is None else f"{tried.points:.3g} of {tried.possible:.3g} points",
        "" if tried.latency_ms is None else f"{tried.latency_ms:.0f} ms",
        "" if tried.cost_usd is None else f"${tried.cost_usd:.4f}",
        f"regression: {', '.join(tried.regression_types)}" if tried.regression_types else "",
        "passed last time" if tried.flipped else "",
    )
    return " · ".join(one for one in known if one)


def _judged(judged: Judged, room: Room, titles: dict[str, str]) -> JsonValue:
    own = "the case's own checks" if judged.criterion_id.startswith("implicit:") else judged.criterion_id
    return {
        "title": printable(titles.get(judged.criterion_id, own), 120),
        "score": f"{judged.score:.3g} of {judged.max_score:g}",
        "part": fraction(judged),
        "by": printable(f"{judged.judged_by} ({judged.judged_by_type}, confidence {judged.confidence:.2g})", 160),
        "rationale": room.cut(judged.rationale),
    }


def _cause(tried: Tried, room: Room) -> JsonValue:
    assert tried.cause is not None
    return {
        "type": tried.cause.failure_type,
        "severity": tried.cause.severity,
        "description": room.cut(tried.cause.description),
        "root": room.cut(tried.cause.root_cause),
    }
