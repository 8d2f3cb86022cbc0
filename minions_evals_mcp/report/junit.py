"""A report as JUnit XML: a failed case is a failure, an instrument that failed is an error, what was not run is skipped."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from minions_evals_mcp.engine.answers.report_values import Report, ReportedCase
from minions_evals_mcp.report.plain import printable, revealed
from minions_evals_mcp.report.sentences import answer, case_title, change_words

LONG = 20_000
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


async def junit(report: Report, cases: AsyncIterator[ReportedCase]) -> AsyncGenerator[str]:
    """The file, piece by piece; the figures in its head come from the run, so that no case is held."""
    summary = report.run.summary
    total = sum(summary.outcomes.values())
    failed, skipped = report.run.judged - report.run.passed, _skipped(report)
    counts = {"tests": total, "failures": failed, "errors": total - report.run.judged - skipped}
    name = printable(report.run.title, 300)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{attributes({'name': name, **counts})}>\n"
    at = (summary.benchmark_run or {}).get("ranAt", summary.started_at)
    suite = {"name": name, **counts, "skipped": skipped, "timestamp": str(at)[:19], "hostname": "localhost"}
    yield f"<testsuite{attributes(suite)}>\n<properties>\n"
    for key, value in _properties(report):
        yield f"<property{attributes({'name': key, 'value': value})}/>\n"
    yield "</properties>\n"
    async for case in cases:
        if case.tried is not None:
            yield _testcase(report, case)
    yield "</testsuite>\n</testsuites>\n"


def _skipped(report: Report) -> int:
    return sum(report.run.summary.outcomes.get(outcome, 0) for outcome in ("skipped", "awaiting-judgments"))


def _properties(report: Report) -> Iterator[tuple[str, object]]:
    summary, fields = report.run.summary, report.run.summary.benchmark_run
    yield "answer", answer(report)
    yield "runId", summary.run_id
    for name in (
        "overallScore",
        "passRate",
        "passedCount",
        "totalCount",
        "errorCount",
        "promptVersionRef",
        "isRegression",
    ):
        if fields is not None and fields.get(name) is not None:
            yield name, fields[name]


def _testcase(report: Report, case: ReportedCase) -> str:
    tried = case.either_trial
    about: dict[str, object] = {
        "name": case_title(case),
        "classname": f"{report.run.summary.subject_id}.{case.test_case_id}",
    }
    if tried.latency_ms is not None:
        about["time"] = f"{tried.latency_ms / 1000:.3f}"
    return f"<testcase{attributes(about)}>{_verdict(case)}{_cautions(case)}</testcase>\n"


def _cautions(case: ReportedCase) -> str:
    """What should have somebody look at the verdict, which a passed test shows, too."""
    said = "\n".join(f"caution: {printable(caution, 500)}" for caution in case.either_trial.cautions)
    return f"<system-out>{xml_text(said)}</system-out>" if said else ""


def _verdict(case: ReportedCase) -> str:
    tried = case.either_trial
    if tried.passed:
        return ""
    if tried.passed is None:
        kind = "skipped" if tried.outcome in {"skipped", "awaiting-judgments"} else "error"
        about = {"message": tried.reason, "type": tried.outcome}
        return (
            f"<{kind}{attributes(about)}/>"
            if kind == "skipped"
            else f"<error{attributes(about)}>{xml_text(tried.reason)}</error>"
        )
    reason = tried.cause.description if tried.cause is not None else "failed"
    message = attributes({"message": printable(reason.partition("\n")[0], 500), "type": "assertion"})
    return f"<failure{message}>{xml_text(chr(10).join(_failure(case)))}</failure>"


def _failure(case: ReportedCase) -> Iterator[str]:
    tried = case.either_trial
    if case.change is not None:
        yield change_words(case.change)
    if tried.cause is not None:
        yield tried.cause.description
        guess = f": {tried.cause.root_cause}" if tried.cause.root_cause else ""
        yield f"likely cause: {tried.cause.failure_type}, {tried.cause.severity}{guess}"
        if tried.cause.model_says:
            yield tried.cause.model_says
    for judged in tried.judgments:
        yield f"{judged.criterion_id}: {judged.score:.3g} of {judged.max_score:g}: {judged.rationale}"
    yield f"output: {tried.text}"


def attributes(named: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(legal(printable(str(value), 1000)))}" for name, value in named.items())


def xml_text(text: str) -> str:
    more = f"\n… {len(text) - LONG} more characters" if len(text) > LONG else ""
    return escape(revealed(legal(text[:LONG] + more)))


def legal(text: str) -> str:
    """The text without the characters that XML 1.0 has no place for."""
    return _ILLEGAL.sub("", text)
