"""From a failure to a test case."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.engine.cases.promote import Promoted, promote_failure
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.plain import printable


async def promote(
    failure: str,
    /,
    *,
    corrected: str | None = None,
    why: str | None = None,
    into: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Make a test case of a failure: its input, what was wrong, and a check that this output fails.

    With --corrected the check passes on the corrected output and the case runs from now on. Without, it is a draft and
    waits until you promote it again with one. Sealed cases are never promoted.
    Example: minions-evals promote RUN:CASE --corrected "It arrives on 19 November."

    Parameters
    ----------
    failure
        RUN:CASE (a run's id, key or `latest`), a failure's or its test-run's id, an imported agent-run's, or `latest`: the
        newest failure.
    corrected
        What the agent should have answered: a text, or the name of a file that holds it.
    why
        What was wrong, in your words. Else as the failure says it.
    into
        The benchmark that takes the case up.
    """
    corrected = _text(corrected)
    async with session(common) as engine:
        meant = await whole_id(engine, failure, "eval-failure", "test-run", "agent-run")
        promotion = await promote_failure(engine, meant, corrected=corrected, why=why, into=into)
    return reply(common, promotion, _lines(promotion, failure))


def _text(text: str | None) -> str | None:
    """The text, or what the file of that name holds."""
    if text is None or "\n" in text or len(text) > 255 or not Path(text).is_file():
        return text
    try:
        return Path(text).read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"--corrected {text}: {error}.", remedy="Give a text file in UTF-8.") from None


def _lines(promoted: Promoted, failure: str) -> list[str]:
    checks = "; ".join(
        f"{assertion['type']} {printable(value_text(assertion.get('value')), 120)}" for assertion in promoted.assertions
    )
    lines = [
        f"{promoted.test_case_id}: {promoted.status}, {printable(promoted.name, 120)}",
        f"  what was wrong: {printable(promoted.what_was_wrong, 300)}",
        f"  checks: {checks}",
    ]
    if promoted.status == "draft":
        lines.append("  the output fails them; what is right nobody has said yet, so the case is not run. Say it:")
        lines.append(as_typed(f"  minions-evals promote {failure} --corrected TEXT"))
    else:
        lines.append("  the output fails them, the corrected one passes")
        lines.append(as_typed(f"  next: minions-evals run-test-case {promoted.test_case_id}"))
    return lines
