"""The people whom a store knows: added with a token that is shown once, known again by it, removed."""

from __future__ import annotations

import hashlib
import secrets
from functools import partial

from minions_evals_mcp.domain.speaker import EDITOR, Role, Speaker, person
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.speakers import Person

LONGEST_NAME = 128
PREFIX = "person-"
"""How a person's token begins, so that a log or a scanner knows one when it sees it."""


async def add_person(engine: Engine, name: str, role: Role | None = None) -> str:
    """The new token of that person; only its hash is kept. One who is known gets another in place of theirs, and keeps their role
    where none is given.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    await _keep(engine, name, token_hash(token), role)
    return token


async def change_role(engine: Engine, name: str, role: Role) -> Role:
    """Gives a person that role from their next request on; the role that they had. Raises `NotFoundError`."""
    at = engine.clock()

    def change(db: Db) -> Role | None:
        former = speakers.set_role(db, name, role)
        if former not in {None, role}:
            append(db, Event("person-role", "person", name, {"from": former, "to": role}), at=at)
        return former

    former = await engine.store.write(change)
    if former is None:
        raise NotFoundError("person", name, remedy=f"{Next('people-list', reason='shows who is known')}.")
    return former


async def confirm_person(engine: Engine, name: str) -> Speaker:
    """The person who confirmed at a terminal who they are; known from then on."""
    await _keep(engine, name, None, None)
    return person(name.strip())


async def _keep(engine: Engine, name: str, hashed: str | None, role: Role | None) -> None:
    if is_blank(name) or len(name.strip()) > LONGEST_NAME:
        raise BadInputError(
            f"a name has 1 to {LONGEST_NAME} characters.", remedy=f"{Next('people-add', reason='adds a person')}."
        )
    at = engine.clock()

    def keep(db: Db) -> None:
        speakers.save_person(db, name.strip(), hashed, at=at, role=role or EDITOR)
        if role is not None:
            speakers.set_role(db, name.strip(), role)
        append(db, Event("person-added", "person", name.strip(), {"token": hashed is not None}), at=at)

    await engine.store.write(keep)


async def known_people(engine: Engine) -> list[Person]:
    """Everybody whom the store knows as a person."""
    return await engine.store.read(speakers.people)


async def remove_person(engine: Engine, name: str) -> None:
    """Ends what the person's token opens; raises `NotFoundError`."""
    at = engine.clock()
    if not await engine.store.write(partial(speakers.remove_person, name=name, at=at)):
        raise NotFoundError("person", name, remedy=f"{Next('people-list', reason='shows who is known')}.")


async def person_with_token(engine: Engine, token: str) -> Speaker | None:
    """The person whose token that is; None where it is nobody's."""
    return await engine.store.read(lambda db: speakers.named_by_hash(db, token_hash(token)))


async def person_named(engine: Engine, name: str) -> Speaker | None:
    """The person whom the store knows by that name."""
    known = await engine.store.read(speakers.people)
    return next(
        (
            person(known_person.name, known_person.role)
            for known_person in known
            if known_person.name.casefold() == name.strip().casefold()
        ),
        None,
    )


async def only_person(engine: Engine) -> Speaker | None:
    """The person whom the store knows, where it knows just one."""
    known = await engine.store.read(speakers.people)
    return person(known[0].name, known[0].role) if len(known) == 1 else None


def token_hash(token: str) -> str:
    """Returns what is kept of a token. It has 256 random bits: no slow hash is needed to keep it from being guessed."""
    return hashlib.sha256(token.encode()).hexdigest()
