"""Trying a candidate version."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.operations import try_version as operation
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.next_command import next_line


@takes("try-version")
async def try_version(
    id: str,  # noqa: A002  the argument's name
    version: str,
    /,
    *,
    given: GivenOptions,
    judge_model: str | None = None,
    embedder: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Compare a candidate with the version in use. For sealed cases you see only the verdict.

    Example: minions-evals try-version support/quality support/prompt@3 --sealed

    Parameters
    ----------
    id
        The benchmark.
    version
        The candidate, or with --content the prompt whose next version it is.
    judge_model
        Judge model, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    embedder
        Embedder for similarity: wordllama, semantic or openai:MODEL (MINIONS_EVALS_EMBEDDER).
    """
    async with session(common, judge_model=judge_model, embedder=embedder) as engine:
        request = await with_whole_ids(engine, given.request(operation.Request, benchmark_id=id, version=version))
        with progress_line(common, engine, takes_key=True) as progress:
            answer = await operation.run(engine, request, progress=progress)
    return reply(common, answer, [answer.in_words, *_following(answer, common.db)])


def _following(answer: operation.Answer, store: Path | None) -> list[str]:
    """The command that follows: where sealed cases decided, the approval that they allow; else that of the open comparison."""
    if answer.may_be_approved:
        return [next_line(f"approve {answer.version} --by YOU", store)]
    if answer.open is None or answer.sealed is not None:
        return []
    from minions_evals_mcp.report.comparisons import after_comparison  # noqa: PLC0415  rich is imported where a person looks

    return [next_line(after_comparison(answer.open), store)]
