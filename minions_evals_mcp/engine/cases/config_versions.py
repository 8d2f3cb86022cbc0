"""The wordings of an evaluated config, made versions of one prompt: what a comparison, and then an approval, can be about."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.version_chain import prompt_chain
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.prompt_texts.version_text import NUNJUCKS
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.overview import config_columns


class ConfigVersions(Value):
    """The versions of the prompt that the config's wordings are now, in its order; `added`: those that were none before.

    `targets` are the models that the config asked, as `--target` takes them.
    """

    prompt_id: str
    benchmark_id: str
    versions: tuple[str, ...]
    added: tuple[str, ...]
    targets: tuple[str, ...]


async def versions_of_config(engine: Engine, prompt_id: str, benchmark_id: str) -> ConfigVersions:
    """Keeps each wording of the config as a version of the prompt, behind those that it has; one that it has is not kept again.

    Raises `BadInputError` where the benchmark is no config's, or code writes its prompts.
    """
    wordings, targets = await engine.store.read(partial(_wordings, benchmark_id=benchmark_id))
    chain = await engine.store.read(partial(_versions, prompt_id=prompt_id))
    known = {link.fields.content: link.id for link in chain}
    newest, number = (chain[-1].id, chain[-1].fields.version_number) if chain else (None, 0)
    arrivals: list[Arrival] = []
    follows: list[Relation] = []
    for wording in wordings:
        if wording.content in known:
            continue
        number += 1
        ident, at = f"{prompt_id}@{number}", engine.clock()
        fields = wording.model_copy(update={"prompt_id": prompt_id, "version_number": number})
        arrivals.append(Arrival(Record(ident, fields, ident, at, at)))
        follows += [] if newest is None else [Relation(ident, newest, "follows")]
        known[wording.content] = newest = ident
    await save_records(engine, arrivals, follows)
    return ConfigVersions(
        prompt_id=prompt_id,
        benchmark_id=benchmark_id,
        versions=tuple(known[wording.content] for wording in wordings),
        added=tuple(arrival.record.id for arrival in arrivals),
        targets=targets,
    )


def _wordings(db: Db, *, benchmark_id: str) -> tuple[list[PromptVersion], tuple[str, ...]]:
    columns = config_columns(db, benchmark_id)
    versions = [
        records.get(db, ident, PromptVersion) for ident in dict.fromkeys(column.version for column in columns) if ident
    ]
    wordings = [version.fields for version in versions if version is not None]
    if not wordings:
        raise BadInputError(
            f"{benchmark_id} is not an evaluated config.",
            remedy=f"{Next('eval', {'config': 'CONFIG'}, 'evaluates one')}. {Next('runs', reason='shows its id')}.",
        )
    if any(NUNJUCKS not in wording.tags for wording in wordings):
        raise BadInputError(
            f"code generates the prompts of {benchmark_id}, so they have no text to save as a version.",
            remedy="Write them as text.",
        )
    return wordings, tuple(dict.fromkeys(column.provider for column in columns))


def _versions(db: Db, *, prompt_id: str) -> list[Record[PromptVersion]]:
    try:
        idents = prompt_chain(db, prompt_id).version_ids
    except NotFoundError:  # the prompt begins with these wordings
        return []
    versions = (records.get(db, ident, PromptVersion) for ident in idents)
    return [version for version in versions if version is not None]
