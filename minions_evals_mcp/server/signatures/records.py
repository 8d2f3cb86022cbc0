"""The arguments and answers of the tools that list, read, save and hide records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minions_evals_mcp.domain.request_fields import Names
from minions_evals_mcp.server.edge.answer import Object, Objects, ToolAnswer
from minions_evals_mcp.server.edge.argument_types import LISTED, SAVED_AT_ONCE, Cursor, Detail, Fields, Id, Json, Limit
from minions_evals_mcp.server.edge.guard import ToolArguments


class ListRecords(ToolArguments):
    """list_records"""

    type: Literal[LISTED]  # pyright: ignore[reportInvalidTypeForm]  the names stand in one place
    limit: Limit = 20
    cursor: Cursor | None = None
    detail: Detail = "summary"
    fields: Fields = []


class GetRecord(ToolArguments):
    """get_record"""

    id: Annotated[Id, Names(("record",))]
    detail: Detail = "summary"
    fields: Fields = []
    cursor: Annotated[Cursor | None, Field(description="Read the record's JSON text from this position")] = None


class Follows(ToolArguments):
    """A newer prompt version follows an older one."""

    source_id: Id
    target_id: Id
    type: Literal["follows"] = "follows"


RECORDS = (
    "1 to 200 of {id, type, fields}. Fields: test-case name, inputs {}, expectedOutputs {output}, assertions [{type, value,"
    " threshold?}], rubricId, world?; world name, state {}, servers {NAME: {tools: [{name, rules: [{when?, result, changes?}]}]}}"
    "; benchmark name, testCaseIds; rubric name, passingThreshold, criteriaIds; rubric-criterion"
    " rubricId, name, description, maxScore; agent-run agentId, inputs, outputs; prompt-version promptId, content"
    " (versionNumber: else the next). Some assertions: equals, contains, icontains, contains-all, contains-any,"
    " regex, is-json, latency, cost, is-refusal,"
    " python, javascript, llm-rubric, factuality, tool-call-f1, trajectory:tool-used, state {query, equals},"
    " effect {tool, args?, times?}; not-TYPE negates"
)
"""The shape in words: Codex drops examples, and no host shows what an array holds."""


class SaveRecords(ToolArguments):
    """save_records"""

    records: Annotated[
        list[Json],
        Field(
            min_length=1,
            max_length=SAVED_AT_ONCE,
            description=RECORDS,
            examples=[
                [
                    {
                        "id": "c1",
                        "type": "test-case",
                        "fields": {"name": "Refund", "inputs": {"q": "…"}, "expectedOutputs": {"output": "30 days"}},
                    },
                    {"id": "b1", "type": "benchmark", "fields": {"name": "Support", "testCaseIds": ["c1"]}},
                ]
            ],
        ),
    ]
    relations: Annotated[list[Follows], Field(max_length=SAVED_AT_ONCE)] = []
    merge: Annotated[
        bool, Field(description="Keep omitted fields. Send updatedAt as read: refused if changed since")
    ] = False


class DeleteRecord(ToolArguments):
    """delete_record"""

    id: Id


class RecordsAnswer(ToolAnswer):
    """A page of records."""

    records: Objects = []


class RecordAnswer(ToolAnswer):
    """One record, and what it is linked to."""

    record: Object | None = None
    relations: Objects = []
    gates: Objects | None = None
    id: str = ""
    part: str = ""


class SavedAnswer(ToolAnswer):
    """The number of records that were new, changed, or said what was kept already; `ids` are those that were made here."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    ids: list[str] = []


class DeletedAnswer(ToolAnswer):
    """The record that is hidden now."""

    id: str
    type: str
