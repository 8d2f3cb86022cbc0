"""The speaker on the command line: a person by their token, or at a terminal where they once confirmed who they are; else an agent."""

from __future__ import annotations

import sys

from minions_evals_mcp.cli.access import needs_of
from minions_evals_mcp.cli.commands import COMMAND
from minions_evals_mcp.domain.speaker import Speaker, require_role
from minions_evals_mcp.engine.people.persons import confirm_person, only_person, person_named, person_with_token
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.settings import read_settings

AS_A_PERSON = "set MINIONS_EVALS_PERSON_TOKEN to the token of `minions-evals people add NAME`, or use a terminal, which asks you once"


async def require_role_of_token(engine: Engine, token: str) -> None:
    """Raises `NotAllowedError` where the token is that of a person whose role does not include the one that the command needs."""
    speaker = await person_with_token(engine, token)
    if speaker is not None:
        require_role(speaker, needs_of(COMMAND.get()))


async def speaker_at(engine: Engine, by: str = "") -> Speaker:
    """Who is acting: `by` is the name that was given; without one, at a terminal, the only person whom the store knows.

    Raises `BadInputError` for a token that is nobody's, or another person's than the one that was named, and `NotAllowedError` for a
    person whose role does not include the one that the command needs.
    """
    speaker = await _speaker_at(engine, by)
    require_role(speaker, needs_of(COMMAND.get()))
    return speaker


async def _speaker_at(engine: Engine, by: str) -> Speaker:
    token, name = read_settings().person_token, by.strip()
    if token is not None:
        return await _with_token(engine, token, name)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Speaker(name=name)
    known = await (person_named(engine, name) if name else only_person(engine))
    if not name:
        return known or Speaker()
    if known is not None:
        return known
    typed = _reply(
        f"{name} is not registered as a person in this store. Are you {name}, a person? Type the name again to confirm (asked only once): "
    )
    return await confirm_person(engine, name) if typed == name else Speaker(name=name)


async def person_at(engine: Engine, by: str = "") -> Speaker:
    """The person who is acting; raises `BadInputError` for an agent, and as `speaker_at` does."""
    speaker = await speaker_at(engine, by)
    if not speaker.is_person:
        raise BadInputError(
            "only a person can do this, and no person is identified here.",
            remedy=f"To identify yourself, {AS_A_PERSON}.",
        )
    return speaker


async def _with_token(engine: Engine, token: str, name: str) -> Speaker:
    speaker = await person_with_token(engine, token)
    if speaker is None:
        raise BadInputError(
            "MINIONS_EVALS_PERSON_TOKEN belongs to no person in this store.",
            remedy="minions-evals people add NAME prints a new one.",
        )
    if name and name.casefold() != speaker.name.casefold():
        raise BadInputError(
            f"--by names {name}, but the token belongs to {speaker.name}.",
            remedy="Leave --by out, or use your own token.",
        )
    return speaker


def _reply(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()
