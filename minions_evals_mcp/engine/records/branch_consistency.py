"""How alike the outputs of a branch are, measured when the branch is read."""

from __future__ import annotations

from collections import defaultdict
from typing import cast

from minions_evals_mcp.domain.definitions import Fields, TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.scoring.ab import consistency_score
from minions_evals_mcp.scoring.likeness.similarity import cosine
from minions_evals_mcp.store import branches
from minions_evals_mcp.store.connection import Db

COMPARED = 50
"""So many of a branch's newest outputs are compared with each other for its consistency."""
Outputs = dict[tuple[str | None, str | None, int | None], list[str]]
"""The outputs of a branch by test case, configuration and prompt version."""


async def with_consistency(engine: Engine, record: Record[Fields]) -> Record[Fields]:
    """A test-branch that has its figures with its consistency, as the branches of its case have it; any other as it is."""
    if not isinstance(record.fields, TestBranch):
        return record
    outputs = await engine.store.read(lambda db: outputs_of(db, record.id))
    return await consistent(engine, cast("Record[TestBranch]", record), outputs)


def outputs_of(db: Db, branch_id: str) -> Outputs:
    """The newest outputs of a branch by case, configuration and prompt version."""
    outputs: Outputs = defaultdict(list)
    for execution in branches.executions_of(db, branch_id, limit=COMPARED):
        if execution.fields.status == "success":
            fields = execution.fields
            outputs[fields.test_case_id, fields.configuration_digest, fields.prompt_version].append(fields.output)
    return outputs


async def consistent(engine: Engine, record: Record[TestBranch], outputs: Outputs) -> Record[TestBranch]:
    """The branch with the consistency of those outputs."""
    repeated = [output for output in outputs.values() if len(output) > 1]
    differing = list({text for texts in repeated if len(set(texts)) > 1 for text in texts})
    vectors = dict(zip(differing, await engine.embedder().embed(differing), strict=True)) if differing else {}

    def similarity(first: str, other: str) -> float:
        return 1.0 if first == other else cosine(vectors[first], vectors[other])

    measured = record.fields.model_copy(update={"consistency_score": consistency_score(repeated, similarity)})
    fields = measured.with_defaults()
    return cast("Record[TestBranch]", record.touched(fields, record.updated_at))
