"""From a failure to a test case."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations import promote_failure as operation
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.plain import printable


@takes("promote")
async def promote(
    failure: str,
    /,
    *,
    given: GivenOptions,
    common: Common = DEFAULTS,
) -> int:
    """Turn a failure into a test case: its input, what was wrong, and a check that this output fails.

    With --corrected, the check passes on the corrected output and the case is active. Without it, the case is a draft
    until you promote it again with one. Sealed cases are never promoted.
    Example: minions-evals promote RUN:CASE --corrected "It arrives on 19 November."

    Parameters
    ----------
    failure
        RUN:CASE (with a run's id, key or `latest`), the id of a failure, a test-run or an imported agent-run, or
        `latest` for the newest failure.
    """
    request = given.request(operation.Request, failure_id=failure, corrected=_text(given.values["corrected"]))
    async with session(common) as engine:
        promotion = await operation.run(engine, await with_whole_ids(engine, request))
    return reply(common, promotion, _lines(promotion, failure))


def _text(text: str | None) -> str | None:
    """The text, or what the file of that name holds."""
    if text is None or "\n" in text or len(text) > 255 or not Path(text).is_file():
        return text
    try:
        return bounded_files.read_text(Path(text)).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"--corrected {text}: {error}.", remedy="Name a UTF-8 text file.") from None


def _lines(promoted: operation.Promoted, failure: str) -> list[str]:
    checks = "; ".join(
        f"{assertion['type']} {printable(value_text(assertion.get('value')), 120)}" for assertion in promoted.assertions
    )
    lines = [
        f"{promoted.test_case_id}: {promoted.status}, {printable(promoted.name, 120)}",
        f"  what was wrong: {printable(promoted.what_was_wrong, 300)}",
        f"  checks: {checks}",
    ]
    if promoted.status == "draft":
        lines.append("  The output fails them. The case has no correct answer yet, so it is not run. Add one:")
        lines.append(as_typed(f"  minions-evals promote {failure} --corrected TEXT"))
    else:
        lines.append("  The output fails them, the corrected output passes")
        lines.append(as_typed(f"  Next: minions-evals run-test-case {promoted.test_case_id}"))
    return lines
