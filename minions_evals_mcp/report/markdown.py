"""A report as Markdown that fits a pull-request comment: the answer first, then what failed or changed, as far as there is room."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from pathlib import Path

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.answers.audited_checks import AuditedChecks
from minions_evals_mcp.engine.answers.report_values import NAMED, Report, ReportedCase, ReportedTrial, Side
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.engine.audit_standing.standing import AuditStanding
from minions_evals_mcp.next_steps import next_in
from minions_evals_mcp.presentation.next_steps import Terminal
from minions_evals_mcp.presentation.verdict_words import level_words, pair_words
from minions_evals_mcp.report import sentences
from minions_evals_mcp.report.audits import weak_words
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.plain import printable, revealed, sentence_case
from minions_evals_mcp.report.sentences import answer, case_title, change_words, number
from minions_evals_mcp.scoring.word_diff import word_diff

FITS = 60_000
"""Characters of a comment; GitHub takes 65,536."""
CLOSING = 300
"""Room kept for the line that says what was left out."""
LONG = 1_500
_TYPED = re.compile(r"[A-Za-z0-9 ._:/@'-]+")
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>|~#@&/$]|(?<!\d):(?=\S)|:(?!\d\d(?!\d))(?=\S)|\.(?=[^\W\d])")
"""What can act; a colon could begin an emoji, but for that of a time of day."""


async def markdown(report: Report, cases: AsyncIterator[ReportedCase], store: Path | None) -> AsyncGenerator[str]:
    """The file, piece by piece; its commands name the store that was named."""
    head = "\n".join(_head(report, store)) + "\n"
    yield head
    room = FITS - CLOSING - len(head)
    left_out = 0
    async for case in cases:
        case_text = _case(case) if _matters(case, report) else ""
        if left_out or len(case_text) > room:
            left_out += bool(case_text)
        else:
            room -= len(case_text)
            yield case_text
    if left_out:
        yield f"\n{left_out} more cases failed or changed. An `.html` report has all of them.\n"


def _fallen(summary: RunSummary) -> Iterator[str]:
    """The run's regression, else a smaller fall that is more than chance."""
    fell = summary.regression or summary.fall
    if fell is not None:
        yield f"> ▼ {inert(printable(str(fell['summary']), 600))}\n"
    if summary.regression is not None:
        yield f"> {inert(sentences.evidence_words(summary.regression, summary.fall))}\n"


def _head(report: Report, store: Path | None) -> Iterator[str]:
    yield f"**{inert(answer(report))}**\n"
    summary = report.run.summary
    yield _about(report) + "\n"
    if report.since is not None:
        yield f"{inert(printable(sentences.since_words(report.since), 600))}\n"
    if summary.level_change is not None and report.comparison is None:
        yield f"Newest level shift: {inert(level_words(summary.level_change))}.\n"
    if report.diff is not None:
        yield f"{sentence_case(inert(pair_words(report.diff.reading)))}.\n"
        yield f"{inert(sentences.set_up_words(report.diff))}\n"
        failing = [change for change in report.diff.changes if change.kind == "newly-failing"]
        if failing:
            shown = [inert(printable(change.title or change.test_case_id, 80)) for change in failing[:NAMED]]
            yield f"Newly failing: {first_named(shown, NAMED, of=len(failing))}\n"
    yield from _fallen(summary)
    if report.comparison is not None and report.comparison.notes:
        yield f"{inert(printable(report.comparison.notes, 600))}\n"
    yield from _causes(summary)
    yield from _trust(report, store)
    if summary.failure_types:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.failure_types.items())
        yield f"Failed{sentences.trials(summary)} by cause: {kinds}\n"
    if report.criteria:
        yield from _criteria(report)
    if summary.audit is not None and summary.audit.state == "audited":  # else it is said above
        yield f"**Checks.** {_audit(summary.audit, store)}\n"
    yield from _checks(report.checks)
    yield f"Run `{summary.run_id}`" + (f" beside run `{report.before.summary.run_id}`" if report.before else "")
    report_file = f"minions-evals report {summary.run_id} -o report.html"
    yield in_store(f"Details: `minions-evals view`, or `{report_file}`\n", store)


def _trust(report: Report, store: Path | None) -> Iterator[str]:
    """Yields what is known of the judge and of the checks."""
    summary = report.run.summary
    for line in sentences.trust(summary, report.comparison):
        is_audit = summary.audit is not None and line == summary.audit.sentence
        sentence = (
            _audit(summary.audit, store) if is_audit and summary.audit else inert(printable(in_store(line, store), 500))
        )
        yield f"{sentence}\n"


def _audit(audit: AuditStanding, store: Path | None) -> str:
    """Returns what is known of the checks, the next command as it is typed."""
    verdict = inert(printable(audit.in_words, 600))
    command = "".join(Terminal(store).call(step) for step in next_in(audit.next))
    return f"{verdict} Next: `{command}`" if _TYPED.fullmatch(command) else verdict


