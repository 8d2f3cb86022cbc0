"""A/B tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.gates import BROKEN
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, say, session
from minions_evals_mcp.domain.tagged_values import json_or_text
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations import ab_test as operation
from minions_evals_mcp.operations.ab_test import InlineBranch
from minions_evals_mcp.operations.ids import with_whole_ids

if TYPE_CHECKING:
    from minions_evals_mcp.operations.ab_test import Answer


@takes("ab-test")
async def ab_test(
    case: str,
    /,
    *cases: str,
    given: GivenOptions,
    embedder: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Run two to five branches side by side on a test case, on several, or on a benchmark, and show which wins, by
    what, and how certain that is.

    Quality is the similarity of the output to the expected one. Exit 3 if no branch produced an output.
    Example: minions-evals ab-test support/refund --branch refund/fast --branch refund/careful --iterations 5

    Parameters
    ----------
    case
        A test case, or a benchmark: its active cases.
    cases
        More test cases.
    embedder
        Embedder for similarity: wordllama, semantic or openai:MODEL (MINIONS_EVALS_EMBEDDER).
    """
    inline = tuple(_inline(text) for text in given.values["branches"] or ())
    branches: list[str] = given.values["branch_ids"] or []
    async with session(common, embedder=embedder) as engine:
        ids = await operation.whole_ids(engine, (case, *cases))
        if not branches and not inline:
            branches = await operation.active_branches(engine, ids[0])
        subject = await operation.subject(engine, ids)
        asked = given.request(operation.Request, **subject, branches=inline, branch_ids=tuple(branches))
        request = await with_whole_ids(engine, asked)
        with progress_line(common, engine) as progress:
            result = await operation.run(engine, request, progress=progress)
    _show(result, common)
    return 0 if any(branch.runs > branch.failures for branch in result.branches) else BROKEN


def _inline(text: str) -> InlineBranch:
    """A branch written as PROVIDER:MODEL,NAME=VALUE,…; raises `BadInputError`."""
    head, *parts = text.split(",")
    provider, _, model = head.partition(":")
    fields: dict[str, JsonValue] = {"name": text, "provider": provider, "model": model}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInputError(f"--inline {text}: expected NAME=VALUE, got {part}.", remedy="--help shows an example.")
        fields[name.strip()] = value if name.strip() == "name" else json_or_text(value)
    try:
        return InlineBranch.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInputError(
            f"--inline {text}: {'.'.join(map(str, first['loc']))}: {first['msg']}.", remedy="--help shows an example."
        ) from None


def _show(result: Answer, common: Common) -> None:
    if common.json:
        say(result.model_dump(mode="json"))
        return
    from minions_evals_mcp.report.ab_tests import show_ab_test  # noqa: PLC0415  rich is imported where a person looks

    show_ab_test(result, store=common.db)
