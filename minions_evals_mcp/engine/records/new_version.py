"""A prompt edited as a new version: the next number, following the latest of its chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record, record_from_wire, wire_fields
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, batch_of, save_records, write_batch
from minions_evals_mcp.engine.version_chain import prompt_chain, versions_beside
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db


async def add_version(
    engine: Engine,
    *,
    prompt_id: str,
    content: str,
    changelog: str = "",
    description: str | None = None,
    id: str | None = None,  # noqa: A002  the documented name
) -> Record[PromptVersion]:
    """The next version of the prompt, following its latest; the first one of a prompt that has none yet.

    Raises `InvalidRecordError`, and `BadInputError` for a taken id or the very text of the latest version.
    """
    now = engine.clock()
    ident = id or engine.new_id()

    def add(db: Db) -> Record[PromptVersion]:
        if records.find(db, ident) is not None:
            raise BadInputError(f"the id {ident!r} is taken.", remedy="Leave it out, or name another.")
        latest, number = place_after(db, prompt_id)
        text = content.replace("\r\n", "\n")
        if latest is not None and text.strip() == latest.fields.content.strip():
            raise BadInputError(f"{latest.id}, the latest version of {prompt_id}, already has that text.")
        named = {"content": text, "versionNumber": number, "changelog": changelog.strip(), "promptId": prompt_id}
        about = {} if description is None else {"description": description}
        before = (
            {}
            if latest is None
            else {name: value for name, value in wire_fields(latest.fields).items() if name != "extra"}
        )
        wire: Json = {"id": ident, "type": PromptVersion.slug, "fields": {**before, **named, **about}}
        wire["title"] = prompt_id if latest is None else latest.title
        record = record_from_wire(wire, new_id="", now=now)
        relations = () if latest is None else (Relation(ident, latest.id, "follows"),)
        write_batch(db, batch_of([Arrival(record)], relations), by=engine.speaker, now=now)
        return records.require(db, ident, PromptVersion)

    return await engine.store.write(add)


def place_after(db: Db, prompt_id: str) -> tuple[Record[PromptVersion] | None, int]:
    """The latest version of the prompt, None where it has none, and the number of the next one."""
    try:
        chain = prompt_chain(db, prompt_id)
    except NotFoundError:
        return None, 1
    return records.require(db, chain.latest.id, PromptVersion), max(link.number for link in chain.links) + 1


def numbered(db: Db, wires: Sequence[Json], new_id: Callable[[], str]) -> tuple[list[Json], list[Relation]]:
    """The records with a number for each version of a prompt that comes without one: the next, behind the prompt's latest.

    A version that is stored keeps its number, and so does a text that the latest one has already.
    """
    placed: list[Json] = []
    relations: list[Relation] = []
    last: dict[str, tuple[str | None, str, int]] = {}
    for wire in wires:
        fields = wire.get("fields")
        prompt = fields.get("promptId") if isinstance(fields, dict) and wire.get("type") == PromptVersion.slug else None
        if not isinstance(fields, dict) or not isinstance(prompt, str) or {"versionNumber", "version"} & fields.keys():
            placed.append(wire)
            continue
        ident = wire.get("id")
        stored = records.get(db, ident, PromptVersion) if isinstance(ident, str) else None
        if prompt not in last:
            latest, number = place_after(db, prompt)
            last[prompt] = (None, "", 0) if latest is None else (latest.id, latest.fields.content, number - 1)
        before, content, number = last[prompt]
        if stored is not None:
            placed.append(
                {"title": stored.title, **wire, "fields": {**fields, "versionNumber": stored.fields.version_number}}
            )
            continue
        if before is not None and ident is None and str(fields.get("content")).strip() == content.strip():
            placed.append(_again(db, wire, fields, before, number))
            continue
        made = ident if isinstance(ident, str) else new_id()
        placed.append({"title": prompt, **wire, "id": made, "fields": {**fields, "versionNumber": number + 1}})
        if before is not None:
            relations.append(Relation(made, before, "follows"))
        last[prompt] = (made, str(fields.get("content")), number + 1)
    return placed, relations


def _again(db: Db, wire: Json, fields: Json, ident: str, number: int) -> Json:
    """The version that has the text already, as it is stored; one of the same batch is under its number there."""
    stored = records.get(db, ident, PromptVersion)
    held: Json = {} if stored is None else wire_fields(stored.fields)
    about: Json = {} if stored is None else {"title": stored.title}
    return {**about, **wire, "id": ident, "fields": {**held, **fields, "versionNumber": number}}


async def new_version(engine: Engine, after: str, content: str, *, changelog: str) -> Record[PromptVersion]:
    """The new version behind that one, which must be the latest of its prompt; what it says must be other than that says.

    Raises `NotFoundError` for an unknown version, `BadInputError` where another follows it or no changes.
    """
    before, last, number = await engine.store.read(lambda db: _place(db, after))
    if last != after:
        raise BadInputError(
            f"{after} is no longer the latest version. The latest is {last}.", remedy="Edit the latest one."
        )
    text = content.replace("\r\n", "\n")
    if is_blank(text) or text.strip() == before.fields.content.strip():
        raise BadInputError("no changes.", remedy="Change the text, then save it.")
    fields = before.fields.model_copy(
        update={"content": text, "version_number": number + 1, "changelog": changelog.strip() or "edited on the page"}
    )
    now = engine.clock()
    record = Record(engine.new_id(), fields, before.title, now, now)
    await save_records(engine, [Arrival(record)], (Relation(record.id, after, "follows"),))
    return record


def _place(db: Db, after: str) -> tuple[Record[PromptVersion], str, int]:
    before = records.require(db, after, PromptVersion)
    chain = versions_beside(db, after)
    versions = records.get_all(db, chain, PromptVersion).values()
    return before, chain[-1], max(version.fields.version_number for version in versions)
