"""Keys that nearly match a field: read as it and named in the answer, or refused; nothing is lost or kept without a word."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest
from mcp import Client, stdio_client
from pydantic import JsonValue

from minions_evals_mcp.domain.incoming.near_keys import SYNONYMS
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import IMPORTABLE, TYPES, record_from_wire
from minions_evals_mcp.domain.records import reading_notes as notes_of
from minions_evals_mcp.engine.records.save_records import Arrival, reading_notes
from minions_evals_mcp.errors import InvalidRecordError
from tests.hang import HANG_S
from tests.shared.server.hosts import Host, part
from tests.shared.server.wire import forked
from tests.workshop import Json

NOW = datetime(2026, 11, 29, tzinfo=UTC)
RUN: Json = {
    "id": "r1", "type": "agent-run",
    "fields": {"agentId": "a", "input": {"q": "1"}, "output": "four", "promptVersionId": "p@1", "model": "m-1"},
}  # fmt: skip


async def test_near_keys_of_an_agent_run_are_read_and_named(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            saved = str((await host.call("save_records", records=[RUN]))["summary"])
            assert "read input as inputs, output as outputs, promptVersionId as promptVersionRef" in saved
            assert "unknown keys kept in extra: model" in saved
            fields = part(part(await host.call("get_record", id="r1", detail="full"), "record"), "fields")
            assert (fields["inputs"], fields["outputs"]) == ({"q": "1"}, {"output": "four"})
            assert (fields["promptVersionRef"], fields["extra"]) == ("p@1", {"model": "m-1"})


async def test_an_agent_run_with_an_error_and_no_output_failed_and_one_with_neither_is_refused(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            broke: Json = {"id": "r2", "type": "agent-run", "fields": {"agentId": "a", "inputs": {}, "error": "boom"}}
            assert "read error as errorMessage" in str((await host.call("save_records", records=[broke]))["summary"])
            fields = part(part(await host.call("get_record", id="r2", detail="full"), "record"), "fields")
            assert (fields["status"], fields["errorMessage"]) == ("failed", "boom")
            nothings: list[Json] = [{}, {"outputs": {}}, {"outputs": None}, {"status": "success"}]
            for nothing in nothings:
                bare: Json = {"type": "agent-run", "fields": {"agentId": "a", **nothing}}
                assert "an agent-run that succeeded has outputs" in await host.refused("save_records", records=[bare])


@pytest.mark.parametrize("slug", IMPORTABLE)
async def test_each_misspelt_field_of_each_type_is_refused_or_named(tmp_path: Path, slug: str) -> None:
    """Two letters swapped, in a batch of one record each: no such key is kept without a word."""
    names = [str(info.alias) for info in TYPES[slug].model_fields.values() if str(info.alias) != "extra"]
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            for name in names:
                wrong = name[:-3] + name[-2] + name[-3] + name[-1] if name[-2] != name[-3] else name + "x"
                wire: Json = {"id": "x", "type": slug, "fields": {wrong: "value"}}
                refused = await host.refused("save_records", records=[wire])
                assert f"fields.{wrong}" in refused, refused
                assert f"did you mean {name!r}" in refused, refused


@pytest.mark.parametrize("slug", SYNONYMS)
async def test_a_synonym_beside_its_field_is_refused(tmp_path: Path, slug: str) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            for other, name in SYNONYMS[slug].items():
                assert name in {str(info.alias) for info in TYPES[slug].model_fields.values()}, name
                assert other not in {str(info.alias) for info in TYPES[slug].model_fields.values()}, other
                wire: Json = {"id": "x", "type": slug, "fields": {name: "a", other: "b"}}
                refused = await Host(client).refused("save_records", records=[wire])
                assert f"means {name}, which {name} gives too" in refused


async def test_a_message_with_an_agent_run_reads_the_same_keys(tmp_path: Path) -> None:
    fields: dict[str, JsonValue] = {"agentId": "a", "output": "x", "tokns": 3, "outptus": {}}
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            wrong: Json = {"agentRun": {"type": AgentRun.slug, "fields": fields}}
            refused = await host.refused("send_message", type="agent-run-completed", payload=wrong)
            assert "did you mean" in refused
            right: Json = {"agentRun": RUN, "testCaseId": None}
            sent = await host.call("send_message", type="agent-run-completed", payload=right)
            assert "read input as inputs" in str(sent["summary"])


@pytest.mark.parametrize("key", ["testCaseId", "test_case_id", "caseId", "testCase"])
def test_an_output_that_names_its_case_and_no_inputs_is_refused(key: str) -> None:
    """It would match no case, and an agent-run is never changed."""
    fields: dict[str, JsonValue] = {"agentId": "a", "output": "x", key: "c"}
    with pytest.raises(InvalidRecordError, match=r"Put the inputs of that case into fields\.inputs"):
        record_from_wire({"type": "agent-run", "fields": fields}, new_id="n", now=NOW)
    kept = record_from_wire({"type": "agent-run", "fields": {**fields, "input": "q"}}, new_id="n", now=NOW)
    assert isinstance(kept.fields, AgentRun)
    assert kept.fields.extra == {key: "c"}


def test_equal_readings_are_noted_once() -> None:
    wires: list[JsonValue] = [
        {"id": f"r{number}", "type": "agent-run", "fields": {"agentId": "a", "inputs": {}, "output": "x"}} for number in range(9)
    ]  # fmt: skip
    arrivals = [
        Arrival(record_from_wire(wire, new_id="n", now=NOW), partial(str, "here"), notes=notes_of(wire))
        for wire in wires
    ]
    assert [*reading_notes(arrivals)] == ["agent-run r0 and 8 more: read output as outputs"]
