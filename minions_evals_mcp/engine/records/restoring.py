"""Records of a file that a person hands in, as an export is: who judges a case may stand in it, where that is may not."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.engine.records.batch import REFUSALS, Arrival, placed
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.judges import refuse_elsewhere


def handed_in(arrival: Arrival) -> Arrival:
    """The arrival with the judges, the words to them and the code that judges which a config once brought.

    Raises `InvalidRecordError` for a judge with an address or a key of its own, and for words or code that are a file's.
    """
    fields = arrival.record.fields
    if not isinstance(fields, TestCase):
        return arrival
    try:
        _refuse_elsewhere(fields)
    except REFUSALS as error:
        raise placed(error, arrival) from None
    return Arrival(arrival.record, arrival.where, of_config=True)


def _refuse_elsewhere(case: TestCase) -> None:
    for number, assertion in enumerate(case.checks):
        refuse_elsewhere(assertion, at=f"fields.assertions[{number}]")
    if case.scoring is not None and case.scoring.code.startswith("file://"):
        raise InvalidRecordError("a record holds the code itself, not the name of a file", field="fields.scoring.code")