def _checks(checks: AuditedChecks | None) -> Iterator[str]:
    """The cases that wrong answers pass, the worst first, with what would close the hole."""
    for case in () if checks is None else checks.worst:
        closes = f" → {inert(printable(case.suggestion, 400))}" if case.suggestion else ""
        yield f"- **{inert(printable(case.title, 80))}**: {inert(weak_words(case))}{closes}"
    if checks is not None and checks.worst:
        yield ""


def _causes(summary: RunSummary) -> Iterator[str]:
    """Yields what the failures go back to, the cause with the most new failures first."""
    for cause in summary.causes[:NAMED]:
        share = f" ({100 * cause.share_of_loss:.0f} % of lost points)" if cause.share_of_loss < 1 else ""
        cases = ", ".join(inert(printable(case.title, 80)) for case in cause.affected[:NAMED])
        more = f" and {cause.cases - NAMED} more" if cause.cases > NAMED else ""
        yield f"- **{inert(printable(cause.summary, 400))}**{share}. Next: {inert(cause.suggestion)} Cases: {cases}{more}"
    if summary.causes:
        yield ""


def _about(report: Report) -> str:
    """The version and the day, of both runs where two stand side by side."""
    sides = [side for side in (report.before, report.run) if side is not None]
    return " → ".join(_side(side, report.names) for side in sides)


def _side(side: Side, names: Mapping[str, str]) -> str:
    fields = side.summary.benchmark_run or {}
    version, at = fields.get("promptVersionRef"), str(fields.get("ranAt") or side.summary.started_at)
    name = f"{inert(printable(names.get(version, version), 80))}, " if isinstance(version, str) else ""
    return f"{name}{at[:16].replace('T', ' ')} UTC"


def _criteria(report: Report) -> Iterator[str]:
    beside = report.diff is not None
    yield "| criterion | mean | out of |" + (" before |" if beside else "")
    yield "|---|--:|--:|" + ("--:|" if beside else "")
    for criterion in report.criteria:
        before = f" {number(criterion.before)} |" if beside else ""
        yield f"| {inert(printable(criterion.title, 80))} | {criterion.score:.3f} | {criterion.max_score:g} |{before}"
    yield ""


def _matters(case: ReportedCase, report: Report) -> bool:
    if report.diff is not None:
        return case.change is None or case.change.kind != "same"
    return case.status != "passed"


def inert(text: str) -> str:
    """Free text inside Markdown: no character of it can be read as markup, a link, a mention or a reference."""
    return _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", text)


def _case(case: ReportedCase) -> str:
    """A case as a block of HTML on lines of its own, within which Markdown is not read."""
    shown = case.either_trial
    score = "" if shown.score is None else f", {shown.score:.2f}"
    change_text = f" · {_escaped(change_words(case.change))}" if case.change is not None else ""
    lines = [
        f"<details><summary>{sentences.STATUS_WORDS[case.status]}{score}: {as_code(case_title(case))}{change_text}</summary>",
        *_lines(case, shown),
        "</details>",
    ]
    return "\n".join(lines) + "\n\n"


def _lines(case: ReportedCase, shown: ReportedTrial) -> Iterator[str]:
    yield f"Case {as_code(case.test_case_id)}" + (
        f": {shown.outcome} {as_code(shown.reason)}" if shown.passed is None else ""
    )
    for name, value in (("Input", case.inputs), ("Expected", case.expected or {})):
        for key, part in value.items():
            yield f"{name} {as_code(key)}: {as_block(value_text(part))}"
    if case.before is not None and case.tried is not None and case.before.text != case.tried.text:
        yield f"Output: {_changes(case.before.text, case.tried.text)}"
    elif shown.output is not None:
        yield f"Output: {as_block(shown.text)}"
    for caution in shown.cautions:
        yield f"Caution: {as_code(caution)}"
    for judged in shown.judgments:
        yield f"{as_code(judged.criterion_id)} {judged.score:.3g} of {judged.max_score:g}: {as_block(judged.rationale)}"
    if shown.cause is not None:
        yield f"Failed: {as_block(shown.cause.description)}"
        guess = f": {as_block(shown.cause.root_cause)}" if shown.cause.root_cause else ""
        yield f"Likely cause: {shown.cause.failure_type}, {shown.cause.severity}{guess}"
        if shown.cause.model_says:
            yield f"Also: {as_block(shown.cause.model_says)}"


def _escaped(text: str) -> str:
    """Text inside HTML on one line of the file: a blank line would end the block and let Markdown in."""
    return html.escape(revealed(text)).replace("\n", "&#10;")


def as_code(text: str) -> str:
    """The text as code on one line, in HTML."""
    return f"<code>{_escaped(printable(text, 160))}</code>"


def as_block(text: str) -> str:
    """The text as a block of HTML, shortened."""
    more = f"\n… {len(text) - LONG} more characters" if len(text) > LONG else ""
    return f"<pre>{_escaped(text[:LONG] + more)}</pre>"


def _changes(before: str, after: str) -> str:
    """Both outputs in one: what was taken out struck through, what came in underlined."""
    marks = {"equal": "{}", "delete": "<del>{}</del>", "insert": "<ins>{}</ins>"}
    parts = word_diff(before[:LONG], after[:LONG])
    return f"<pre>{''.join(marks[part.op].format(_escaped(part.text)) for part in parts)}</pre>"
