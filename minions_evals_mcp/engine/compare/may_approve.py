"""The one question of an approval besides that the version wins: may this decider rest it on this evidence."""

from __future__ import annotations

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.compare.demands import vet_demands
from minions_evals_mcp.engine.compare.whose_evidence import Decider, vet_sources
from minions_evals_mcp.skills import Skills
from minions_evals_mcp.store.connection import Db


def may_approve(db: Db, comparison: Record[PromptComparison], decider: Decider, skills: Skills) -> None:
    """Raises `RuleError` (HR2) with the first thing that is missing.

    Asked are the sources of ruler, outputs and judgments, then the trust in checks and judges: seal, audit, licence.
    """
    vet_sources(db, comparison, decider)
    vet_demands(db, comparison, decider, skills)
