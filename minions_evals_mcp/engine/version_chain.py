"""The one place where a name becomes a prompt version: an id, `PROMPT@NUMBER`, `PROMPT@latest`, or a bare number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.prompts.version_chain import Chain, chain_named, chains, listed_numbers
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import list_them
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import case_history, version_rows

LATEST = "latest"
_PLACE = re.compile(rf"[1-9]\d{{0,8}}|{LATEST}")
_PLACED = re.compile(rf"(?P<prompt>.+)@(?P<place>{_PLACE.pattern})")
KINDS = "prompt or prompt-version"


def prompt_chain(db: Db, name: str) -> Chain:
    """The prompt that a `promptId` or any of its versions names; raises `NotFoundError`."""
    chain = chain_named(chains(version_rows.links(db, name)), name)
    if chain is None:
        raise NotFoundError(KINDS, name, remedy=list_them("prompt-version"))
    return chain


def versions_beside(db: Db, version: str) -> tuple[str, ...]:
    """The versions of the prompt that the version is of, oldest first; itself where it is not recorded."""
    return prompt_chain(db, version).version_ids if version_record(db, version) is not None else (version,)


def versions_ever(db: Db, version: str) -> tuple[str, ...]:
    """As `versions_beside`, with those that were deleted: what was approved, measured or in use stays so."""
    links = [replace(link, hidden=False) for link in version_rows.links(db, version)]
    chain = chain_named(chains(links), version) if links else None
    return (version,) if chain is None else chain.version_ids


def find_version(db: Db, name: str, *, prompt: str | None = None) -> Record[PromptVersion]:
    """The recorded version of that name; a bare number and `latest` are those of `prompt`.

    Raises `NotFoundError` with the numbers that there are, `BadInputError` for a number that several versions bear or
    whose prompt is not known.
    """
    version = version_record(db, name)
    if version is not None:
        return version
    placed = _PLACED.fullmatch(name)
    if placed is not None:
        return _at(db, placed["prompt"], placed["place"])
    if _PLACE.fullmatch(name) is None:
        raise NotFoundError("prompt-version", name, remedy=_how_named(db, name))
    if prompt is None:
        newest = version_rows.newest_prompt(db)
        such = f", such as {newest}@{name}" if newest else ""
        raise BadInputError(f"the version {name} needs its prompt.", remedy=f"Name it as PROMPT@{name}{such}.")
    return _at(db, prompt, name)


def version_record(db: Db, ident: str | None) -> Record[PromptVersion] | None:
    """The recorded version under that id, unless it was deleted."""
    return None if ident is None else records.get(db, ident, PromptVersion, hidden=False)


def find_ref(db: Db, name: str, *, prompt: str | None = None) -> str:
    """The id of the version of that name, also of one that only recorded agent-runs name; raises as `find_version`."""
    if version_record(db, name) is None and version_rows.is_named_by_runs(db, name):
        return name
    return find_version(db, name, prompt=prompt).id


def default_name(case: TestCase) -> str | None:
    """The name of the version that a case is run with where none is asked for: its own, else its prompt's latest."""
    own, prompt = case.prompt_version_ref, case.prompt_id
    if own is not None:
        return f"{prompt}@{own}" if prompt is not None and _PLACE.fullmatch(own) else own
    return None if prompt is None else f"{prompt}@{LATEST}"


def default_version(db: Db, case: TestCase) -> Record[PromptVersion] | None:
    """The version that a case is run with where none is asked for; None where it names no prompt or none is recorded."""
    name = default_name(case)
    if name is None:
        return None
    try:
        return find_version(db, name)
    except NotFoundError:
        return None


def prompt_of_case(db: Db, case: TestCase) -> str | None:
    """The prompt that a case is of: the one that it names, else that of the version that it names."""
    if case.prompt_id is not None or case.prompt_version_ref is None:
        return case.prompt_id
    version = default_version(db, case)
    if version is not None:
        return prompt_chain(db, version.id).prompt_id
    placed = _PLACED.fullmatch(case.prompt_version_ref)
    return None if placed is None else placed["prompt"]


def cases_of_prompt(db: Db, prompt_id: str) -> list[Record[TestCase]]:
    """The test cases of the prompt, as `prompt_of_case` has it, in the order in which they were made."""
    try:
        versions = prompt_chain(db, prompt_id).version_ids
    except NotFoundError:
        versions = ()
    return case_history.cases_of_prompt(db, prompt_id, versions)


def common_prompt(db: Db, cases: Iterable[TestCase]) -> str | None:
    """The prompt that all of those cases are of, None where they are of several or of none."""
    named = {prompt_of_case(db, case) for case in cases}
    return named.pop() if len(named) == 1 else None


def _at(db: Db, prompt: str, place: str) -> Record[PromptVersion]:
    """The version at that place of the prompt's chain: a number, or `latest`."""
    chain = prompt_chain(db, prompt)
    links = [chain.latest] if place == LATEST else [*chain.numbered(int(place))]
    if not links:
        raise NotFoundError(
            "prompt-version", f"{prompt}@{place}", remedy=f"Its versions are {listed_numbers(chain.links)}."
        )
    if len(links) > 1:
        ids = ", ".join(link.id for link in links)
        raise BadInputError(f"{prompt}@{place} matches {len(links)} versions: {ids}.", remedy="Name one by its id.")
    version = version_record(db, links[0].id)
    assert version is not None, "the chain lists recorded versions"
    return version


def _how_named(db: Db, name: str) -> str:
    if name in chains(version_rows.links(db, name)):
        return f"This is a prompt. Name a version as {name}@{LATEST} or {name}@NUMBER."
    return f"{list_them('prompt-version')} Name one by its id, or as PROMPT@NUMBER or PROMPT@latest."
