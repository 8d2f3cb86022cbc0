"""Traces of a shop's agents, sent over OTLP to the real agent and judged by a rubric."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from subprocess import Popen

import httpx2
from pydantic import JsonValue

from tests.shared.agent.desk import Desk, Json, record
from tests.shared.agent.traces import document, span, spoken
from tests.shared.agent.waiting import until

RUBRIC = "place"


def place_rubric() -> list[Json]:
    """A rubric that a rule judges by: the answer says where."""
    criterion: dict[str, JsonValue] = {
        "rubricId": RUBRIC, "name": "Says where", "judgeType": "heuristic",
        "scoringGuide": json.dumps([{"type": "contains", "value": "Here"}]),
    }  # fmt: skip
    return [
        record(RUBRIC, "rubric", name="Says where the parcel is", criteriaIds=["place/c"], passingThreshold=1),
        record("place/c", "rubric-criterion", **criterion),
    ]


def shop_trace(
    number: int, *, passes: bool, agent: str = "desk", model: str = "small-1", tags: tuple[str, ...] = (), version: str = ""
) -> Json:  # fmt: skip
    """A trace of one agent's answer."""
    attributes: Json = {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": agent, "gen_ai.response.model": model,
        "gen_ai.input.messages": spoken("user", f"Where is parcel {number}?"),
        "gen_ai.output.messages": spoken("assistant", "Here it is." if passes else "I cannot say."),
        **({"tag.tags": [*tags]} if tags else {}), **({"minions.prompt_version_ref": version} if version else {}),
    }  # fmt: skip
    return document(span(f"{number:016x}", f"invoke_agent {agent}", attributes, trace=f"{number * 7919:032x}"))


@contextmanager
def receiving(desk: Desk, *options: str) -> Generator[tuple[Popen[bytes], str]]:
    """The agent with its OTLP endpoint: its process and the endpoint's address."""
    with desk.running("--otlp", "127.0.0.1:0", *options) as process:
        assert process.stderr is not None
        url = ""
        while not url:
            told = json.loads(process.stderr.readline())
            url = told["url"] if told["event"] == "otlp-listening" else ""
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, url


def judged(desk: Desk, *traces: Json) -> None:
    """Those traces have come by OTLP and are judged."""
    desk.imported(*place_rubric())
    with receiving(desk, "--otlp-rubric", RUBRIC) as (_, url):
        for trace in traces:
            assert httpx2.post(url, json=trace).status_code == 200
        until(lambda: desk.rows("SELECT count(*) FROM test_run") == [(len(traces),)])
