"""A batch of records on its way in, and the store as it will be once it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.engine.records.pass_rule import with_pass_rule
from minions_evals_mcp.errors import EvalsError, InvalidRecordError, RuleError, UnsupportedError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

F = TypeVar("F", bound=Fields)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record on its way in; `where` tells where it came from (`file:line`).

    `of_config`: it stands in a config that a person runs, where a case may say who judges it, and in which words. `over` is
    what its change was made to: where something else is kept by now, somebody changed it meanwhile.
    """

    record: Record[Fields]
    where: Callable[[], str] = str
    of_config: bool = False
    over: Record[Fields] | None = None
    notes: tuple[str, ...] = ()
    """What was read otherwise than it was written."""


REFUSALS = (InvalidRecordError, UnsupportedError, RuleError)


def placed(error: InvalidRecordError | UnsupportedError | RuleError, arrival: Arrival) -> EvalsError:
    """The refusal with the record's name, file and line where it lacks them."""
    match error:
        case InvalidRecordError():
            return InvalidRecordError(
                error.reason,
                field=error.field,
                record=error.record or name_of(arrival.record),
                where=error.where or arrival.where(),
                remedy=error.remedy_text,
            )
        case UnsupportedError():
            return InvalidRecordError(
                error.message_text, record=name_of(arrival.record), where=arrival.where(), remedy=error.remedy_text
            )
        case RuleError():
            return error.at(arrival.where())


class View:
    """The store as it will be once the batch is written."""

    def __init__(self, db: Db, arrivals: Sequence[Arrival]) -> None:
        self.db = db
        self.arriving: dict[str, Record[Fields]] = {}
        self.of_config = {arrival.record.id for arrival in arrivals if arrival.of_config}
        for arrival in arrivals:
            if arrival.record.id in self.arriving:
                twice = InvalidRecordError("duplicate id", field="id", record=name_of(arrival.record))
                raise placed(twice, arrival)
            self.arriving[arrival.record.id] = arrival.record
        self.taken = records.result_ids(db, self.arriving)
        self.kept = records.minions(db, self.arriving)
        self.arriving = {ident: with_pass_rule(record, self.kept.get(ident)) for ident, record in self.arriving.items()}

    def get(self, ident: str, kind: type[F]) -> Record[F] | None:
        """The record of that type under that id, from the batch or the store."""
        return of_type(self.arriving.get(ident) or self.kept.get(ident) or records.minion(self.db, ident), kind)


def name_of(record: Record[Fields]) -> str:
    """Returns how a refusal names the record."""
    return f"{record.type} {record.id}"


def is_final(fields: Fields) -> bool:
    """Returns whether what is kept is never edited: all copies but an agent-run that is under way."""
    return not isinstance(fields, AgentRun) or fields.status in {"success", "failed"}
