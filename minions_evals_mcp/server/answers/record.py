"""A record as a caller sends it, read; what does not fit is told with its number and with what its type takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from pydantic import BaseModel

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import IMPORTABLE, TYPES, Envelope, reading_notes, record_from_wire
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.errors import InvalidRecordError

SAVED = (*IMPORTABLE, EvalFailure.slug)
"""What `save_records` takes; of an eval-failure its resolution only."""


def arrival(wire: Json, number: int, *, new_id: str, now: datetime) -> Arrival:
    """The record on its way in; raises `InvalidRecordError` that a caller without any manual can act on."""
    kind = wire.get("type")
    where = f"records.{number}"
    if not isinstance(kind, str) or kind not in SAVED:
        raise InvalidRecordError(_no_type(kind), field="type", where=where)
    try:
        record = record_from_wire(wire, new_id=new_id, now=now)
        return Arrival(record, partial(str, where), notes=reading_notes(wire))
    except InvalidRecordError as error:
        is_of_type = error.field.startswith("fields.")
        if is_of_type:
            raise fitting(kind, TYPES[kind], error).at(where) from None
        refusal = fitting("a record", Envelope, error)
        raise InvalidRecordError(
            refusal.reason,
            field=refusal.field,
            record=refusal.record,
            where=where,
            remedy=f"{_misplaced(kind, wire)}{refusal.remedy_text}",
        ) from None


def _misplaced(kind: str, wire: Json) -> str:
    """Says which of the type's fields stand beside `fields`."""
    envelope, fields = ({str(info.alias) for info in model.model_fields.values()} for model in (Envelope, TYPES[kind]))
    names = [name for name in wire if name in fields - envelope]
    return f"Put {', '.join(names)} into fields. " if names else ""


def fitting(what: str, model: type[BaseModel], error: InvalidRecordError) -> InvalidRecordError:
    """The same refusal, with the names that the model takes: the required ones marked, the nearest to a wrong one first."""
    names = {str(info.alias): info.is_required() for info in model.model_fields.values()}
    given = error.field.removeprefix("fields.").removeprefix("payload.").partition(".")[0]
    hint = "" if given in names else _asked_back(given, names)
    names_listed = ", ".join(f"{name}*" if required else name for name, required in names.items())
    remedy = f"{hint} {what} takes {names_listed} (* required).".strip()
    return InvalidRecordError(f"{error.reason}.", field=error.field, record=error.record, remedy=remedy)


def _no_type(kind: object) -> str:
    takes = f"it is one of {', '.join(SAVED)}."
    if isinstance(kind, str) and kind in TYPES:
        return f"a {kind} is created by runs or by the outbox; {takes}"
    return f"{_asked_back(kind, SAVED)} {takes}".strip() if isinstance(kind, str) else takes


def _asked_back(given: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(given, list(known), 1, 0.5)
    return f"Did you mean {near[0]}?" if near else ""
