"""`audit_benchmark` over the protocol: what cheats and mutants show of a benchmark's checks, case by case."""

from __future__ import annotations

from pathlib import Path

from tests.shared.server.hosts import ERAS, Host, hosted, part, rows
from tests.workshop import Json, config_in

FORM = {"testCaseId", "cheatsPassed", "mutantsSurvived", "findings", "suggestion"}


async def _echoed(host: Host) -> None:
    """A benchmark of two cases, the first of which its own input passes."""
    question: Json = {"question": "Which metal is liquid, iron or mercury?"}
    weak: Json = {"name": "metal", "inputs": question, "expectedOutputs": {"output": "mercury"}}
    sound: Json = {
        "name": "legs", "inputs": {"question": "How many legs has an ant?"},
        "assertions": [{"type": "equals", "value": "six"}],
    }  # fmt: skip
    await host.call(
        "save_records",
        records=[
            {"id": "metal", "type": "test-case", "fields": weak},
            {"id": "legs", "type": "test-case", "fields": sound},
            {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["metal", "legs"]}},
        ],
    )


def _weak(name: str) -> Json:
    """A case that its own input passes."""
    fields: Json = {
        "name": name, "inputs": {"question": f"Which is it, left or {name}?"}, "expectedOutputs": {"output": name}
    }  # fmt: skip
    return {"id": name, "type": "test-case", "fields": fields}


async def test_an_audit_names_the_cheats_of_each_case_and_what_closes_them(host: Host) -> None:
    await _echoed(host)
    found = await host.call("audit_benchmark", benchmarkId="b", detail="full")
    assert found["cheatPassRate"] == 0.5
    assert found["mutationScore"] == 1
    (metal,) = rows(found, "cases")
    assert set(metal) >= FORM
    assert metal["testCaseId"] == "metal"
    cheats = metal["cheatsPassed"]
    assert isinstance(cheats, list)
    assert cheats[0] == "echo"
    assert (metal["mutantsSurvived"], metal["findings"]) == ([], [])
    closing = part(metal, "suggestion")
    await host.call(
        "save_records", merge=True,
        records=[{"id": "metal", "type": "test-case", "fields": {"assertions": closing["assertions"]}}],
    )  # fmt: skip
    closed = await host.call("audit_benchmark", benchmarkId="b")
    assert (closed["cheatPassRate"], closed.get("cases", [])) == (0, [])


async def test_an_audit_with_references_has_a_mutation_score_and_is_kept_as_a_record(host: Host) -> None:
    reference = "The refund of 42 euros arrives within 5 days."
    case: Json = {"name": "refund", "inputs": {"q": "When?"}, "expectedOutputs": {"output": reference}}
    records: list[Json] = [
        {"id": "c", "type": "test-case", "fields": case},
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c"]}},
    ]
    await host.call("save_records", records=records)
    found = await host.call("audit_benchmark", benchmarkId="b")
    score = found["mutationScore"]
    assert isinstance(score, int | float)
    assert 0 <= score <= 1
    kept = await host.call("get_record", id=found["auditId"])
    assert str(found["auditId"]) in str(kept)


async def test_an_unknown_benchmark_is_refused_by_its_name(host: Host) -> None:
    assert "no benchmark with the id 'nowhere'" in await host.refused("audit_benchmark", benchmarkId="nowhere")


async def test_cases_with_holes_come_a_page_at_a_time(tmp_path: Path) -> None:
    async with hosted(config_in(tmp_path), era=ERAS[0]) as host:
        names = [f"c{number}" for number in range(40)]
        cases = [_weak(name) for name in names]
        benchmark: Json = {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": [*names]}}
        await host.call("save_records", records=[*cases, benchmark])
        seen: list[str] = []
        found = await host.call("audit_benchmark", benchmarkId="b", detail="full")
        while True:
            seen += [str(one["testCaseId"]) for one in rows(found, "cases")]
            if "nextCursor" not in found:
                break
            found = await host.call("audit_benchmark", benchmarkId="b", detail="full", cursor=found["nextCursor"])
        assert sorted(seen) == sorted(names)


async def test_a_suggestion_says_which_outputs_that_passed_it_would_fail(host: Host) -> None:
    asked: Json = {"question": "Capital of France?"}
    output: Json = {"agentId": "me", "inputs": asked, "outputs": {"output": "It is Paris."}}
    expected: list[Json] = [{"name": c, "inputs": {"question": f"Capital {n}?"}, "expectedOutputs": {"output": c}}
                            for n, c in enumerate(("Rome", "Berlin"))]  # fmt: skip
    await host.call("save_records", records=[
        {"id": "fr", "type": "test-case", "fields": {"name": "fr", "inputs": asked, "expectedOutputs": {"output": "Paris"}}},
        *({"id": f"c{n}", "type": "test-case", "fields": fields} for n, fields in enumerate(expected)),
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["fr", "c0", "c1"]}},
        {"type": "agent-run", "fields": output},
    ])  # fmt: skip
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    audited = await host.call("audit_benchmark", benchmarkId="b", detail="full")
    said = {str(case["testCaseId"]): str(part(case, "suggestion")["inWords"]) for case in rows(audited, "cases")}
    assert said["fr"].endswith("But an output that passed here would fail it, such as “It is Paris.”.")
    assert "passed here" not in said["c0"]
