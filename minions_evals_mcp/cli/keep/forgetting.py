"""Erasure at the command line."""

from __future__ import annotations

import shlex
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.operator import forget as operation
from minions_evals_mcp.operations.operator import retain
from minions_evals_mcp.presentation.erasure_words import amounts
from minions_evals_mcp.project import NAME
from minions_evals_mcp.settings import settings_here


@takes("forget")
async def forget(
    *,
    yes: Annotated[bool, Parameter(negative="")] = False,
    retention: Annotated[bool, Parameter(negative="")] = False,
    given: GivenOptions,
    common: Common = DEFAULTS,
) -> int:
    """Erase content: replace it with a tombstone everywhere in the store and leave no byte of it in the file.

    Figures, verdicts and times stay, and so does a note of who erased what and when. You cannot undo it. Earlier
    copies (backups, reports, exports, delivered messages) are not changed. Delete them yourself.
    Example: minions-evals forget --subject "Ada Lovelace" --yes

    Parameters
    ----------
    yes
        Erase it. Without this, the answer counts what would be erased, and nothing changes.
    retention
        Erase content that is older than `[retention]` in the project file allows. The agent does this daily.
    """
    request = None if retention else given.request(operation.Request)
    async with session(common) as engine:
        if request is not None:
            answer = await operation.run(engine, request, counts_only=not yes)
        else:
            answer = await retain.run(engine, _days(), by="command-line", counts_only=not yes)
    if not yes and (answer.total or answer.sealed):
        raise _unconfirmed(answer, given, retention=retention)
    lines = [f"Erased: {amounts(answer.rows)}." if answer.total else "Nothing to erase."]
    if answer.sealed:
        lines = ["Erased the content. The store has a sealed benchmark, so no row count is shown."]
    if answer.encrypted:
        lines.append(f"{answer.encrypted} sealed cases are encrypted and could not be searched. End their seal first.")
    if yes:
        lines.append("Existing backups, reports and exports still contain the content.")
    return reply(common, answer.model_dump(mode="json"), lines)


def _unconfirmed(answer: operation.Answer, given: GivenOptions, *, retention: bool) -> BadInputError:
    """The refusal of an erasure that nobody has confirmed: what would be erased, and the command that erases it."""
    if answer.sealed:
        return BadInputError(
            "this erases content, and you cannot undo it. The store has a sealed benchmark, so no amount is shown.",
            remedy="Add --yes to erase it.",
        )
    named = {"subject": "--subject", "record_id": "--record", "before": "--before"}
    options = [
        word
        for name, option in named.items()
        if (value := given.values.get(name)) is not None
        for word in (option, str(value))
    ]
    command = shlex.join(["minions-evals", "forget", *(["--retention"] if retention else options), "--yes"])
    return BadInputError(
        f"this would erase the content of {amounts(answer.rows)}. You cannot undo it.",
        remedy=f"To erase it: {command}",
    )


def _days() -> dict[str, int]:
    """The days of the project's `[retention]`; raises `BadInputError` where it has none."""
    project = settings_here().project
    days = {} if project is None else project.fields.retention.days()
    if not days:
        raise BadInputError(
            "the project has no [retention].",
            remedy=f"Add a [retention] table to {NAME}, such as outputs = 90 (days).",
        )
    return days
