"""The failed cases of a run in a terminal: each with what was wrong, and what several go back to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rich.cells import set_cell_size
from rich.console import Group
from rich.text import Text

from minions_evals_mcp.domain.failure_types import FAILURE_TYPES
from minions_evals_mcp.engine.answers.run_summary import FailureLine, RunSummary
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import LONGEST, WHY, WIDEST, whole
from minions_evals_mcp.report.sentences import trials
from minions_evals_mcp.scoring.failure_causes import OWN_CHECK, tells_cause
from minions_evals_mcp.scoring.failures.texts import told_apart

SEVERITY = {"critical": "bold red", "major": "yellow", "minor": "dim"}
NO_LOG = "There is no tool-call log; "
FUNCTION = re.compile(r"failed function: (.*?)(?=; (?:passed|failed) [\w-]+|$)")
LOOKS_FOR = re.compile(r"(?:^|; )failed (?:not-)?(?:equals|i?contains(?!-[jsxh])|similar|levenshtein|starts-with)")
QUOTED = re.compile(r" \([^()]*\)")
SHOWN_CAUSES = 5
"""So many causes stand above the failed cases."""


def failures_table(summary: RunSummary, width: int, store: Path | None = None) -> Group:
    """The failed cases with their causes, the gravest first: a line with the figures, a line or two with the reason."""
    shown, kinds = summary.failures, summary.failure_types
    width = min(width, WIDEST)
    total = sum(kinds.values())
    counted = ", ".join(f"{number} {name}" for name, number in kinds.items())
    what = max(len(failure.failure_type) for failure in shown)
    scores = [f"{failure.score:.2f} of {failure.possible:g}" for failure in shown]
    score = max(len(score) for score in scores)
    title = min(width - what - score - 5, max(len(_title(failure, LONGEST)) for failure in shown))
    lines = [Text(f"{total}{trials(summary)} failed: {counted}", style="bold"), *_causes(summary, width)]
    for failure, figure in zip(shown, scores, strict=True):
        line = Text(set_cell_size(_title(failure, title), title))
        line.append(f"  {failure.failure_type:<{what}}", style=SEVERITY[failure.severity])
        line.append(f"  {figure:>{score}}")
        lines.append(Text(" ") + line)
        why, rests_on = _reasons(failure, min(width - 4, WHY))
        lines.append(Text(f"   {why}"))
        if rests_on:
            lines.append(Text(f"   {rests_on}", style="dim"))
    if total > len(shown):
        more = f" and {total - len(shown)} more: minions-evals runs {summary.run_id} --limit {total}"
        lines.append(Text(in_store(more, store)))
    return Group(*lines)


def _causes(summary: RunSummary, width: int) -> Iterator[Text]:
    """Yields what several failures go back to: each cause with its share of the loss and what to do next."""
    shared = [cause for cause in summary.causes if cause.cases > 1 and tells_cause(cause.title)][:SHOWN_CAUSES]
    for cause in shared:
        yield Text(f" {shortened(printable(cause.summary, 400), width - 1)}", style="bold")
        share = f"{100 * cause.share_of_loss:.0f} % of what was lost. " if cause.share_of_loss < 1 else ""
        lost = f"{share}Next: {cause.suggestion}"
        yield Text(f"   {shortened(lost, min(width - 4, WHY))}", style="dim")
    if shared:
        yield Text("")


def _title(failure: FailureLine, room: int) -> str:
    trial = f" (trial {failure.trial})" if failure.trial > 1 else ""
    return shortened(failure.title, room - len(trial)) + trial


def _reasons(failure: FailureLine, room: int) -> tuple[str, str]:
    """Returns what was wrong, then the step or the criterion that it rests on where that says more."""
    sentence, _, lost = failure.description.partition(" Lost most on ")
    own_checks = failed_functions(lost)
    cause = failure.root_cause.removeprefix(NO_LOG)
    if not own_checks and not failure.lost_most:  # a criterion's name says more
        own_checks = cause if OWN_CHECK.search(cause) else _failed_rules(sentence, lost)
    if own_checks:
        return shortened(own_checks, room), _compared(sentence, room)
    logged = failure.root_cause != "" and not failure.root_cause.startswith(NO_LOG)
    if logged or FAILURE_TYPES[failure.failure_type].shows_cause:
        cause = printable(cause, 600)
        rests_on = cause if len(cause) <= room else QUOTED.sub("", cause)
    else:
        rests_on = f"lost most on: {failure.lost_most}" if failure.lost_most else ""
    return _compared(sentence, room), shortened(rests_on, room)


def _failed_rules(sentence: str, lost: str) -> str:
    """The checks that failed, where what was expected does not say it: nothing was, or none of them looks for it."""
    failed = lost.partition("): ")[2].partition("; passed ")[0]
    looked_for = sentence.startswith("Expected") and LOOKS_FOR.search(failed) is not None
    return failed if failed.startswith("failed ") and not looked_for else ""


def failed_functions(text: str) -> str:
    """The user's own functions that failed as checks, by name and reason, out of what is said of a failure."""
    return "; ".join(f"failed check {named}" for named in FUNCTION.findall(text))


def _compared(text: str, room: int) -> str:
    """`Expected “…”, got “…”` with a fair share of the room for each side."""
    expected, both, got = text.removesuffix(".").partition("”, got “")
    if not both:
        return shortened(text.removesuffix("."), room)
    got = got.removesuffix("”")
    left = room - len(both) - 1
    expected, got = told_apart([expected, got], left // 2)
    share = min(len(expected), max(left // 2, left - len(got)))
    return f"{shortened(expected, share)}{both}{shortened(got, left - share)}”"


def unscored_list(summary: RunSummary, width: int) -> Group:
    """Returns what has no verdict, and why: never counted as failed."""
    lines = [Text("not scored", style="bold")]
    for unscored_case in summary.unscored:
        trial = f" (trial {unscored_case.trial})" if unscored_case.trial > 1 else ""
        lines.append(whole(f" {unscored_case.test_case_id}{trial}  {unscored_case.outcome}"))
        lines.append(Text(f"   {shortened(unscored_case.reason, 2 * min(width, WIDEST))}", style="dim"))
    return Group(*lines)
