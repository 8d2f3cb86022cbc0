"""The content of a neighbour's text: records, one or many, or the spans of a trace."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_json
from minions_evals_mcp.interop.spans import Span, is_otlp, spans_of
from minions_evals_mcp.interop.trajectory import is_trajectory, trajectory_run
from minions_evals_mcp.ports import Arrived


@dataclass(frozen=True, slots=True)
class HeldLog:
    """Records and relations as on the wire, and spans."""

    records: tuple[JsonValue, ...] = ()
    spans: tuple[Span, ...] = ()


def held_by(arrived: Arrived) -> HeldLog:
    """Returns what the text holds; raises `InvalidRecordError` saying where it cannot be read."""
    value: JsonValue = parse_json(arrived.text, arrived.where, is_log=True)  # pyright: ignore[reportAssignmentType]  JSON all through
    try:
        if is_otlp(value):
            return HeldLog(spans=tuple(spans_of(value)))
        if is_trajectory(value):
            return HeldLog((trajectory_run(value),))
    except ValueError as error:
        raise InvalidRecordError(str(error), where=arrived.where) from None
    except RecursionError:
        raise InvalidRecordError("nested too deeply", where=arrived.where) from None
    named, older, relations = (obj(value).get(name) for name in ("records", "minions", "relations"))
    minions = older if named is None else named
    if isinstance(minions, list):
        return HeldLog((*minions, *(relations if isinstance(relations, list) else ())))
    return HeldLog(tuple(value) if isinstance(value, list) else (value,))
