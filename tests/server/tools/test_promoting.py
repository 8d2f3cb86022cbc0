"""`promote_failure` as a tool."""

from __future__ import annotations

from tests.shared.server.hosts import Host, part, rows, suite


async def test_a_failure_becomes_a_case_that_the_output_fails(host: Host) -> None:
    await host.call("save_records", records=suite(2, bad=1))
    run = await host.call("run_benchmark", benchmarkId="b", judge="heuristic", waitSeconds=50)
    made = await host.call("promote_failure", id=f"{run['runId']}:c0", corrected="That is good.", into="b")
    assert (made["status"], made["wrongOutput"]) == ("active", "bad")
    fields = part(part(await host.call("get_record", id=made["testCaseId"], detail="full"), "record"), "fields")
    assert fields["inputs"] == {"q": "c0"}
    judged = await host.call("run_test_case", testCaseId=made["testCaseId"], agentRunId="a-c0", waitSeconds=50)
    assert len(rows(judged, "failures")) == 1
    assert "passed" in await host.refused("promote_failure", id=f"{run['runId']}:c1", corrected="x")
