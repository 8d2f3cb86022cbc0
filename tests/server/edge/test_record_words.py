"""A record or a message that does not fit is refused with what its type takes: an agent needs no manual beside the tools."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.records import IMPORTABLE, TYPES
from tests.shared.server.hosts import Host, suite
from tests.workshop import Json


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ({"type": "test-case", "fields": {"name": "x", "inptus": {}}}, ("inptus", "Did you mean inputs?", "rubricId")),
        ({"type": "test-case", "fields": {}}, ("fields.name: is missing", "name*", "inputs", "expectedOutputs")),
        ({"type": "rubric-criterion", "fields": {"name": "x"}}, ("rubricId*", "scoringGuide", "maxScore")),
        ({"type": "test-case", "titel": "x", "fields": {"name": "x"}}, ("titel", "Did you mean title?", "tags")),
        ({"type": "benchmark", "fields": {"name": "x"}}, ("testCaseIds*", "passingThreshold")),
        ({"type": "test-cas", "fields": {}}, ("type", "Did you mean test-case?")),
        ({"type": "test-run", "fields": {}}, ("a test-run is created by runs", "it is one of test-case, rubric")),
        ({"fields": {}}, ("type: it is one of test-case, rubric",)),
        ({"type": ["test-case"], "fields": {}}, ("type: it is one of test-case, rubric",)),
    ],
)
async def test_a_record_that_does_not_fit_is_told_by_number_with_what_its_type_takes(
    host: Host, wire: JsonValue, said: tuple[str, ...]
) -> None:
    found = await host.refused("save_records", records=[*suite(1), wire])
    assert found.startswith("invalid-record: records.3: ")
    assert all(one in found for one in said), found
    assert (await host.call("list_records", type="test-case"))["records"] == []


async def test_every_field_of_every_type_that_can_be_saved_is_named_in_its_refusal(host: Host) -> None:
    for kind in IMPORTABLE:
        wish: Json = {"type": kind, "fields": {"zzz": 1}}
        found = await host.refused("save_records", records=[wish])
        assert all(str(info.alias) in found for info in TYPES[kind].model_fields.values()), kind


async def test_a_payload_that_does_not_fit_is_told_with_what_its_message_takes(host: Host) -> None:
    found = await host.refused("send_message", type="run-benchmark", payload={"benchmark": "b"})
    assert "Did you mean benchmarkId?" in found
    assert "benchmarkId*" in found
    assert "promptVersionRef" in found


async def test_an_edited_output_is_told(host: Host) -> None:
    wire: Json = {
        "id": "a",
        "type": "agent-run",
        "fields": {"agentId": "x", "inputs": {"q": "c"}, "outputs": {"output": "bad"}},
    }
    await host.call("save_records", records=[wire])
    fields: Json = {"agentId": "x", "inputs": {"q": "c"}, "outputs": {"output": "good"}}
    told = await host.call("save_records", records=[{**wire, "fields": fields}])
    assert "a was edited: it is kept as it was, hidden, and the new output is a:edit-" in str(told["summary"])
