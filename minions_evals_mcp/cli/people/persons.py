"""The people whom a store knows, and their tokens."""

from __future__ import annotations

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say, session
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.people import persons
from minions_evals_mcp.report.plain import printable


async def add(name: str, /, *, common: Common = DEFAULTS) -> int:
    """Add a person to the store and print their token. It is printed only once: the store keeps its hash.

    The same name again gets a new token. Whoever brings it is that person: on the command line and the page in
    MINIONS_EVALS_PERSON_TOKEN, over `minions-evals-mcp --http` as the bearer token.
    Example: minions-evals people add anna

    Parameters
    ----------
    name
        The person who acts with the token.
    """
    async with session(common, makes=True) as engine:
        token = await persons.add_person(engine, name)
    if common.json:
        say({"name": name.strip(), "token": token})
    else:
        tell(f"{token}\n")
        tell(
            f"{printable(name.strip(), 128)} speaks with this token. It is shown this once; keep it from agents.\n",
            aside=True,
        )
    return 0


async def remove(name: str, /, *, common: Common = DEFAULTS) -> int:
    """Revoke a person's token. Their judgments stay theirs.

    Example: minions-evals people remove anna

    Parameters
    ----------
    name
        Who is removed.
    """
    async with session(common) as engine:
        await persons.remove_person(engine, name)
    return reply(common, {"removed": name}, [f"{printable(name, 128)} is removed; what they said stays theirs."])


async def list_(*, common: Common = DEFAULTS) -> int:
    """List the people in the store, who have a token or confirmed at a terminal who they are.

    Example: minions-evals people list
    """
    async with session(common) as engine:
        known = await persons.known_people(engine)
    lines = [
        f"{printable(person.name, 128)}  {'token' if person.has_token else 'confirmed at a terminal'}, since {iso(person.since)}"
        for person in known
    ]
    return reply(
        common,
        {
            "people": [
                {"name": person.name, "hasToken": person.has_token, "since": iso(person.since)} for person in known
            ]
        },
        lines or [as_typed("nobody is known as a person yet: minions-evals people add NAME")],
    )
