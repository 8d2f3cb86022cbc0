"""A suite from production traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import TypeAdapter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.make.accepting import accepted_lines
from minions_evals_mcp.cli.make.noted_files import read_notes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.operations.suites import suite_from_traces as operation
from minions_evals_mcp.report.plain import printable

_NOTES = TypeAdapter(tuple[operation.TraceNote, ...])
SHOWN = 30


@takes("suite from-traces")
async def from_traces(
    *,
    given: GivenOptions,
    notes: Annotated[Path | None, Parameter(negative="")] = None,
    common: Common = DEFAULTS,
) -> int:
    """Draft test cases from an agent's production traces, by kind of failure, with tested checks.

    By default rules read the traces, without a key. Each check is tested: it fails its trace, and passes the
    corrected answer and the traces without a failure. Personal data is masked. Drafts run once you accept them.
    Example: minions-evals suite from-traces --agent support-desk --since 2026-11-01T00:00:00Z

    Parameters
    ----------
    notes
        A JSON file with what you read in the traces of `--reader caller`: a list of {traceId, kind, what, corrected, labels}.
    """
    request = given.request(operation.Request, notes=() if notes is None else read_notes(notes, _NOTES, "--notes"))
    async with session(common) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is accepted is theirs
        answer = await operation.run(engine, await with_whole_ids(engine, request))
    return reply(common, answer, list(_lines(answer, request)))


def _weakness(*, only_this: bool, passes_corrected: bool | None) -> str:
    """What a check of the answer's words alone does not find, and whom it may wrong."""
    if not only_this:
        return ""
    barred = "" if passes_corrected else ", and a right answer in the same words would fail"
    return f"; a paraphrase of the wrong answer would pass{barred}"


def _lines(answer: operation.TracesShown, request: operation.Request) -> Iterator[str]:
    if request.accept:
        yield from accepted_lines(answer.accepted, request.accept)
        return
    if answer.packets:
        yield f"{len(answer.packets)} traces to read. --json shows them. Then pass --notes FILE."
        yield from (printable(f"  {packet.trace_id}: {packet.asked}", 120) for packet in answer.packets)
        return
    yield from _kinds(answer)
    unchecked = f"; {_number(answer.unchecked, 'kind')} without a suitable check" if answer.unchecked else ""
    waiting = [draft for draft in answer.drafts if draft.status == "draft"]
    yield f"{_number(len(waiting), 'draft')} saved{unchecked}"
    for draft in answer.drafts[:SHOWN]:
        tried = "fails its trace" + {True: ", passes the corrected answer", None: "", False: ""}[draft.passes_corrected]
        controls = f", passes {_number(draft.controls, 'trace')} without a failure" if draft.controls else ""
        weak = _weakness(only_this=draft.only_this, passes_corrected=draft.passes_corrected)
        checks = ", ".join(str(check["type"]) for check in draft.assertions)
        decided = "" if draft.status == "draft" else f"  ({draft.status}, left as it is)"
        yield printable(f"  {draft.test_case_id}{decided}  {draft.name}", 140)
        yield f"    {checks}: {tried}{controls}{weak}"
    if answer.masked:
        yield "masked: " + ", ".join(f"{number} {name}" for name, number in answer.masked.items())
    if answer.coverage is not None:
        yield from _coverage(answer.coverage, request)
    if waiting:
        yield as_typed(
            f"Next: minions-evals suite from-traces --agent {answer.agent_id} --accept {waiting[0].test_case_id}"
        )


def _coverage(covered: operation.CoverageShown, request: operation.Request) -> Iterator[str]:
    names = ", ".join(given.partition("=")[0].strip() for given in request.dimensions)
    yield printable(f"coverage of {names}: {covered.covered} of {covered.pairs} pairs", 300)
    yield from (printable(f"  declared, in no trace: {value}", 140) for value in covered.unseen)
    yield from (printable(f"  missing: {pair}", 140) for pair in covered.missing)
    if covered.no_trace:
        yield f"  no trace shows {_number(covered.no_trace, 'pair')} of the missing ones"
    if covered.by_traces:
        yield printable(f"  these traces would cover them: {', '.join(covered.by_traces)}", 300)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _kinds(answer: operation.TracesShown) -> Iterator[str]:
    """How many traces failed, how many were not read and why, and the kinds of failure."""
    yield f"{answer.failed} of {answer.read} traces failed, in {_number(len(answer.kinds), 'kind')}"
    if answer.unread:
        why = f": {answer.stopped}" if answer.stopped else ": the model gave no usable answer"
        yield printable(f"{_number(answer.unread, 'trace')} not read{why}", 300)
    for kind in answer.kinds[:SHOWN]:
        low, high = (100 * bound for bound in kind.ci)
        about = f" ({kind.about})" if kind.about else ""
        share = f"{100 * kind.share:.1f} % (95 % CI {low:.1f}–{high:.1f} %)"
        sizes = f"{_number(kind.traces, 'trace')}, {_number(kind.requests, 'request')}"
        yield printable(f"  {kind.code}{about}: {sizes}, {share}", 200)
