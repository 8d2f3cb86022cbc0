"""The failed cases of a run in a terminal: each with what was wrong, and what several go back to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from rich.cells import set_cell_size
from rich.console import Group
from rich.text import Text

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES
from minions_evals_mcp.domain.values import first_named, one_line
from minions_evals_mcp.engine.answers.run_summary import FailureLine, RunSummary
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import LONGEST, WHY, WIDEST, whole
from minions_evals_mcp.report.sentences import trials
from minions_evals_mcp.scoring.failure_causes import tells_cause
from minions_evals_mcp.scoring.failures.texts import told_apart

SEVERITY = {"critical": "bold red", "major": "yellow", "minor": "dim"}
NO_LOG = "There is no tool-call log; "
FUNCTION = re.compile(r"failed function: (.*?)(?=; (?:passed|failed) [\w-]+|$)")
LIKELY = "likely cause: "
QUOTED = re.compile(r" \([^()]*\)")
REASON_LINES = 3
ALIKE = 3
"""So many cases without a verdict are named for each reason."""
WHOLE = 8_000
"""So much of a reason is read, of which the beginning and the end are shown."""
SHOWN_CAUSES = 5
"""So many causes stand above the failed cases."""


def failures_table(summary: RunSummary, width: int, store: Path | None = None) -> Group:
    """The failed cases with their causes, the gravest first: a line with the figures, a line or two with the reason."""
    shown = summary.failures
    kinds = summary.failure_types or Counter(failure.failure_type for failure in shown)
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
        lines += (Text(f"   {line}", style=style) for line, style in _reasons(failure, min(width - 4, WHY)))
    if total > len(shown):
        more = f" and {total - len(shown)} more: minions-evals runs {summary.run_id} --limit {total}"
        lines.append(Text(in_store(more, store)))
    return Group(*lines)


def _causes(summary: RunSummary, width: int) -> Iterator[Text]:
    """Yields what several failures go back to: each cause with its share of the loss and what to do next."""
    shared = [cause for cause in summary.causes if cause.cases > 1 and tells_cause(cause.title)][:SHOWN_CAUSES]
    for cause in shared:
        yield Text(f" {shortened(printable(cause.summary, 400), width - 1)}", style="bold")
        share = f"{100 * cause.share_of_loss:.0f} % of lost points. " if cause.share_of_loss < 1 else ""
        lost = f"{share}Next: {cause.suggestion}"
        yield Text(f"   {shortened(lost, min(width - 4, WHY))}", style="dim")
    if shared:
        yield Text("")


def _title(failure: FailureLine, room: int) -> str:
    trial = f" (trial {failure.trial})" if failure.trial > 1 else ""
    return shortened(failure.title, room - len(trial)) + trial


def _reasons(failure: FailureLine, room: int) -> Iterator[tuple[str, str]]:
    """Lines with their styles: the recorded reason of what failed, what came, and a guess of the cause where there is one."""
    reason, _, came = failure.description.rpartition("\n")
    if reason:
        told = printable(failed_functions(reason) or reason, 600)
        lines = wrap(told, room, break_on_hyphens=False)
        yield from ((line, "") for line in lines[: REASON_LINES - 1])
        if rest := " ".join(lines[REASON_LINES - 1 :]):
            yield shortened(rest, room), ""
    yield _compared(came, room), "dim" if reason else ""
    logged = failure.root_cause != "" and not failure.root_cause.startswith(NO_LOG)
    if logged or FAILURE_TYPES[failure.failure_type].shows_cause:
        cause = printable(failure.root_cause.removeprefix(NO_LOG), 600)
        fitting = cause if len(cause) <= room - len(LIKELY) else QUOTED.sub("", cause)
        yield shortened(f"{LIKELY}{fitting}", room), "dim"


def reason_line(description: str) -> str:
    """The first line of a failure: the recorded reason of what failed, the user's own functions by their names."""
    reason = description.partition("\n")[0]
    return failed_functions(reason) or reason


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
    alike: dict[tuple[str, str], list[str]] = {}
    for case in summary.unscored:
        trial = f" (trial {case.trial})" if case.trial > 1 else ""
        alike.setdefault((case.outcome, case.reason), []).append(f"{printable(case.title or case.test_case_id)}{trial}")
    lines = [Text("not scored", style="bold")]
    for (outcome, reason), cases in alike.items():
        lines.append(whole(f" {first_named(cases, ALIKE)}  {outcome}"))
        lines.append(Text(f"   {one_line(printable(reason, WHOLE), 2 * min(width, WIDEST) - 6)}", style="dim"))
    return Group(*lines)
