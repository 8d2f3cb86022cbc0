"""The answers of resources."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.server.edge.answer import Objects, ToolAnswer


class IndexAnswer(ToolAnswer):
    """The stored records: how many records of each type, the newest runs, and where the rest is read."""

    records: dict[str, int]
    runs: Objects
    guide: str
    templates: Sequence[str]


class ResultsAnswer(ToolAnswer):
    """A page of a run's results: the failed first, the lowest score first."""

    run_id: str
    state: str
    results: Objects


class OutboxAnswer(ToolAnswer):
    """The notifications of integrations, newest first, and how far that is."""

    waiting: Objects
    refused: Objects
    rows: Objects


class ProductionAnswer(ToolAnswer):
    """The judged production traces: verdicts, causes, a series for each agent and rubric, the newest failing."""

    since: str
    counts: Json
    waiting: int
    causes: dict[str, int]
    series: Objects
    points: Objects
    failing: Objects
