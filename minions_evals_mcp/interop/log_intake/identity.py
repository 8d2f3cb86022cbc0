"""The identity of what is imported: by its contents, so that the same changes nothing, new contents are new, and later scores are added."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import FOREIGN_SCORES, AgentRun, PromptVersion
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.tagged_values import listed_values
from minions_evals_mcp.engine.records.batch import is_final
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.engine.records.secret_marks import without_secrets
from minions_evals_mcp.errors import legible
from minions_evals_mcp.interop.logs.records import version_id
from minions_evals_mcp.interop.logs.sample import EvaluationLog
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

CHUNK = 1 << 20
_HEARD = "userTurns"
_SAME = frozenset({"agent_id", "inputs", "outputs", "tool_calls_log", "status", "error_message"})
"""What an output is: figures and notes about it may come later."""


def content_of(path: Path) -> str:
    """The digest of the file's bytes."""
    whole = hashlib.sha256()
    with legible(path), path.open("rb") as file:
        while chunk := file.read(CHUNK):
            whole.update(chunk)
    return whole.hexdigest()[:32]


def identified(db: Db, log: EvaluationLog, content: str) -> EvaluationLog:
    """The log under its id: its own, else that of an import of the same contents, else its file's name.

    Where another log has that name, a digest of the contents is added.
    """
    if log.own_id:
        return log
    known = records.log_with_content(db, log.format, content)
    if known is None:
        is_taken = records.minion(db, version_id(log)) is not None
        known = f"{log.id}-{content[:8]}" if is_taken else log.id
    return replace(log, id=known, content=content)


@dataclass(slots=True)
class Settling:
    """One reading of a log, whose records are settled with what is kept. `versions` are those of the outputs that were read."""

    versions: dict[str, None] = field(default_factory=dict[str, None])
    _waiting: dict[str, Arrival] = field(default_factory=dict[str, Arrival])

    def settle(self, db: Db, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """The records to be written: an output that is kept already takes its new scores, one of other contents another id."""
        kept = records.minions(db, [arrival.record.id for arrival in arrivals])
        out: list[Arrival] = []
        for arrival in arrivals:
            record = without_secrets(arrival.record)
            if of_type(record, PromptVersion) is not None:
                if record.id in kept:
                    out.append(replace(arrival, record=kept[record.id]))
                else:
                    self._waiting[record.id] = arrival
            elif (run := of_type(record, AgentRun)) is not None:
                out += self._settled(db, arrival, run, of_type(kept.get(record.id), AgentRun))
            else:
                out.append(arrival)
        return out

    def _settled(self, db: Db, arrival: Arrival, run: Record[AgentRun], kept: Record[AgentRun] | None) -> list[Arrival]:
        """The output, and before it its version where this is the first of it."""
        arrived = run
        if kept is not None and not is_final(kept.fields):
            run, kept = replace(run, created_at=kept.created_at), None  # what was under way is the same run, gone on
        elif kept is not None and not is_final(run.fields):
            run = kept  # a newer turn without an answer adds nothing yet to what is complete
        elif kept is not None and not _is_same(kept.fields, run.fields):
            run = replace(run, id=_other_id(run, _told(run.fields)))
            kept = records.get(db, run.id, AgentRun)
        if kept is not None and is_final(run.fields) and _went_on(kept.fields, run.fields):
            run = replace(arrived, id=_other_id(arrived, digest([_told(arrived.fields), _heard(arrived.fields)])))
            kept = records.get(db, run.id, AgentRun)
        if kept is not None:
            fields = _with_scores(kept.fields, run.fields)
            run = replace(kept, fields=fields)
        version = run.fields.prompt_version_ref
        if version is not None:
            self.versions[version] = None
        first = None if version is None else self._waiting.pop(version, None)
        settled = replace(arrival, record=run)
        return [settled] if first is None else [first, settled]


def _is_same(kept: AgentRun, run: AgentRun) -> bool:
    return _told(kept) == _told(run)


def _told(run: AgentRun) -> str:
    return digest(run.model_dump(mode="json", include=set(_SAME)))


def _other_id(run: Record[AgentRun], content: str) -> str:
    mark = f"-{content[:12]}"
    return f"{run.id[: 128 - len(mark)]}{mark}"


def _with_scores(kept: AgentRun, run: AgentRun) -> AgentRun:
    before = _scores(kept)
    new = [score for score in _scores(run) if score not in before]
    return kept.model_copy(update={"extra": {**kept.extra, FOREIGN_SCORES: [*before, *new]}}) if new else kept


def _went_on(kept: AgentRun, run: AgentRun) -> bool:
    """Whether the user said more since, and was answered the same."""
    return len(_heard(run)) > len(_heard(kept))


def _heard(run: AgentRun) -> list[JsonValue]:
    return listed_values(run.extra.get(_HEARD))


def _scores(run: AgentRun) -> list[JsonValue]:
    return listed_values(run.extra.get(FOREIGN_SCORES))
