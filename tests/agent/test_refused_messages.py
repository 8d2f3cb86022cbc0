"""Who sent what is no message is told why, by whichever way it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.shared.agent.desk import Desk

WRONG: dict[str, JsonValue] = {"fromAgentId": "anna", "id": "m", "type": "create-test-branch",
         "payload": {"testCaseId": "c", "name": "X", "provider": "cohere", "model": "m"}}  # fmt: skip


def told(desk: Desk, name: str) -> list[dict[str, object]]:
    return [json.loads(line)["fields"] for line in (desk.folder / "out" / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("way", ["stdin", "watch"])
def test_the_sender_of_a_payload_that_is_refused_is_told_the_field(tmp_path: Path, way: str) -> None:
    desk = Desk(tmp_path)
    if way == "stdin":
        desk.drained(WRONG, {"id": "lost", "type": 3}, options=("--deliver-to", "out"))
    else:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.json").write_text(json.dumps(WRONG))
        desk.drained(options=("--watch", "in", "--deliver-to", "out"))
    (answer,) = told(desk, "anna")
    assert answer["type"] == "create-test-branch-failed"
    payload = answer["payload"]
    assert isinstance(payload, dict)
    assert (payload["messageId"], payload["type"]) == ("m", "create-test-branch")
    assert "payload.provider: Input should be 'openai', 'anthropic' or 'gemini'" in payload["reason"]
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["anna.jsonl"], "who is not named is not told"
