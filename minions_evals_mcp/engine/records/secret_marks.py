"""Copies of what agents produced, with marks in place of the secrets that this process knows."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.neighbours import AgentRun, ProposalDraft
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.known_secrets import any_known, counted, masked
from minions_evals_mcp.store.events import Event

PRODUCED: dict[type[Fields], set[str]] = {
    AgentRun: {"outputs", "tool_calls_log", "error_message"},
    ProposalDraft: {"title", "content"},
}
"""The fields of a copy that an agent filled; the others say what it was asked."""


def without_secrets(record: Record[Fields]) -> Record[Fields]:
    """The copy as it is kept; any other record as it is."""
    if not any_known():
        return record
    produced = _produced(record)
    if masked(produced) == produced:
        return record
    changed = type(record.fields).model_validate_json(masked(produced))
    names = PRODUCED[type(record.fields)]
    fields = record.fields.model_copy(update={name: getattr(changed, name) for name in names})
    return replace(record, fields=fields, title=masked(record.title))


def secrets_marked(record: Record[Fields]) -> Event | None:
    """Returns what is told of the marks in a copy: which secret, how often; None where there is none."""
    replaced = counted(_produced(record)) if any_known() else {}
    return Event("secrets-marked", record.type, record.id, {"replaced": {**replaced}}) if replaced else None


def _produced(record: Record[Fields]) -> str:
    """Returns what the agent produced as JSON, with the fields that its type cannot do without."""
    names = PRODUCED.get(type(record.fields))
    if names is None:
        return "{}"
    needed = {name for name, field in type(record.fields).model_fields.items() if field.is_required()}
    return record.fields.model_dump_json(include=names | needed)
