"""The people whom a store knows, and their tokens."""

from __future__ import annotations

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say, session
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.speaker import Role
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.people import persons
from minions_evals_mcp.report.plain import printable


async def add(name: str, /, *, role: Role | None = None, common: Common = DEFAULTS) -> int:
    """Add a person to the store and print their token. It is printed only once: the store keeps its hash.

    If the person exists, they get a new token. They use it in MINIONS_EVALS_PERSON_TOKEN on the command line, to sign
    in to the pages, and as the bearer token of `minions-evals-mcp --http`.
    Example: minions-evals people add anna --role judge

    Parameters
    ----------
    name
        The person who acts with the token.
    role
        A viewer reads, a judge also judges outputs, an editor does everything. Default: editor. An existing person
        keeps their role.
    """
    async with session(common, makes=True) as engine:
        token = await persons.add_person(engine, name, role)
    if common.json:
        say({"name": name.strip(), "token": token})
    else:
        tell(f"{token}\n")
        tell(
            f"{printable(name.strip(), 128)} signs in with this token. It is shown only once. Keep it away from agents.\n",
            aside=True,
        )
    return 0


async def role_(name: str, role: Role, /, *, common: Common = DEFAULTS) -> int:
    """Change what a person may do, from their next request on. Their token stays valid.

    Example: minions-evals people role anna viewer

    Parameters
    ----------
    name
        Whose role changes.
    role
        A viewer reads, a judge also judges outputs, an editor does everything.
    """
    async with session(common) as engine:
        former = await persons.change_role(engine, name, role)
    said = (
        f"{printable(name, 128)} is now {_a(role)}."
        if former != role
        else f"{printable(name, 128)} was {_a(role)} already."
    )
    return reply(common, {"name": name, "role": role, "former": former}, [said])


def _a(role: Role) -> str:
    return f"an {role}" if role == "editor" else f"a {role}"


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
    return reply(common, {"removed": name}, [f"{printable(name, 128)} is removed. Their judgments keep their name."])


async def list_(*, common: Common = DEFAULTS) -> int:
    """List the people in the store: those with a token, and those who confirmed their name at a terminal.

    Example: minions-evals people list
    """
    async with session(common) as engine:
        known = await persons.known_people(engine)
    lines = [_line(person) for person in known]
    return reply(
        common,
        {
            "people": [
                {"name": person.name, "role": person.role, "hasToken": person.has_token, "since": iso(person.since)}
                for person in known
            ]
        },
        lines or [as_typed("no people yet. Add one: minions-evals people add NAME")],
    )


def _line(known: persons.Person) -> str:
    how = "token" if known.has_token else "confirmed at a terminal"
    return f"{printable(known.name, 128)}  {known.role}, {how}, since {iso(known.since)}"
