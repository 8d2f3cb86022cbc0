"""No tool takes in a judge, words to one, or code that judges: an address in them would be sent the operator's key."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from tests.shared.server.hosts import Host, rows

OWN: dict[str, JsonValue] = {
    "provider": {"model": "openai:m", "baseUrl": "http://elsewhere"},
    "rubricPrompt": "file:///etc/passwd",
}


@pytest.mark.parametrize("field", OWN)
async def test_an_assertion_over_a_tool_names_no_judge_and_no_words(host: Host, field: str) -> None:
    asserted: JsonValue = {"type": "llm-rubric", "value": "kind", field: OWN[field]}
    case: JsonValue = {"id": "x", "type": "test-case", "fields": {"name": "x", "assertions": [asserted]}}
    said = await host.refused("save_records", records=[case])
    assert f"{field}: only a config that a person runs" in said
    scored = await host.call("score_outputs", rows=[{"id": "1", "output": "x", "assert": [asserted]}])
    assert "only a config that a person runs" in str(scored)
    assert not rows(await host.call("list_records", type="test-case"), "records")


async def test_a_case_over_a_tool_brings_no_code_that_judges(host: Host) -> None:
    fields: JsonValue = {"name": "x", "scoring": {"language": "javascript", "code": "file://x.js"}}
    said = await host.refused("save_records", records=[{"id": "x", "type": "test-case", "fields": fields}])
    assert "allowed only in a config that a person runs" in said
