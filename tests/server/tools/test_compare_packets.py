"""A comparison that the caller judges hands its packets out itself; how many come at once is the caller's to say."""

from __future__ import annotations

from tests.server import story
from tests.shared.server.hosts import Host, judged, part, read_by_people, rows
from tests.workshop import Json


def score_of(packet: Json) -> float:
    """What the story's caller gives the output of that packet."""
    return next(score for word, score in story.SCORES.items() if word in str(packet))


async def test_a_comparison_hands_out_packets_and_takes_them_back_under_its_own_id(host: Host) -> None:
    await host.call("save_records", records=story.records(), relations=story.relations())
    answer = await host.call(
        "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@3", judge="caller", waitSeconds=50
    )
    assert (answer["state"], answer["kind"]) == ("awaiting-judgments", "comparison")
    assert answer["instructions"]
    comparison = answer["runId"]
    sides: list[object] = []
    while answer.get("packets"):
        sides.append(answer["packetsOf"] if answer["kind"] == "comparison" else answer["runId"])
        packets = [judged(packet, score_of(packet)) for packet in rows(answer, "packets")]
        answer = await host.call("submit_judgments", runId=comparison, judgedBy="ide", packets=packets)
    assert len(set(sides)) == 2, "both sides were judged under the comparison's id"
    assert answer["state"] == "completed"
    assert part(answer, "comparison")["verdict"]


async def test_so_many_packets_come_at_once_as_are_asked_for(host: Host) -> None:
    await host.call("save_records", records=read_by_people(8, output="O"))
    answer = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50, limit=2)
    assert len(rows(answer, "packets")) == 2
    packets = [judged(packet, 5) for packet in rows(answer, "packets")]
    rest = await host.call("submit_judgments", runId=answer["runId"], packets=packets, limit=3)
    assert len(rows(rest, "packets")) == 3
