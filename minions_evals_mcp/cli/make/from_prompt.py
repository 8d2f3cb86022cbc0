"""A suite from a prompt or documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import TypeAdapter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.make.accepting import accepted_lines
from minions_evals_mcp.cli.make.noted_files import read_notes, read_text
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.operations.suites import suite_from_prompt as operation
from minions_evals_mcp.report.audits import FINDINGS, WORDS
from minions_evals_mcp.report.plain import printable

_CASES = TypeAdapter(tuple[operation.CaseNote, ...])
SHOWN = 30


@takes("suite from-prompt", but=("documents", "prompt"))
async def from_prompt(
    documents: tuple[Path, ...] = (),
    /,
    *,
    given: GivenOptions,
    prompt_file: Annotated[Path | None, Parameter(negative="")] = None,
    cases: Annotated[Path | None, Parameter(negative="")] = None,
    common: Common = DEFAULTS,
) -> int:
    """Draft test cases from a prompt or documents: ordinary, edge and adversarial ones.

    Your assistant or a model writes them. Duplicates are left out. Each case's checks are audited, and its quotes
    must be in the text. Drafts are marked synthetic, and run once you accept them.
    Example: minions-evals suite from-prompt policy.md --writer model --count 20 --max-cost-usd 1

    Parameters
    ----------
    documents
        Text files that the agent answers from.
    prompt_file
        A file with the prompt.
    cases
        A JSON file with cases that you wrote: a list of {kind, inputs, expected, quote, assertions, why, passageId}. Kinds
        are case, edge and adversarial.
    """
    texts = [operation.Document(name=path.name, text=read_text(path, "DOCUMENTS")) for path in documents]
    request = given.request(
        operation.Request, documents=texts, cases=() if cases is None else read_notes(cases, _CASES, "--cases"),
        prompt=None if prompt_file is None else read_text(prompt_file, "--prompt-file"),
    )  # fmt: skip
    async with session(common, makes=not request.accept) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is accepted is theirs
        answer = await operation.run(engine, await with_whole_ids(engine, request))
    return reply(common, answer, list(_lines(answer, request)))


def _lines(answer: operation.CasesShown, request: operation.Request) -> Iterator[str]:
    if request.accept:
        yield from accepted_lines(answer.accepted, request.accept)
        return
    if answer.packets:
        yield f"{_number(len(answer.packets), 'passage')} to write cases for. --json shows them with instructions. Then pass --cases FILE."
        for packet in answer.packets:
            wanted = ", ".join(f"{count} {kind}" for kind, count in packet.wanted.items())
            yield printable(f"  {packet.passage_id}: {wanted}: {packet.text}", 120)
        return
    waiting = [draft for draft in answer.drafts if draft.status == "draft"]
    yield (
        f"{_number(answer.written, 'case')} written: {_number(len(waiting), 'draft')} saved,"
        f" {_number(len(answer.repeated), 'duplicate')}, {len(answer.refused)} refused"
    )
    if answer.unwritten:
        why = answer.stopped or "the model's reply could not be read"
        yield printable(f"{_number(answer.unwritten, 'passage')} without cases: {why}", 300)
    for draft in answer.drafts[:SHOWN]:
        decided = "" if draft.status == "draft" else f"  ({draft.status}, left as it is)"
        yield printable(f"  {draft.test_case_id}{decided}  {draft.name}", 140)
        checks = ", ".join(str(check["type"]) for check in draft.assertions) or "likeness to the expected answer"
        yield printable(f"    {checks}: {_audited(draft)}", 200)
    yield from (printable(f"  case {one.number} refused: {one.why}", 200) for one in answer.refused[:SHOWN])
    yield from (printable(f"  case {one.number} duplicates {one.of}", 140) for one in answer.repeated[:SHOWN])
    if waiting:
        yield as_typed(f"Next: minions-evals suite from-prompt --accept {waiting[0].test_case_id}")


def _audited(draft: operation.DraftShown) -> str:
    """What the audit shows of the draft's checks."""
    through = (*draft.cheats_passed, *draft.mutants_survived)
    if through:
        closes = "; --json shows stricter checks" if draft.suggestion else ""
        return f"these wrong answers pass: {', '.join(WORDS.get(kind, kind) for kind in through)}{closes}"
    if draft.not_audited:
        return f"not audited: {draft.not_audited} decides"
    if draft.findings:
        return f"audit: {', '.join(FINDINGS.get(one, one) for one in draft.findings)}"
    return "no tried wrong answer passes"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
